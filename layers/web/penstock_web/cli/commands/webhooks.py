"""Implements `penstock webhooks`, which shows the URLs that get messages, and the log of attempts, over the REST
API.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from penstock_web.system_account import LocalError

from .client import RestClient
from .options import Endpoint, Json
from .printing import print_json, print_table, say
from .values import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .client import Document

_LOOK_SECONDS = 0.5
_LONGEST_LOOK_SECONDS = 20
"""An endpoint may take 15 seconds to answer."""

app = typer.Typer(name="webhooks", help="manage endpoints, and show the outcome of each attempt")

Url = Annotated[str, typer.Argument(metavar="URL", help="URL as it was subscribed")]


@app.command("list", help="list endpoints with their successful attempts, the last answer, and whether they are paused")
def list_(endpoint: Endpoint = None, json: Json = False) -> None:
    """Counts the newest 10,000 attempts. The endpoints with most failures come first."""
    rows = RestClient(endpoint).members("/deliveries/endpoints")
    columns = ("endpoint", "attempts", "delivered", "p95_ms", "last_status", "paused", "paused_until", "waiting")
    print_table(rows, json, columns)


@app.command("attempts", help="show the outcomes of attempts to deliver, the newest first")
def attempts(
    url: Annotated[str | None, typer.Option(metavar="URL", help="select only this endpoint")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="show only failed attempts")] = False,
    limit: Annotated[int, typer.Option(metavar="N", parser=whole_number(1, 10_000), help="default 20")] = 20,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Searches until this many attempts are found or all attempts are examined."""
    rows = _attempts(RestClient(endpoint), url, failed, limit)
    columns = ("at", "endpoint", "attempt", "outcome", "status", "duration_ms", "error")
    print_table(rows, json, columns)


@app.command("pause", help="pause an endpoint; its messages wait until it is resumed")
def pause(url: Url, endpoint: Endpoint = None, json: Json = False) -> None:
    """Does not stop attempts that are under way."""
    RestClient(endpoint).call("POST", "/deliveries/endpoints/pause", {"endpoint": url})
    say({"paused": url}, json, f"{url} is paused")


@app.command("resume", help="resume an endpoint; waiting messages are due now")
def resume(url: Url, endpoint: Endpoint = None, json: Json = False) -> None:
    """Also resumes an endpoint that was paused because it failed."""
    RestClient(endpoint).call("POST", "/deliveries/endpoints/resume", {"endpoint": url})
    say({"resumed": url}, json, f"{url} is resumed")


@app.command("test", help="send a test event to an endpoint, and show its answer")
def send_test(url: Url, endpoint: Endpoint = None, json: Json = False) -> None:
    """Signs, guards and logs the event like every delivery. Waits up to 20 s, and fails if the event was not
    delivered.
    """
    client = RestClient(endpoint)
    sent = client.call("POST", "/deliveries/endpoints/test", {"endpoint": url})
    answer = _wait_for_attempt(client, url, str(sent["message_id"]))
    if answer is None:
        raise LocalError(f"no attempt within {_LONGEST_LOOK_SECONDS} s: is {url} paused, or delivery off?")
    if answer["outcome"] != "delivered":
        raise LocalError(f"not delivered: {answer['status'] or answer['error']}")
    say(answer, json, f"{url} answered {answer['status']} after {answer['duration_ms']} ms")


@app.command("replay", help="deliver exhausted deliveries again")
def replay(
    url: Annotated[str | None, typer.Option(metavar="URL", help="select only this endpoint")] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="only deliveries whose last attempt was at this time (RFC 3339) or later"),
    ] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Gives each delivery all its attempts again."""
    client, given = RestClient(endpoint), {"endpoint": url, "since": since, "limit": 10_000}
    body: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    total = 0
    while True:
        answer = client.call("POST", "/deliveries/retry", body)
        total += int(str(answer["retried"]))
        if json:
            print_json(answer)
        if answer["next"] is None:
            break
        body["after"] = answer["next"]
    if not json:
        print(f"{total} {'delivery is' if total == 1 else 'deliveries are'} due again")


def _wait_for_attempt(client: RestClient, url: str, message_id: str) -> Document | None:
    """Returns the first attempt to deliver this message, or None after 20 seconds without an attempt."""
    for _ in range(round(_LONGEST_LOOK_SECONDS / _LOOK_SECONDS)):
        for attempt in _attempts(client, url, failed=False, limit=100):
            if attempt["message_id"] == message_id:
                return attempt
        time.sleep(_LOOK_SECONDS)
    return None


def _attempts(client: RestClient, url: str | None, failed: bool, limit: int) -> Iterator[Document]:
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
