"""Implements `penstock schedules`: manages schedules over the REST API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from penstock_web.cli.client import RestClient
from penstock_web.cli.options import Endpoint, Json
from penstock_web.cli.printing import count_noun, print_fields, print_json, print_table, say
from penstock_web.cli.values import json_or_text, whole_number
from penstock_web.local_error import LocalError

if TYPE_CHECKING:
    from penstock_web.cli.client import Document

app = typer.Typer(name="schedules", help="manage schedules, which send messages at set times")

Name = Annotated[str, typer.Argument(metavar="NAME", help="name of the schedule")]
Cron = Annotated[str | None, typer.Option(metavar="FIELDS", help="such as '0 9 * * 1-5'")]
Every = Annotated[str | None, typer.Option(metavar="TIME", help="such as 5m or 1h")]
When = Annotated[str | None, typer.Option(metavar="WORDS", help="such as 'every weekday at 9am'")]
At = Annotated[str | None, typer.Option("--at", metavar="TIME", help="fire once, such as at 2030-01-31T09:00:00Z")]
Timezone = Annotated[str, typer.Option(metavar="NAME", help="such as Europe/Berlin")]


@app.command("list", help="list the schedules")
def list_(
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", help="show only active or only paused schedules")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option(metavar="TEXT", help="show only names that begin with this text")
    ] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Lists schedules by name, then the names of the schedules that the caller lacks permission to read."""
    response = RestClient(endpoint).call("GET", "/schedules", status=status, name_prefix=prefix)
    found, unreadable = response["schedules"], response.get("unreadable", [])
    assert isinstance(found, list) and isinstance(unreadable, list)  # noqa: S101, PT018 - for mypy
    rows = found if json else [_without_time_if_paused(schedule) for schedule in found]
    mark: Document = {"unreadable": True} if json else {"status": "unreadable"}
    rows += [{"name": name, **mark} for name in unreadable]
    print_table(rows, json, ("name", "status", "expression", "timezone", "next_fire_at", "last_error"))


@app.command("show", help="show a schedule in words, with the next times")
def show(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    """Shows one schedule."""
    found = RestClient(endpoint).call("GET", _path(name))
    if json:
        print_json(found)
    else:
        print_fields(_without_time_if_paused(found))


@app.command("put", help="create a schedule, or replace the schedule with this name")
def put(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    name: Name,
    message: Annotated[str, typer.Option(metavar="TEXT", help="a text or a JSON document")],
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="the queue that receives the message")] = None,
    event: Annotated[
        str | None, typer.Option(metavar="KEY", help="the routing key of an event, instead of a queue")
    ] = None,
    cron: Cron = None,
    every: Every = None,
    when: When = None,
    at: At = None,
    timezone: Timezone = "UTC",
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Creates or replaces a schedule. Requires exactly one of --queue and --event, and exactly one of --cron, --every,
    --when and --at.
    """
    if (queue is None) == (event is None):
        raise LocalError("pass either --queue or --event")
    destination = {"queue": queue} if event is None else {"topic": event}
    body = {
        **_expression(cron, every, when, at),
        "timezone": timezone,
        "target": {**destination, "message": json_or_text(message)},
    }
    made = RestClient(endpoint).call("PUT", _path(name), body)
    warning = f"; {made['warning']}" if made.get("warning") else ""
    meaning = f"{made['human_readable']}, {_next_run(made)}" if made else "replaced"
    say(made, json, f"{name}: {meaning}{warning}")


@app.command("pause", help="pause a schedule")
def pause(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    say(RestClient(endpoint).call("PATCH", _path(name), {"status": "paused"}), json, f"paused {name}")


@app.command("resume", help="resume a paused schedule")
def resume(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    resumed = RestClient(endpoint).call("PATCH", _path(name), {"status": "active"})
    say(resumed, json, f"resumed {name}" + (f", {_next_run(resumed)}" if resumed else ""))


@app.command("run", help="fire a schedule now, even a paused schedule; the next time stays unchanged")
def run(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    fired = RestClient(endpoint).call("POST", f"{_path(name)}/runs")
    ids = fired["msg_ids"]
    sent = len(ids) if isinstance(ids, list) else 0
    say(fired, json, f"{name} sent {count_noun(sent, 'message')}")


@app.command("delete", help="delete a schedule")
def delete(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    """Deletes a schedule. Unlike the REST API, raises LocalError if the schedule does not exist."""
    client = RestClient(endpoint)
    client.call("GET", _path(name))
    client.call("DELETE", _path(name))
    say({"deleted": name}, json, f"deleted {name}")


@app.command("preview", help="show the next times of an expression")
def preview(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    cron: Cron = None,
    every: Every = None,
    when: When = None,
    at: At = None,
    timezone: Timezone = "UTC",
    count: Annotated[int, typer.Option(metavar="N", parser=whole_number(1, 20), help="number of times to show")] = 5,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Prints a description of the expression, and one line for each time. Does not create a schedule."""
    body = {**_expression(cron, every, when, at), "timezone": timezone, "count": count}
    found = RestClient(endpoint).call("POST", "/previews", body)
    times = found["next_fires"]
    lines = [found["human_readable"], *(times if isinstance(times, list) else ())]
    say(found, json, "\n".join(map(str, lines)))


def _without_time_if_paused(schedule: Document) -> Document:
    """Removes a paused schedule's next time."""
    return schedule | {"next_fire_at": None} if schedule["status"] == "paused" else schedule


def _path(name: str) -> str:
    return f"/schedules/{quote(name, safe='')}"


def _expression(cron: str | None, every: str | None, when: str | None, at: str | None) -> dict[str, str]:
    """Returns the option with the expression. Raises LocalError unless the user passes exactly one expression."""
    given = {"cron": cron, "every": every, "when": when, "fire_at": at}
    expression = {name: text for name, text in given.items() if text is not None}
    if len(expression) != 1:
        raise LocalError("pass exactly one of --cron, --every, --when and --at")
    return expression


def _next_run(schedule: Document) -> str:
    """Describes when the schedule fires next. A one-time schedule whose time has passed never fires."""
    return f"next at {schedule['next_fire_at']}" if schedule["next_fire_at"] else "no next run"
