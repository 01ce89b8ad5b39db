"""Implements `penstock buses`, `subscribers`, `replay` and `webhook-secret` over the REST API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from penstock_web.cli.client import Document, RestClient
from penstock_web.cli.options import Endpoint, Json, Yes, confirm
from penstock_web.cli.printing import count_noun, print_described, print_json, print_table, say
from penstock_web.cli.values import accept_only, json_object, json_or_text, whole_number

app = typer.Typer()
buses = typer.Typer(name="buses", help="manage event buses, and show, export and publish events")
subscribers = typer.Typer(name="subscribers", help="manage the subscribers of event buses")
app.add_typer(buses)
app.add_typer(subscribers)

Bus = Annotated[str, typer.Argument(metavar="BUS", help="name of the event bus")]
Subscriber = Annotated[str, typer.Argument(metavar="SUBSCRIBER", help="name of the subscriber")]
Text = str | None
Days = Annotated[
    int | None,
    typer.Option(
        "--retention-days", metavar="N", parser=whole_number(1, 365), help="days for which the bus keeps events"
    ),
]
Description = Annotated[Text, typer.Option(metavar="TEXT", help="description of the bus")]
Filters = Annotated[
    Text, typer.Option(metavar="JSON", help='a pattern for each scope, such as \'{"DATA": {"detail": {"n": [1]}}}\'')
]
Configuration = Annotated[
    Text, typer.Option(metavar="JSON", help="other members of CreateSubscriber, such as '{\"RetryPolicy\": {…}}'")
]
Tags = Annotated[Text, typer.Option(metavar="JSON", help='all tags, such as \'{"team": "orders"}\'')]
COLUMNS = ("name", "retention_days", "events", "bytes", "published_per_second", "delivered_per_second", "subscribers")
SUBSCRIBER_COLUMNS = ("name", "state", "type", "lag_events", "lag_seconds", "retries", "delivered", "failed", "target")
EVENT_COLUMNS = ("published_at", "id", "group_id", "source", "detail_type", "data")


@buses.command("list", help="list the event buses with their stored events and rates")
def list_buses(endpoint: Endpoint = None, json: Json = False) -> None:
    """Lists buses by name."""
    print_table(RestClient(endpoint).read_pages("/buses", "buses"), json, COLUMNS)


@buses.command("show", help="show an event bus")
def show_bus(bus: Bus, endpoint: Endpoint = None, json: Json = False) -> None:
    """Shows one bus."""
    print_described(RestClient(endpoint).call("GET", _path(bus)), json)


@buses.command("create", help="create an event bus")
def create_bus(
    bus: Bus,
    retention_days: Days = None,
    description: Description = None,
    tags: Tags = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Creates a bus, which keeps events for a day unless --retention-days is set."""
    body = {"name": bus, **_given(retention_days=retention_days, description=description, tags=tags)}
    say(RestClient(endpoint).call("POST", "/buses", body), json, f"created {bus}")


@buses.command("change", help="change the retention, the description or the tags of an event bus")
def change_bus(
    bus: Bus,
    retention_days: Days = None,
    description: Description = None,
    tags: Tags = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Changes the given options. A shorter retention removes older events. --tags replaces all tags."""
    body = _given(retention_days=retention_days, description=description, tags=tags)
    say(RestClient(endpoint).call("PATCH", _path(bus), body), json, f"changed {bus}")


@buses.command("delete", help="delete an event bus and its events")
def delete_bus(bus: Bus, yes: Yes = False, endpoint: Endpoint = None, json: Json = False) -> None:
    """Deletes a bus without subscribers, after a confirmation."""
    client = RestClient(endpoint)
    client.call("GET", _path(bus))  # The request fails if the bus does not exist.
    confirm(yes, f"Delete the event bus {bus} and its events?")
    client.call("DELETE", _path(bus))
    say({"deleted": bus}, json, f"deleted {bus}")


@buses.command("events", help="show stored events of a bus, without an effect on its subscribers")
def events(  # noqa: PLR0913, PLR0917 - each is an option
    bus: Bus,
    from_: Annotated[Text, typer.Option("--from", metavar="TIME", help="only events of this time or later")] = None,
    to: Annotated[Text, typer.Option("--to", metavar="TIME", help="only events of this time or earlier")] = None,
    group: Annotated[Text, typer.Option(metavar="ID", help="only events of this group")] = None,
    source: Annotated[Text, typer.Option(metavar="TEXT", help="only events with this source")] = None,
    detail_type: Annotated[Text, typer.Option(metavar="TEXT", help="only events with this detail type")] = None,
    pattern: Annotated[
        Text, typer.Option(metavar="JSON", help='only events that match, such as \'{"detail": {"n": [1]}}\'')
    ] = None,
    order: Annotated[
        str, typer.Option(metavar="ORDER", parser=accept_only("oldest", "newest"), help="oldest or newest first")
    ] = "newest",
    limit: Annotated[
        int, typer.Option("--max", metavar="N", parser=whole_number(1, 1_000), help="most events to show")
    ] = 10,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Prints events until --max of them match, or the bus has no more events in the range."""
    found: list[Document] = []
    wanted = {
        "from": from_, "to": to, "group": group, "source": source, "detail_type": detail_type, "pattern": pattern,
        "order": order, "limit": min(limit, 100),
    }  # fmt: skip
    for event in RestClient(endpoint).read_pages(_path(bus, "/events"), "events", **wanted):
        found.append(event)
        if len(found) == limit:
            break
    print_table(found, json, EVENT_COLUMNS)


@buses.command("export", help="write the stored events of a bus to a Parquet file")
def export(
    bus: Bus,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="the file, which is replaced")],
    from_: Annotated[Text, typer.Option("--from", metavar="TIME", help="only events of this time or later")] = None,
    to: Annotated[Text, typer.Option("--to", metavar="TIME", help="only events of this time or earlier")] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Writes events in the order of their delivery."""
    from penstock_web.cli.event_export import export_events

    number = export_events(RestClient(endpoint), _path(bus, "/events"), {"from": from_, "to": to}, output)
    say({"events": number, "file": str(output)}, json, f"{count_noun(number, 'event')} in {output}")


@buses.command("publish", help="publish an event on a bus: JSON data, or the detail of an event with a source")
def publish(  # noqa: PLR0913, PLR0917 - each is an option
    bus: Bus,
    data: Annotated[str, typer.Argument(metavar="JSON", help="the event; with --source its detail, an object")],
    source: Annotated[Text, typer.Option(metavar="TEXT", help="source, for EventBridge's envelope")] = None,
    detail_type: Annotated[Text, typer.Option(metavar="TEXT", help="detail type, with --source")] = None,
    group: Annotated[Text, typer.Option(metavar="ID", help="group of the event")] = None,
    dedup: Annotated[Text, typer.Option(metavar="ID", help="deduplication id of the event")] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Publishes one event."""
    given = {"source": source, "detail_type": detail_type, "group_id": group, "deduplication_id": dedup}
    body: Document = {name: value for name, value in given.items() if value is not None}
    body["data" if source is None else "detail"] = json_or_text(data)
    response = RestClient(endpoint).call_list(_path(bus, "/events"), "events", "POST", body=body)
    (published,) = response
    say(published, json, f"published {published['id']} on {bus}")


@subscribers.command("list", help="list the subscribers of a bus with their lag")
def list_subscribers(bus: Bus, endpoint: Endpoint = None, json: Json = False) -> None:
    """Lists subscribers, also those of other accounts."""
    print_table(RestClient(endpoint).read_pages(_path(bus, "/subscribers"), "subscribers"), json, SUBSCRIBER_COLUMNS)


@subscribers.command("show", help="show a subscriber: position, lag, outcomes, the last failure")
def show_subscriber(bus: Bus, subscriber: Subscriber, endpoint: Endpoint = None, json: Json = False) -> None:
    """Shows one subscriber of the account."""
    print_described(RestClient(endpoint).call("GET", _path_of(bus, subscriber)), json)


@subscribers.command(
    "create", help="send the events of a bus to a queue, topic, function, API destination or other bus"
)
def create_subscriber(  # noqa: PLR0913, PLR0917 - each is an option
    bus: Bus,
    subscriber: Subscriber,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="ARN, or name of a queue of the account")],
    fifo: Annotated[bool, typer.Option("--fifo", help="deliver the events of a group in order")] = False,
    from_: Annotated[
        Text, typer.Option("--from", metavar="TIME", help="first deliver stored events since this time, or oldest")
    ] = None,
    to: Annotated[Text, typer.Option("--to", metavar="TIME", help="deliver no event after this time")] = None,
    stopped: Annotated[bool, typer.Option("--stopped", help="create the subscriber stopped")] = False,
    filters: Filters = None,
    configuration: Configuration = None,
    tags: Tags = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Creates a subscriber. Without --from, it receives the events that follow."""
    given = {"from": from_, "to": to, "filters": filters, "configuration": configuration, "tags": tags}
    body: Document = {"name": subscriber, "target": target, "stopped": stopped, **_given(**given)}
    body["type"] = "FIFO" if fifo else "UNORDERED"
    say(RestClient(endpoint).call("POST", _path(bus, "/subscribers"), body), json, f"created {subscriber}")


@subscribers.command("change", help="change the filters, the configuration or the tags of a subscriber")
def change_subscriber(
    bus: Bus,
    subscriber: Subscriber,
    filters: Filters = None,
    configuration: Configuration = None,
    tags: Tags = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Changes the given options. --filters replaces all filters, --tags all tags, and '{}' removes them."""
    body = _given(filters=filters, configuration=configuration, tags=tags)
    say(RestClient(endpoint).call("PATCH", _path_of(bus, subscriber), body), json, f"changed {subscriber}")


@subscribers.command("delete", help="delete a subscriber; the events stay on the bus")
def delete_subscriber(
    bus: Bus, subscriber: Subscriber, yes: Yes = False, endpoint: Endpoint = None, json: Json = False
) -> None:
    """Deletes a subscriber, after a confirmation."""
    client = RestClient(endpoint)
    client.call("GET", _path_of(bus, subscriber))  # The request fails if the subscriber does not exist.
    confirm(yes, f"Delete the subscriber {subscriber} of the event bus {bus}?")
    client.call("DELETE", _path_of(bus, subscriber))
    say({"deleted": subscriber}, json, f"deleted {subscriber}")


@subscribers.command("pause", help="stop a subscriber; its events wait on the bus")
def pause(bus: Bus, subscriber: Subscriber, endpoint: Endpoint = None, json: Json = False) -> None:
    """Stops a subscriber."""
    response = RestClient(endpoint).call("POST", _path_of(bus, subscriber, "/pause"))
    say(response, json, f"paused {subscriber}")


@subscribers.command("resume", help="let a stopped subscriber run again")
def resume(
    bus: Bus,
    subscriber: Subscriber,
    skip: Annotated[bool, typer.Option("--skip", help="skip the events that the subscriber has missed")] = False,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Lets a subscriber run again, from the events that it has missed."""
    body = {"position": "latest" if skip else "last_processed"}
    response = RestClient(endpoint).call("POST", _path_of(bus, subscriber, "/resume"), body)
    say(response, json, f"resumed {subscriber}")


@app.command("replay", help="deliver the events of a bus to a subscriber again, from a time on")
def replay(
    bus: Bus,
    subscriber: Subscriber,
    from_: Annotated[str, typer.Option("--from", metavar="TIME", help="RFC 3339 time that the bus retains, or oldest")],
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Moves the position of a subscriber. A later time than its position skips events."""
    response = RestClient(endpoint).call("POST", _path_of(bus, subscriber, "/replay"), {"from": from_})
    if json:
        print_json(response)
    else:
        lag = f", {response['lag_events']} events to deliver" if response else ""
        say(response, False, f"{subscriber} continues at {response.get('moved_to', from_)}{lag}")


@app.command("webhook-secret", help="show the URL and the credential of a webhook event source")
def webhook_secret(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="name of the event source")],
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Shows the credential to which the sender of requests must be set."""
    print_described(RestClient(endpoint).call("GET", f"/event-sources/{quote(source, safe='')}/secret"), json)


def _path(bus: str, rest: str = "") -> str:
    return f"/buses/{quote(bus, safe='')}{rest}"


def _path_of(bus: str, subscriber: str, rest: str = "") -> str:
    return _path(bus, f"/subscribers/{quote(subscriber, safe='')}{rest}")


def _given(**options: object) -> Document:
    """Returns the options that the user has set. The options `filters`, `configuration` and `tags` are JSON objects."""
    objects = {"filters", "configuration", "tags"}
    return {
        name: json_object(str(value), f"--{name}") if name in objects else value
        for name, value in options.items()
        if value is not None
    }
