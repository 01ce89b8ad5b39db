"""Manages queues and messages over the REST API: `penstock queues`, `create`, `send`, `receive`, `peek` and others.
Each command has the options --endpoint and --json. --json prints one document per line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import quote

import typer

from penstock.aws.fifo_name import is_fifo_name
from penstock.limits.queue_limits import MAX_DELAY_SECONDS, MAX_VISIBILITY_SECONDS, MAX_WAIT_SECONDS
from penstock_web.cli.client import RefusedError, RestClient, build_queue_path
from penstock_web.cli.filters import (
    AttributeValue,
    BodyText,
    FilterCommand,
    FilterText,
    JsonOrValue,
    Output,
    find_messages,
    prints_json,
    read_filter,
)
from penstock_web.cli.options import Endpoint, Json, MessageIds, Name, Yes, complete_queue, confirm
from penstock_web.cli.printing import (
    count_noun,
    print_described,
    print_json,
    print_life,
    print_messages,
    print_table,
    say,
    shorten,
)
from penstock_web.cli.values import accept_only, json_or_text, whole_number
from penstock_web.local_error import LocalError

if TYPE_CHECKING:
    from penstock.management.messages.types import StoredMessage
    from penstock.management.queues import Attributes
    from penstock_web.cli.client import Document

app = typer.Typer()
_LOOK_SECONDS: Final = 1.0
_USUAL_RECEIVES: Final = 10
_STATES: Final = ("visible", "in_flight", "delayed")
_A_PAGE: Final = 100  # messages in a request
_AGENT_SIGNS: Final = 40
_ONE_LOOK: Final = 1_000  # messages in a request
_ID_FORM: Final = (
    "An id is a UUID, such as 0f8fad5b-d9cb-469f-a165-70867728950e, or with --queue NAME the number of the message in "
    "its queue"
)


@app.command("queues", help="list the queues with their numbers of messages")
def queues(endpoint: Endpoint = None, json: Json = False) -> None:
    """Lists all queues of the account by name."""
    client = RestClient(endpoint)
    rows = (client.call("GET", build_queue_path(name)) for name in client.list_queue_names())
    if not json:
        rows = (row | {"paused": "paused" if _is_paused(row) else ""} for row in rows)
    print_table(rows, json, ("name", "visible", "in_flight", "delayed", "oldest_msg_age_sec", "paused"))


@app.command("queue", help="show a queue's counts, verdict, attributes and tags")
def queue(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    """Shows one queue with its verdict, as far as the caller may read the verdict."""
    client = RestClient(endpoint)
    found = client.call("GET", build_queue_path(name))
    try:
        verdict = client.call("GET", build_queue_path(name, "/lag"))["verdict"]
    except RefusedError:
        verdict = None
    if not json:
        verdict = _describe_verdict(verdict)
    print_described(found | ({"verdict": verdict} if verdict is not None else {}), json)


@app.command("create", help="create a queue")
def create(
    name: Name,
    attribute: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="such as VisibilityTimeout=60")
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(metavar="QUEUE", help="queue of this account that receives messages after too many receives"),
    ] = None,
    max_receives: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number(1, 1_000),
            help="with --dead-letters: number of receives before a message moves (default 10)",
        ),
    ] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Creates a queue. The queue is FIFO if the name ends in .fifo."""
    if max_receives is not None and dead_letters is None:
        raise LocalError("--max-receives needs --dead-letters QUEUE")
    attributes: Attributes = dict(_pair(text) for text in attribute or ())
    client = RestClient(endpoint)
    if dead_letters is not None:
        target = client.call("GET", build_queue_path(dead_letters))["arn"]
        attributes["RedrivePolicy"] = {
            "deadLetterTargetArn": target,
            "maxReceiveCount": max_receives or _USUAL_RECEIVES,
        }
    try:
        made = client.call("POST", "/queues", {"name": name, "attributes": attributes})
    except RefusedError as error:
        if error.code != "queue_exists":
            raise
        say(_read_same_queue(client, name, attributes), json, f"the queue {name} exists")
        return
    say(made, json, f"created {name}")


@app.command("send", help="send a text or a JSON document; - sends each line of standard input as a message")
def send(
    name: Name,
    message: Annotated[str, typer.Argument(metavar="MESSAGE")],
    delay: Annotated[
        int | None,
        typer.Option(metavar="SECONDS", parser=whole_number(0, 31_536_000), help="hide the message for this time"),
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="ID", help="group of a message in a FIFO queue")] = None,
    dedup: Annotated[str | None, typer.Option(metavar="ID", help="deduplication id of the message")] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Sends messages. A JSON document keeps the text of its numbers and the order of its members, but loses its spaces.
    The command sends any other text as a JSON string.
    """
    options = {"delay": delay, "group_id": group, "dedup_id": dedup}
    given = {key: value for key, value in options.items() if value is not None}
    client, sent, schedules = RestClient(endpoint), 0, list[str]()
    texts = (line.rstrip("\n") for line in sys.stdin) if message == "-" else iter([message])
    for together in _chunks(texts):
        response = client.call(
            "POST", build_queue_path(name, "/messages"), [{"message": json_or_text(text), **given} for text in together]
        )
        sent += len(together)
        if isinstance(made := response.get("schedules"), list):
            schedules += filter(None, made)
        if json:
            print_json(response)
    if not sent:
        raise LocalError("nothing was sent: standard input is empty")
    if not json and schedules:
        rest = f" and {len(schedules) - 1} more" if len(schedules) > 1 else ""
        print(
            f"scheduled {count_noun(sent, 'message')} for {name}: a delay above {MAX_DELAY_SECONDS} seconds creates a "
            f"schedule, {schedules[0]}{rest} (penstock schedules list)"
        )
    elif not json:
        print(f"sent {count_noun(sent, 'message')} to {name}")


@app.command("receive", help="receive messages; a received message is hidden for the visibility timeout")
def receive(
    name: Name,
    max_: Annotated[
        int,
        typer.Option("--max", metavar="N", parser=whole_number(1, 1_000), help="maximum number of messages to receive"),
    ] = 1,
    wait: Annotated[
        int,
        typer.Option(
            metavar="SECONDS", parser=whole_number(0, MAX_WAIT_SECONDS), help="longest wait for the first message"
        ),
    ] = 0,
    hide: Annotated[
        int | None,
        typer.Option(
            metavar="SECONDS",
            parser=whole_number(0, MAX_VISIBILITY_SECONDS),
            help="visibility timeout (default: the queue's)",
        ),
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="delete the messages after printing them")] = False,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Receives and prints messages. Deletes the printed messages if --delete is set."""
    client, path = RestClient(endpoint), build_queue_path(name, "/messages")
    found = client.read_messages(path, max=max_, wait=wait, vt=hide)
    print_messages(found, json)
    if delete and found:
        sys.stdout.flush()
        client.call("DELETE", path, {"receipts": [message.receipt for message in found]})


@app.command("peek", help="show messages from the oldest to the newest, without receiving them", cls=FilterCommand)
def peek(  # noqa: PLR0913, PLR0917 - each is an option
    name: Name,
    state: Annotated[
        str,
        typer.Option(
            metavar="STATE",
            parser=accept_only(*_STATES, "all"),
            help="visible, in_flight, delayed or all (default visible)",
        ),
    ] = "visible",
    limit: Annotated[
        int,
        typer.Option(
            "--max", "--limit", metavar="N", parser=whole_number(1, 1_000), help="maximum number of messages to show"
        ),
    ] = 10,
    text: BodyText = None,
    attribute: AttributeValue = None,
    filter_: FilterText = None,
    endpoint: Endpoint = None,
    json: JsonOrValue = None,
    output: Output = None,
) -> None:
    """Prints messages, or the first matches of a search. Receive counts and visibility stay unchanged."""
    client, path = RestClient(endpoint), build_queue_path(name, "/messages/peek")
    states = _STATES if state == "all" else (state,)
    found: list[StoredMessage] = []
    if conditions := read_filter(filter_, text, json, attribute):
        conditions = {"states": states, **conditions}
        found += [message for page in find_messages(client, name, conditions, limit) for message in page]
    else:
        found += [message for state in states for message in client.read_messages(path, state=state, limit=limit)]
    found.sort(key=lambda message: (message.entered_at or "", message.id))
    print_messages(found[:limit], prints_json(json, output))
    if state == "delayed":
        print(
            f"penstock: `penstock schedules list` lists messages with a delay above {MAX_DELAY_SECONDS} seconds",
            file=sys.stderr,
        )


@app.command("message", help="show the life of one message: sends, receives, failures, moves and its end")
def message(
    message_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="message id (a UUID); with --queue also the message's number in the queue"),
    ],
    queue_name: Annotated[
        str | None,
        typer.Option(
            "--queue",
            metavar="NAME",
            help="search only this queue (default: all queues)",
            autocompletion=complete_queue,
        ),
    ] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Prints the known facts of a message, its events in the order of time, and the unknown facts."""
    from penstock.management.messages.life import parse_message_id

    if queue_name is None and message_id.isdigit():
        raise LocalError("a message's number is unique only in its queue: add --queue NAME")
    if not message_id.isdigit() and parse_message_id(message_id) is None:
        raise LocalError(f"{message_id!r} is not a message id. {_ID_FORM}")
    path = f"/messages/{quote(message_id, safe='')}"
    print_life(
        RestClient(endpoint).call("GET", path if queue_name is None else build_queue_path(queue_name, path)), json
    )


@app.command("tail", help="show new messages without receiving them, until Ctrl-C")
def tail(
    name: Name,
    count: Annotated[
        int | None, typer.Option(metavar="N", parser=whole_number(1, 1_000_000), help="end after this many messages")
    ] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Prints new messages. Reads all visible messages once a second, and therefore misses messages that a consumer
    receives within that second. Compares complete sets of ids instead of the highest id, because concurrent senders can
    commit ids in any order.
    """
    import time

    client, path = RestClient(endpoint), build_queue_path(name, "/messages/peek")
    seen = {message.id for message in _read_waiting_messages(client, path)}
    left = count
    try:
        while True:
            waiting = {message.id: message for message in _read_waiting_messages(client, path)}
            new = [message for id_, message in waiting.items() if id_ not in seen][:left]
            print_messages(new, json)
            sys.stdout.flush()
            if left is not None and not (left := left - len(new)):
                return
            seen = set(waiting)
            time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        return


@app.command("purge", help="delete all messages in a queue")
def purge(name: Name, yes: Yes = False, endpoint: Endpoint = None, json: Json = False) -> None:
    """Deletes all messages of a queue, after a confirmation."""
    client = RestClient(endpoint)
    confirm(yes, f"Delete all messages of {name}?")
    response = client.call("POST", build_queue_path(name, "/purge"))
    say(response, json, f"deleted {count_noun(response['deleted'], 'message')} of {name}")


@app.command("delete", help="delete a queue and its messages; --id and --receipt delete only messages")
def delete(
    name: Name,
    ids: MessageIds = None,
    receipts: Annotated[
        list[str] | None,
        typer.Option("--receipt", metavar="TEXT", help="only the message with this receipt; repeatable"),
    ] = None,
    yes: Yes = False,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Deletes messages, or asks for confirmation and deletes a queue."""
    if ids and receipts:
        raise LocalError("pass either --id or --receipt")
    client = RestClient(endpoint)
    if ids or receipts:
        wanted: dict[str, object] = {"ids": ids} if ids else {"receipts": receipts}
        _delete_messages(client, name, wanted, json)
        return
    confirm(yes, f"Delete the queue {name} and its messages?")
    client.call("DELETE", build_queue_path(name))
    say({"deleted": name}, json, f"deleted {name}")


@app.command("pause", help="pause a queue: receives return no messages, and the queue still accepts messages")
def pause(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    """Pauses a queue. Consumers can still delete messages in flight."""
    RestClient(endpoint).call("POST", build_queue_path(name, "/pause"))
    say({"paused": name}, json, f"{name} is paused")


@app.command("resume", help="resume a queue, so that receives return messages again")
def resume(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    """Resumes a queue. Also succeeds if the queue is not paused."""
    RestClient(endpoint).call("POST", build_queue_path(name, "/resume"))
    say({"resumed": name}, json, f"{name} is resumed")


@app.command("receivers", help="show the programs that received from a queue in the last day")
def receivers(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    """Prints a queue's receivers, from the latest to the earliest receive."""
    rows = RestClient(endpoint).call_list(build_queue_path(name, "/receivers"))
    if not json:
        rows = [row | {"user_agent": shorten(str(row["user_agent"]), _AGENT_SIGNS)} for row in rows]
    print_table(rows, json, ("caller", "user_agent", "address", "last_received_at", "messages"))


def _describe_verdict(verdict: object) -> str | None:
    """Returns the state of a queue with its cause, or None if the queue has no verdict yet."""
    from penstock.verdicts.words import name_state

    if not isinstance(verdict, dict):
        return None
    cause = verdict.get("cause_text")
    return name_state(verdict["kind"], verdict.get("cause")) + (f": {cause}" if cause else "")


def _is_paused(queue: Document) -> bool:
    attributes = queue["attributes"]
    return isinstance(attributes, dict) and attributes.get("paused") in (True, "true")


def _delete_messages(client: RestClient, name: str, wanted: dict[str, object], json: bool) -> None:
    """Deletes messages. Raises LocalError if the queue does not contain any of the messages."""
    response = client.call("DELETE", build_queue_path(name, "/messages"), wanted)
    deleted = response["deleted"]
    number = len(deleted) if isinstance(deleted, list) else 0
    if not number:
        raise LocalError(f"{name} has none of these messages; nothing was deleted")
    say(response, json, f"deleted {count_noun(number, 'message')} of {name}")


def _read_same_queue(client: RestClient, name: str, wanted: Attributes) -> Document:
    """Returns the existing queue. Like SQS's CreateQueue, raises LocalError if the queue has other attributes."""
    from penstock.management.queues import convert_attributes
    from penstock.sqs.attributes import check_queue_attributes

    there = client.call("GET", build_queue_path(name))
    present = there["attributes"]
    assert isinstance(present, dict)  # noqa: S101 - QueueDescription
    texts, fifo = convert_attributes(wanted), is_fifo_name(name)
    if fifo:
        texts["FifoQueue"] = "true"
    checked = check_queue_attributes(texts, fifo, creating=True, extensions=True)
    other = [
        f"{key} is {present[key]}, not {value}" if key in present else f"{key} is not set"
        for key, value in checked.items()
        if value not in ("", present.get(key))
    ]
    if other:
        raise LocalError(f"QueueNameExists: the queue {name} exists with other attributes: {'; '.join(other)}")
    return there


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--attribute")
    return name, value


def _chunks(texts: Iterator[str]) -> Iterator[Sequence[str]]:
    from itertools import islice

    while together := list(islice(texts, _A_PAGE)):
        yield together


def _read_waiting_messages(client: RestClient, path: str) -> Iterator[StoredMessage]:
    """Yields the visible messages of all pages."""
    after = None
    while page := client.read_messages(path, state="visible", limit=_ONE_LOOK, after=after):
        yield from page
        after = page[-1].id
