"""Implements `penstock topics`, `publish` and `subscriptions` over the REST API."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from penstock_web.cli.client import RefusedError, RestClient, build_queue_path
from penstock_web.cli.options import Endpoint, Json, Yes, confirm
from penstock_web.cli.printing import print_described, print_table, say
from penstock_web.cli.values import json_object, json_or_text
from penstock_web.local_error import LocalError

app = typer.Typer()
topics = typer.Typer(name="topics", help="manage topics")
subscriptions = typer.Typer(name="subscriptions", help="manage subscriptions to topics")
app.add_typer(topics)
app.add_typer(subscriptions)

Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="name of the topic")]


@topics.command("list", help="list the topics")
def list_topics(endpoint: Endpoint = None, json: Json = False) -> None:
    """Lists topics by name."""
    print_table(RestClient(endpoint).read_pages("/topics", "topics"), json, ("name", "arn"))


@topics.command("show", help="show a topic's attributes and tags")
def show_topic(topic: Topic, endpoint: Endpoint = None, json: Json = False) -> None:
    """Shows one topic."""
    print_described(RestClient(endpoint).call("GET", _path(topic)), json)


@topics.command("create", help="create a topic; a topic whose name ends in .fifo is FIFO")
def create_topic(topic: Topic, endpoint: Endpoint = None, json: Json = False) -> None:
    """Creates a topic. Also succeeds if the topic exists."""
    client = RestClient(endpoint)
    is_new = _is_missing(client, topic)
    made = client.call("POST", "/topics", {"name": topic})
    say(made, json, f"created {topic}" if is_new else f"the topic {topic} exists")


@topics.command("delete", help="delete a topic and its subscriptions")
def delete_topic(topic: Topic, yes: Yes = False, endpoint: Endpoint = None, json: Json = False) -> None:
    """Deletes a topic and its subscriptions, after a confirmation."""
    client = RestClient(endpoint)
    client.call("GET", _path(topic))  # The request fails if the topic does not exist.
    confirm(yes, f"Delete the topic {topic} and its subscriptions?")
    client.call("DELETE", _path(topic))
    say({"deleted": topic}, json, f"deleted {topic}")


@app.command("publish", help="publish a message to a topic: a text or a JSON document")
def publish(  # noqa: PLR0913, PLR0917 - each is an option
    topic: Topic,
    message: Annotated[str, typer.Argument(metavar="MESSAGE")],
    subject: Annotated[str | None, typer.Option(metavar="TEXT", help="subject for e-mail")] = None,
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="a message attribute; repeatable")
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="ID", help="group of a message in a FIFO topic")] = None,
    dedup: Annotated[str | None, typer.Option(metavar="ID", help="deduplication id of the message")] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Publishes a message. A header's value keeps its type if the value is JSON, such as a number. Any other text
    becomes a string.
    """
    given = {"subject": subject, "group_id": group, "dedup_id": dedup}
    body: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    body |= {"message": json_or_text(message), "headers": dict(map(_header, header or ()))}
    response = RestClient(endpoint).call("POST", _path(topic, "/messages"), body)
    say(response, json, f"published {response['message_id']} to {topic}")


@subscriptions.command("list", help="list the subscriptions of a topic")
def list_subscriptions(topic: Topic, endpoint: Endpoint = None, json: Json = False) -> None:
    """Prints a topic's subscriptions. An unconfirmed subscription has no ARN."""
    rows = RestClient(endpoint).read_pages(_path(topic, "/subscriptions"), "subscriptions")
    if not json:
        rows = (row | {"arn": row["arn"] or "(has not confirmed)"} for row in rows)
    print_table(rows, json, ("protocol", "endpoint", "arn"))


@subscriptions.command("create", help="subscribe a queue or a URL to a topic")
def create_subscription(  # noqa: PLR0913, PLR0917 - each is an option
    topic: Topic,
    queue: Annotated[str | None, typer.Option(metavar="QUEUE", help="a queue of this account, or an ARN")] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="a URL, whose server must confirm the subscription")
    ] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help='filter policy, such as \'{"region": ["eu"]}\'')
    ] = None,
    filter_on: Annotated[
        str, typer.Option(metavar="WHAT", help="part that the filter examines: attributes (default) or body")
    ] = "attributes",
    raw: Annotated[bool, typer.Option("--raw", help="deliver the message without an envelope")] = False,
    dead_letters: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="queue for messages that the endpoint refuses")
    ] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Subscribes a queue or a URL to a topic. Requires exactly one of --queue and --url."""
    if (queue is None) == (url is None):
        raise LocalError("pass either --queue or --url")
    given = {
        "queue": queue, "url": url, "filter": None if filter_ is None else json_object(filter_, "--filter"),
        "dead_letters": dead_letters,
    }  # fmt: skip
    body: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    body |= {"filter_on": filter_on, "raw": raw}
    client = RestClient(endpoint)
    if queue is not None and not queue.startswith("arn:"):
        # Request the queue, so that the command fails if the queue does not exist. SNS's Subscribe accepts a missing
        # queue.
        client.call("GET", build_queue_path(queue))
    response = client.call("POST", _path(topic, "/subscriptions"), body)
    text = (
        f"subscribed {queue or url} to {topic}"
        if response["arn"]
        else f"{url} gets a message to confirm the subscription"
    )
    say(response, json, text)


@subscriptions.command("delete", help="end a subscription")
def delete_subscription(
    arn: Annotated[str, typer.Argument(metavar="ARN", help="ARN from `subscriptions list`")],
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Deletes a subscription. Also succeeds if the subscription does not exist."""
    topic, _, subscription = arn.rpartition(":")
    if arn.count(":") != 6:
        raise LocalError(f"{arn} is not the ARN of a subscription")
    path = _path(topic.rpartition(":")[2], f"/subscriptions/{quote(subscription, safe='')}")
    RestClient(endpoint).call("DELETE", path)
    say({"deleted": arn}, json, f"ended {arn}")


def _is_missing(client: RestClient, topic: str) -> bool:
    try:
        client.call("GET", _path(topic))
    except RefusedError as error:
        return error.code == "topic_not_found"
    return False


def _path(topic: str, rest: str = "") -> str:
    return f"/topics/{quote(topic, safe='')}{rest}"


def _header(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--header")
    return name, json_or_text(value)
