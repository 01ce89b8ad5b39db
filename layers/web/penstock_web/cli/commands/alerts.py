"""Implements `penstock alerts`: manages the account's alerts, and prints the alert rules for Prometheus."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.verdicts.words import count_in_words
from penstock_web.cli.client import RestClient
from penstock_web.cli.options import Endpoint, Json
from penstock_web.cli.printing import print_fields, print_json, print_table, say
from penstock_web.local_error import LocalError

from .webhooks import wait_for_attempt

if TYPE_CHECKING:
    from penstock_web.cli.client import Document

RESOURCES: Final = ("queue", "endpoint", "schedule", "schedules", "deliveries", "mapping", "subscriber")

app = typer.Typer()
group = typer.Typer(name="alerts", help="manage alerts, or print the rules for Prometheus")
app.add_typer(group)


@group.callback(invoke_without_command=True)
def alerts(
    context: typer.Context,
    service: Annotated[
        str, typer.Option(metavar="URL", help="address of a running service, to put before each runbook_url")
    ] = "",
) -> None:
    """Prints the alert rules for Prometheus, unless a command follows."""
    if context.invoked_subcommand is None:
        from .files import find_file

        rules = find_file("infra/container/prometheus", "alerts.yaml").read_text()
        print(rules.replace("runbook_url: /docs/", f"runbook_url: {service.rstrip('/')}/docs/"), end="")


@group.command("show", help="show the address of alerts, and current problems")
def show(endpoint: Endpoint = None, json: Json = False) -> None:
    """Prints the address without its secret parts."""
    found = RestClient(endpoint).call("GET", "/alerts")
    firing, pending, kinds = found["firing"], found["pending"], found["only_installation"]
    assert isinstance(firing, list) and isinstance(pending, list) and isinstance(kinds, list)  # noqa: S101, PT018
    if json:
        print_json(found)
        return
    nobody = "the installation's address" if found["installation"] else "nowhere"
    links = "to the console" if found["links"] else "none; links need QUEUE_BASE_URL and QUEUE_CONSOLE"
    print_fields({"alerts go to": found["url"] or nobody, "links": links, "firing": len(firing)})
    if found["url"]:
        print(f"only the installation's address receives: {', '.join(str(kind) for kind in kinds)}")
    if firing:
        print()
        columns = ("state", "name", "region", "since", "reported_at", "number", "held_until")
        print_table(map(_name_number, firing), json, columns)
    if pending:
        print("\nnot sent yet:")
        rows = [{**_name_number(one), "sent": describe_wait(one["expected_at"], datetime.now(UTC))} for one in pending]
        print_table(rows, json, ("state", "name", "region", "since", "number", "sent"))
    muted = found["muted"]
    if isinstance(muted, list) and muted:
        print("\nmuted:")
        print_table(muted, json, ("resource", "name", "muted_until"))


def _name_number(problem: Document) -> Document:
    return {**problem, "number": count_in_words(str(problem["kind"]), int(str(problem["number"])))}


def describe_wait(expected_at: str | None, now: datetime) -> str:
    """Returns in how many seconds or minutes an alert is sent. `expected_at` is an RFC 3339 time in UTC, or None."""
    from penstock_web.cli.queue_table import show_age

    if expected_at is None:
        return "never; no address"
    left = int((datetime.fromisoformat(expected_at) - now).total_seconds())
    return f"in {show_age(left)}" if left > 0 else "now"


@group.command("set", help="send the account's alerts to this URL")
def set_url(
    url: Annotated[str, typer.Argument(metavar="URL", help="the URL; a prefix such as slack+ chooses the format")],
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    client = RestClient(endpoint)
    client.call("PUT", "/alerts", {"url": url})
    shown = client.call("GET", "/alerts")["url"]
    say({"url": shown}, json, f"alerts go to {shown}; `penstock alerts test` sends a test")


@group.command("clear", help="use the address of the installation again")
def clear(endpoint: Endpoint = None, json: Json = False) -> None:
    RestClient(endpoint).call("DELETE", "/alerts")
    say({"url": None}, json, "the account has no address for alerts")


@group.command("mute", help="do not report the problems of a queue, endpoint or other resource for some hours")
def mute(
    resource: Annotated[str, typer.Argument(metavar="KIND", help=", ".join(RESOURCES))],
    name: Annotated[str, typer.Argument(metavar="NAME", help="the name that `penstock status` shows")],
    hours: Annotated[int, typer.Option("--hours", metavar="N", help="1, 8 or 24")] = 1,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    muted = RestClient(endpoint).call("POST", "/alerts/mute", {"resource": resource, "name": name, "hours": hours})
    say(muted, json, f"alerts do not report the {resource} {name} before {muted['muted_until']}")


@group.command("unmute", help="report the problems of a resource again")
def unmute(
    resource: Annotated[str, typer.Argument(metavar="KIND", help=", ".join(RESOURCES))],
    name: Annotated[str, typer.Argument(metavar="NAME", help="the name that `penstock alerts show` shows")],
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    muted = RestClient(endpoint).call("POST", "/alerts/mute", {"resource": resource, "name": name, "hours": 0})
    say(muted, json, f"alerts report the {resource} {name} again")


@group.command("test", help="send a test, and show the response")
def send_test(endpoint: Endpoint = None, json: Json = False) -> None:
    """Sends a test and waits up to 20 s. Raises LocalError if an address does not accept the test."""
    client = RestClient(endpoint)
    for sent in client.call_list("/alerts/test", method="POST"):
        where = str(sent["endpoint"])
        _report(wait_for_attempt(client, None, str(sent["message_id"]), where), where, json)


def _report(response: Document, where: str, json: bool) -> None:
    if response["outcome"] != "delivered":
        raise LocalError(f"{where}: not delivered: {response['error'] or response['status']}")
    say(response, json, f"{where} responded with {response['status']} after {response['duration_ms']} ms")
