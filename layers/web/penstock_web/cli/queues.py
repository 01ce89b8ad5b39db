"""`penstock queues | queue | create | send | receive | peek | tail | purge | delete | redrive`, over the REST API.

Each takes --endpoint, and prints JSON with --json: a document, or one a line where there are several.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock_web.system_account import LocalError

from .client import Client, Document, queue_path
from .values import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock_web.native.documents import StoredMessage

app = typer.Typer()
_LOOK_SECONDS: Final = 1.0
_STATES: Final = ("visible", "in_flight", "delayed")
_A_PAGE: Final = 100  # messages of a request that sends
_ONE_LOOK: Final = 1_000  # messages of a request that looks

Endpoint = Annotated[
    str | None, typer.Option(metavar="URL", help="address of the service (default: the one that runs here)")
]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="name of the queue")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask")]


@app.command("queues", help="list the queues, with how many messages each has")
def queues(endpoint: Endpoint = None, json: Json = False) -> None:
    """All queues of the account, by name."""
    client = Client(endpoint)
    rows = (client.call("GET", queue_path(name)) for name in client.queue_names())
    _print(rows, json, ("name", "visible", "in_flight", "delayed", "oldest_msg_age_sec"))


@app.command("queue", help="show a queue: its counts, attributes and tags")
def queue(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    """One queue."""
    shown = Client(endpoint).call("GET", queue_path(name))
    if json:
        _print_json(shown)
        return
    for member in ("attributes", "tags"):
        if isinstance(found := shown.pop(member), dict):
            shown |= {f"{member}.{key}": value for key, value in sorted(found.items())}
    width = max(map(len, shown))
    for key, value in shown.items():
        print(f"{key:{width}}  {'' if value is None else value}")


@app.command("create", help="make a queue")
def create(
    name: Name,
    attribute: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="such as VisibilityTimeout=60")
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(metavar="QUEUE", help="queue of this account that gets what is received too often"),
    ] = None,
    max_receives: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole_number(1, 1_000), help="with --dead-letters: receives before it moves"
        ),
    ] = 10,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """A name that ends in .fifo makes a FIFO queue."""
    attributes: dict[str, object] = dict(_pair(text) for text in attribute or ())
    client = Client(endpoint)
    if dead_letters is not None:
        target = client.call("GET", queue_path(dead_letters))["arn"]
        attributes["RedrivePolicy"] = {"deadLetterTargetArn": target, "maxReceiveCount": max_receives}
    made = client.call("POST", "/queues", {"name": name, "attributes": attributes})
    _say(made, json, f"created {made['name']}")


@app.command(
    "send", help="send a message: a text, a JSON document, or - for a message a line of standard input"
)
def send(
    name: Name,
    message: Annotated[str, typer.Argument(metavar="MESSAGE")],
    delay: Annotated[
        int | None,
        typer.Option(metavar="SECONDS", parser=whole_number(0, 31_536_000), help="hide it so long"),
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="ID", help="group of a FIFO queue's message")] = None,
    dedup: Annotated[str | None, typer.Option(metavar="ID", help="its deduplication id")] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """A message that is JSON arrives as it was written; anything else arrives as a text."""
    options = {"delay": delay, "group_id": group, "dedup_id": dedup}
    given = {key: value for key, value in options.items() if value is not None}
    client, sent = Client(endpoint), 0
    texts = (line.rstrip("\n") for line in sys.stdin) if message == "-" else iter([message])
    for together in _chunks(texts):
        answer = client.call(
            "POST",
            queue_path(name, "/messages"),
            [{"message": _document(text), **given} for text in together],
        )
        sent += len(together)
        if json:
            _print_json(answer)
    if not json:
        print(f"sent {sent} message{'' if sent == 1 else 's'} to {name}")


@app.command("receive", help="receive messages; each is hidden from others for its visibility timeout")
def receive(
    name: Name,
    max_: Annotated[
        int, typer.Option("--max", metavar="N", parser=whole_number(1, 1_000), help="at most so many")
    ] = 1,
    wait: Annotated[
        int, typer.Option(metavar="SECONDS", parser=whole_number(0, 20), help="wait so long for the first")
    ] = 0,
    hide: Annotated[
        int | None,
        typer.Option(
            metavar="SECONDS", parser=whole_number(0, 43_200), help="instead of the queue's timeout"
        ),
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="delete them once they are printed")] = False,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Prints the messages, and deletes them if told."""
    client, path = Client(endpoint), queue_path(name, "/messages")
    found = client.messages(path, max=max_, wait=wait, vt=hide)
    _print_messages(found, json)
    if delete and found:
        sys.stdout.flush()
        client.call("DELETE", path, {"receipts": [message.receipt for message in found]})


@app.command("peek", help="look at messages without receiving them, the oldest first")
def peek(
    name: Name,
    state: Annotated[
        str, typer.Option(metavar="STATE", help="visible, in_flight, delayed or all (default visible)")
    ] = "visible",
    limit: Annotated[int, typer.Option(metavar="N", parser=whole_number(1, 1_000), help="default 10")] = 10,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Changes nothing: neither the count of receives nor who may receive them."""
    client, path = Client(endpoint), queue_path(name, "/messages/peek")
    states = _STATES if state == "all" else (state,)
    found = [message for one in states for message in client.messages(path, state=one, limit=limit)]
    found.sort(key=lambda message: (message.entered_at or "", message.id))
    _print_messages(found[:limit], json)


@app.command("tail", help="show messages as they come, without receiving them, until Ctrl-C")
def tail(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    """Looks at all that can be received once a second; what is received within a second may be missed.

    Ids of messages that come at the same time may be in another order: it keeps all that it has seen, not the last.
    """
    import time

    client, path = Client(endpoint), queue_path(name, "/messages/peek")
    seen = {message.id for message in _waiting(client, path)}
    try:
        while True:
            waiting = {message.id: message for message in _waiting(client, path)}
            _print_messages([message for id_, message in waiting.items() if id_ not in seen], json)
            sys.stdout.flush()
            seen = set(waiting)
            time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        return


@app.command("purge", help="delete all messages of a queue")
def purge(name: Name, yes: Yes = False, endpoint: Endpoint = None, json: Json = False) -> None:
    """Asks first."""
    client = Client(endpoint)
    _confirm(yes, f"Delete all messages of {name}?")
    answer = client.call("POST", queue_path(name, "/purge"))
    _say(answer, json, f"deleted {answer['deleted']} messages of {name}")


@app.command("delete", help="delete a queue and its messages")
def delete(name: Name, yes: Yes = False, endpoint: Endpoint = None, json: Json = False) -> None:
    """Asks first."""
    client = Client(endpoint)
    _confirm(yes, f"Delete the queue {name} and its messages?")
    client.call("DELETE", queue_path(name))
    _say({"deleted": name}, json, f"deleted {name}")


@app.command("redrive", help="move the messages of a dead-letter queue back to where they came from")
def redrive(
    name: Name,
    to: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="another queue that gets them instead")
    ] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Starts a move task, as SQS's StartMessageMoveTask does, with the credentials of the environment."""
    import os

    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    client = Client(endpoint)

    def arn(queue_name: str) -> str:
        return str(client.call("GET", queue_path(queue_name))["arn"])

    source = arn(name)
    target = {} if to is None else {"DestinationArn": arn(to)}
    known = "AWS_ACCESS_KEY_ID" in os.environ or "AWS_PROFILE" in os.environ
    keys = {} if known else {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    sqs = boto3.client("sqs", endpoint_url=client.endpoint, region_name=source.split(":")[3], **keys)
    try:
        task = sqs.start_message_move_task(SourceArn=source, **target)
    except (BotoCoreError, ClientError) as error:
        raise LocalError(str(error)) from None
    _say({"task": task["TaskHandle"]}, json, f"the messages of {name} move to {to or 'where they came from'}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--attribute")
    return name, value


def _document(text: str) -> object:
    """The JSON as it is written, so that 1.10 stays 1.10; a text that is no JSON is a string."""
    import msgspec

    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return msgspec.Raw(text.encode())


def _chunks(texts: Iterator[str]) -> Iterator[Sequence[str]]:
    from itertools import islice

    while together := list(islice(texts, _A_PAGE)):
        yield together


def _waiting(client: Client, path: str) -> Iterator[StoredMessage]:
    """Visible messages, of all pages."""
    after = None
    while page := client.messages(path, state="visible", limit=_ONE_LOOK, after=after):
        yield from page
        after = page[-1].id


def _confirm(yes: bool, question: str) -> None:
    """Raises LocalError when the answer is no, or nobody can answer."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise LocalError("nothing was deleted: without a terminal, say --yes")
    if not typer.confirm(question):
        raise LocalError("nothing was deleted")


def _say(document: object, json: bool, text: str) -> None:
    if json:
        _print_json(document)
    else:
        print(text)


def _print_json(document: object) -> None:
    import msgspec

    print(msgspec.json.encode(document).decode())


def _print_messages(messages: Iterable[StoredMessage], json: bool) -> None:
    """One a line: when it was sent, how often it was received, and the message."""
    import msgspec

    for message in messages:
        if json:
            _print_json(message)
            continue
        body = msgspec.json.decode(message.message)
        text = body if isinstance(body, str) else bytes(message.message).decode()
        print(f"{message.enqueued_at}  {message.read_count:>3}  {_printable(text)}")


def _printable(text: str) -> str:
    """Without characters that would change a terminal, such as escape sequences in the message of a stranger."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _print(rows: Iterable[Document], json: bool, columns: Sequence[str]) -> None:
    """A line a row: JSON with everything, or the columns."""
    if json:
        for row in rows:
            _print_json(row)
        return
    cells = [[*columns], *([_cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    align: list[Callable[[str, int], str]] = [str.ljust, *[str.rjust] * (len(columns) - 1)]
    for texts in cells:
        print(
            "  ".join(
                put(cell, width) for put, cell, width in zip(align, texts, widths, strict=True)
            ).rstrip()
        )


def _cell(value: object) -> str:
    return "" if value is None else str(value)
