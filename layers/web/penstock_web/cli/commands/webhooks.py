"""Implements `penstock webhooks`: manages endpoints and shows delivery attempts over the REST API."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from penstock_web.cli.client import RefusedError, RestClient
from penstock_web.cli.options import Endpoint, Json
from penstock_web.cli.printing import print_json, print_table, say, shorten
from penstock_web.cli.values import whole_number
from penstock_web.local_error import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock_web.cli.client import Document

_LOOK_SECONDS = 0.5
_RESPONSE_SIGNS = 60
MAX_LOOK_SECONDS = 20
"""The longest wait for a test's attempt. An endpoint can take 15 seconds to respond."""

app = typer.Typer(name="webhooks", help="manage endpoints, and show delivery attempts")

Url = Annotated[str, typer.Argument(metavar="URL", help="URL, exactly as in the subscription")]


@app.command("list", help="list endpoints with their attempts, last responses and pauses")
def list_(endpoint: Endpoint = None, json: Json = False) -> None:
    """Prints endpoints, from the most to the fewest failures. The counts cover the newest 10,000 attempts."""
    rows = RestClient(endpoint).call_list("/deliveries/endpoints")
    columns = ("endpoint", "attempts", "delivered", "p95_ms", "last_status", "paused", "paused_until", "waiting")
    print_table(rows, json, columns)


@app.command("attempts", help="show delivery attempts from the newest to the oldest")
def attempts(
    url: Annotated[str | None, typer.Option(metavar="URL", help="select only this endpoint")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="show only failed attempts")] = False,
    limit: Annotated[int, typer.Option(metavar="N", parser=whole_number(1, 10_000), help="default 20")] = 20,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Prints attempts from the newest to the oldest. Stops after `limit` matches, or after all attempts."""
    rows = _read_attempts(RestClient(endpoint), url, failed, limit)
    if not json:
        rows = (row | {"response": shorten(str(row.get("response") or ""), _RESPONSE_SIGNS)} for row in rows)
    print_table(rows, json, ("at", "endpoint", "attempt", "outcome", "status", "duration_ms", "error", "response"))


@app.command("pause", help="pause an endpoint, so that messages wait")
def pause(url: Url, endpoint: Endpoint = None, json: Json = False) -> None:
    """Pauses an endpoint. Running attempts continue."""
    RestClient(endpoint).call("POST", "/deliveries/endpoints/pause", {"endpoint": url})
    say({"paused": url}, json, f"{url} is paused")


@app.command("resume", help="resume an endpoint; the service delivers waiting messages now")
def resume(url: Url, endpoint: Endpoint = None, json: Json = False) -> None:
    """Resumes an endpoint, even if the service paused it after failures."""
    RestClient(endpoint).call("POST", "/deliveries/endpoints/resume", {"endpoint": url})
    say({"resumed": url}, json, f"{url} is resumed")


@app.command("test", help="send a test event to an endpoint, and show the response")
def send_test(url: Url, endpoint: Endpoint = None, json: Json = False) -> None:
    """Sends a test event. The service signs, checks and logs the event like every delivery. Waits up to 20 s. Raises
    LocalError if the endpoint does not accept the event.
    """
    client = RestClient(endpoint)
    sent = client.call("POST", "/deliveries/endpoints/test", {"endpoint": url})
    response = wait_for_attempt(client, url, str(sent["message_id"]), url)
    if response["outcome"] != "delivered":
        raise LocalError(f"not delivered: {response['status'] or response['error']}")
    say(response, json, f"{url} responded with {response['status']} after {response['duration_ms']} ms")


@app.command("replay", help="retry exhausted deliveries")
def replay(
    url: Annotated[str | None, typer.Option(metavar="URL", help="select only this endpoint")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="select only deliveries whose last attempt was at this time (RFC 3339) or later"
        ),
    ] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Retries exhausted deliveries. Each delivery has its full number of attempts again."""
    client, given = RestClient(endpoint), {"endpoint": url, "since": since, "limit": 10_000}
    body: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    total = 0
    while True:
        response = client.call("POST", "/deliveries/retry", body)
        total += int(str(response["retried"]))
        if json:
            print_json(response)
        if response["next"] is None:
            break
        body["after"] = response["next"]
    if not json:
        print(f"retried {total} {'delivery' if total == 1 else 'deliveries'}")


def wait_for_attempt(client: RestClient, url: str | None, message_id: str, shown_url: str) -> Document:
    """Returns the first attempt to deliver a message to a URL, or to any endpoint.

    Raises LocalError if no attempt is made within 20 seconds, or if the service does not show the attempts.
    """
    try:
        for _ in range(round(MAX_LOOK_SECONDS / _LOOK_SECONDS)):
            for attempt in _read_attempts(client, url, failed=False, limit=100):
                if attempt["message_id"] == message_id:
                    return attempt
            time.sleep(_LOOK_SECONDS)
    except RefusedError as error:
        raise LocalError(f"the service sends message {message_id}, but the result is not known: {error}") from None
    raise LocalError(f"no attempt within {MAX_LOOK_SECONDS} s. Check whether {shown_url} is paused or delivery is off")


def _read_attempts(client: RestClient, url: str | None, failed: bool, limit: int) -> Iterator[Document]:
    before: object = None
    while limit > 0:
        page = client.call(
            "GET", "/deliveries/attempts", endpoint=url, failed=str(failed).lower(), limit=min(limit, 1_000),
            before=before,
        )  # fmt: skip
        found = page["attempts"]
        if isinstance(found, list):
            yield from found
            limit -= len(found)
        if (before := page["next"]) is None:
            return
