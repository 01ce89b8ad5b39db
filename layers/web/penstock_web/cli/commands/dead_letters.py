"""Implements `penstock search | failures | redrive | edit | moves` over the REST API."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock_web.cli.client import RefusedError, RestClient, build_queue_path
from penstock_web.cli.filters import (
    AttributeValue,
    BodyText,
    FilterCommand,
    FilterText,
    JsonOrValue,
    Output,
    encode_filter,
    find_messages,
    hint_at_json,
    prints_json,
    read_filter,
)
from penstock_web.cli.options import Endpoint, Json, MessageIds, Name, Yes, confirm
from penstock_web.cli.printing import (
    Progress,
    count_noun,
    print_json,
    print_lines,
    print_messages,
    print_table,
    say,
    shorten,
)
from penstock_web.cli.values import accept_only, json_or_text, whole_number
from penstock_web.local_error import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock_web.cli.client import Document

app = typer.Typer()
moves = typer.Typer(name="moves", help="list, continue and cancel moves of messages")
app.add_typer(moves)

_FIRST_LOOK_SECONDS: Final = 0.1
_LOOK_SECONDS: Final = 1.0
_NAMED_SOURCES: Final = 3

Move = Annotated[str, typer.Argument(metavar="ID", help="id from `moves list`")]
Rate = Annotated[
    int | None,
    typer.Option(metavar="N", parser=whole_number(1, 500), help="maximum number of messages moved per second"),
]

CopyRate = Annotated[
    int | None,
    typer.Option(
        metavar="N", parser=whole_number(1, 500), help="maximum number of copies that become visible per second"
    ),
]
Preview = Annotated[bool, typer.Option("--preview", help="change nothing; show three messages before and after")]


@app.command("search", help="find messages that match a filter, without receiving them", cls=FilterCommand)
def search(  # noqa: PLR0913, PLR0917 - each is an option
    name: Name,
    words: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="the same as --text TEXT")] = None,
    text: BodyText = None,
    attribute: AttributeValue = None,
    filter_: FilterText = None,
    limit: Annotated[
        int, typer.Option(metavar="N", parser=whole_number(1, 1_000), help="maximum number of messages to show")
    ] = 10,
    endpoint: Endpoint = None,
    json: JsonOrValue = None,
    output: Output = None,
) -> None:
    """Prints matching messages. Stops after `limit` matches, or after all messages."""
    texts = [*(text or ()), *([] if words is None else [words])]
    conditions = read_filter(filter_, texts, json, attribute)
    found = 0
    for messages in find_messages(RestClient(endpoint), name, conditions, limit):
        print_messages(messages, prints_json(json, output))
        found += len(messages)
    hint = None if found else hint_at_json(conditions)
    if hint is not None:
        print_lines([f"penstock: {hint}"], file=sys.stderr)


@app.command("failures", help="group dead letters by failure", cls=FilterCommand)
def failures(  # noqa: PLR0913, PLR0917 - each is an option
    name: Name,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            parser=accept_only("cause", "source", "shape", "receive_count", "attribute"),
            help="cause, source, shape (all three by default), receive_count or attribute; repeatable",
        ),
    ] = None,
    text: BodyText = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=VALUE]", help="group by this attribute; with =VALUE, select messages instead"),
    ] = None,
    filter_: FilterText = None,
    endpoint: Endpoint = None,
    json: JsonOrValue = None,
    output: Output = None,
) -> None:
    """Prints groups of dead letters, from the largest to the smallest. --json also prints each group's samples and
    filter.
    """
    grouped = [value for value in attribute or () if "=" not in value]
    if len(grouped) > 1:
        raise typer.BadParameter("groups have one attribute", param_hint="--attribute")
    conditions = read_filter(filter_, text, json, [value for value in attribute or () if "=" in value])
    shown = by or (["attribute"] if grouped else ["cause", "source", "shape"])
    response = RestClient(endpoint).call(
        "GET",
        build_queue_path(name, "/failures"),
        by=shown,
        attribute="".join(grouped) or None,
        filter=encode_filter(conditions) if conditions else None,
    )
    _print_groups(name, response, shown, prints_json(json, output))


def _print_groups(name: str, response: Document, shown: list[str], as_json: bool) -> None:
    """Prints the groups of a response. `shown` lists the properties by which the messages are grouped."""
    groups = response["groups"]
    assert isinstance(groups, list)  # noqa: S101 - as the OpenAPI document says
    rows = ({**group, **group["by"], **_sample(group)} for group in groups)
    columns = [{"source": "source_queue"}.get(column, column) for column in shown if column not in ("shape", "cause")]
    if not groups and not as_json:
        print(_explain_no_groups(name, response))
        return
    print_table(
        groups if as_json else rows,
        as_json,
        ("count", "title", *columns, "oldest_at", "newest_at", "sample_id", "sample"),
    )
    if not as_json:
        of = count_noun(response["of"], "message") if response["of"] else "an unknown number of messages"
        print(f"examined {response['looked_at']} of {of}")


@app.command("redrive", help="move messages from a dead-letter queue to their source queues", cls=FilterCommand)
def redrive(  # noqa: PLR0913, PLR0917 - each is an option
    name: Name,
    to: Annotated[str | None, typer.Option(metavar="QUEUE", help="move the messages to this queue")] = None,
    ids: MessageIds = None,
    text: BodyText = None,
    attribute: AttributeValue = None,
    filter_: FilterText = None,
    rate: Rate = None,
    canary: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number(1, 1_000_000),
            help="move this many messages, then wait for `moves continue`",
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="show the progress until the move ends or pauses")] = False,
    yes: Yes = False,
    endpoint: Endpoint = None,
    json: JsonOrValue = None,
    output: Output = None,
) -> None:
    """Moves the selected messages, or all visible messages if no option selects messages, after a confirmation."""
    conditions = read_filter(filter_, text, json, attribute)
    if ids and conditions:
        raise LocalError("pass either --id or options that select messages by their content")
    as_json = prints_json(json, output)
    given = {"ids": ids or None, "filter": None if ids else conditions, "to": to, "per_second": rate,
             "canary": canary}  # fmt: skip
    client = RestClient(endpoint)
    first = "" if canary is None else f", {count_noun(canary, 'message')} first as a canary"
    selected = partial(_describe_selected, client, name, ids or [], conditions, to)
    confirm(yes, lambda: f"Move {selected()}{first}?", "nothing was moved")
    move = client.call("POST", build_queue_path(name, "/moves"), {k: v for k, v in given.items() if v is not None})
    if wait:
        move = _watch_move(client, name, move, as_json)
    done = f"move {move['id']}: {_progress(move)}, to {to or 'the source queues'}"
    say(move, as_json, done + ("" if canary is None else _explain_canary(name, move)))


@app.command("edit", help="set a value in the JSON bodies of messages and send them again", cls=FilterCommand)
def edit(  # noqa: PLR0913, PLR0917 - each is an option
    name: Name,
    set_: Annotated[
        str,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="the new value, such as order.zip=12345; other text than JSON becomes a string",
        ),
    ],
    to: Annotated[str | None, typer.Option(metavar="QUEUE", help="send the messages to this queue")] = None,
    ids: MessageIds = None,
    text: BodyText = None,
    attribute: AttributeValue = None,
    filter_: FilterText = None,
    rate: CopyRate = None,
    preview: Preview = False,
    endpoint: Endpoint = None,
    json: JsonOrValue = None,
    output: Output = None,
) -> None:
    """Sends edited copies of the selected messages and deletes the originals. Messages without the path stay.

    The rate of a request limits its own copies, so a further request waits until all of them are visible.
    """
    conditions = read_filter(filter_, text, json, attribute)
    if bool(ids) == bool(conditions or filter_):
        raise LocalError("select messages by --id, or by their content; --filter '{}' selects all messages")
    body = {**_read_change(set_), "preview": preview}
    body |= {"ids": ids} if ids else {"filter": conditions}
    body |= {member: value for member, value in (("to", to), ("per_second", rate)) if value is not None}
    as_json = prints_json(json, output)
    for done in _replace_messages(RestClient(endpoint), name, body):
        say(done, as_json, describe_edit(done, preview))


def _read_change(text: str) -> Document:
    """Returns the members `path` and `value` of a request for `--set`. Raises BadParameter."""
    path, equals, value = text.partition("=")
    if not path or not equals:
        raise typer.BadParameter(f"{text!r} is not PATH=VALUE", param_hint="--set")
    return {"path": path, "value": json_or_text(value)}


def _replace_messages(client: RestClient, name: str, body: Document) -> Iterator[Document]:
    """Sends requests until Penstock has edited all selected messages. Yields each response. Sends one request for a
    preview. If the copies have a rate, waits between two requests until all copies of the first are visible.
    """
    place: object = None
    while True:
        more = {} if place is None else {"after": place}
        done = client.call("POST", build_queue_path(name, "/messages/replace"), {**body, **more})
        yield done
        place = done["next"]
        if place is None or body["preview"]:
            return
        replaced, rate = done["replaced"], body.get("per_second")
        if isinstance(replaced, int) and isinstance(rate, int):
            time.sleep(replaced / rate)


def describe_edit(done: Document, is_preview: bool) -> str:
    """Returns the outcome of an edit in words, with the samples of a preview."""
    stayed = done["stayed"]
    samples = done["samples"]
    assert isinstance(stayed, dict)  # noqa: S101 - as the OpenAPI document says
    assert isinstance(samples, list)  # noqa: S101 - as the OpenAPI document says
    lines = [f"{'would send' if is_preview else 'sent'} {count_noun(done['replaced'], 'edited message')}"]
    lines += [f"{sample['id']} to {sample['to']}\n- {sample['before']}\n+ {sample['after']}" for sample in samples]
    lines += [f"{count_noun(done['without_path'], 'message')} without the path stayed"] * bool(done["without_path"])
    paths = done["paths"]
    if isinstance(paths, list) and paths:
        lines.append(f"did you mean {paths[0]}? the first bodies have the paths {', '.join(map(str, paths))}")
    return "\n".join([*lines, *(f"{number} stayed: {reason}" for reason, number in stayed.items())])


@moves.command("list", help="list the last ten moves of a queue")
def list_moves(name: Name, endpoint: Endpoint = None, json: Json = False) -> None:
    """Lists moves from the newest to the oldest."""
    rows = RestClient(endpoint).call_list(build_queue_path(name, "/moves"), "moves")
    print_table(rows, json, ("id", "state", "moved", "of", "skipped", "to", "started_at", "problem"))


@moves.command("continue", help="continue a move that waits after its canary")
def continue_move(name: Name, move: Move, rate: Rate = None, endpoint: Endpoint = None, json: Json = False) -> None:
    """Continues a move after the canary, at another rate if --rate is set."""
    body = {} if rate is None else {"per_second": rate}
    response = RestClient(endpoint).call("POST", build_queue_path(name, f"/moves/{move}/continue"), body)
    say(response, json, f"move {move}: {_progress(response) if response else 'continued'}")


@moves.command("cancel", help="cancel a move; moved messages stay in the new queue")
def cancel_move(name: Name, move: Move, endpoint: Endpoint = None, json: Json = False) -> None:
    response = RestClient(endpoint).call("POST", build_queue_path(name, f"/moves/{move}/cancel"))
    say(response, json, f"move {move}: {_progress(response) if response else 'cancelled'}")


def _describe_selected(
    client: RestClient, name: str, ids: list[int], conditions: dict[str, object], to: str | None
) -> str:
    """Returns in words how many messages a move takes, from where and to where. Names up to three source queues. The
    number and the source queues are not known to a user who may not read the messages.
    """
    number, sources = _count_visible(client, name, ids, conditions)
    return f"{number} of {name} to {to or ', '.join(sources) or 'the source queues'}"


def _count_visible(
    client: RestClient, name: str, ids: list[int], conditions: dict[str, object]
) -> tuple[str, list[str]]:
    if ids:
        return count_noun(len(ids), "message"), []
    wanted = encode_filter({**conditions, "states": ["visible"]})
    try:
        found = client.call("GET", build_queue_path(name, "/failures"), by="source", groups=100, filter=wanted)
    except RefusedError as error:
        if error.code != "unauthorized":
            raise
        return "the messages", []
    groups = found["groups"]
    assert isinstance(groups, list)  # noqa: S101 - as the OpenAPI document says
    is_exact = found["next"] is None and found["group_count"] == len(groups)
    number = sum(group["count"] for group in groups)
    sources = [group["by"]["source_queue"] for group in groups]
    is_known = is_exact and len(sources) <= _NAMED_SOURCES and all(sources)
    return count_noun(number, "message") if is_exact else f"{number} or more messages", sources if is_known else []


def _watch_move(client: RestClient, name: str, move: Document, json: bool) -> Document:
    """Prints the move's progress whenever it changes. Returns when the move ends or pauses after the canary.

    Raises LocalError if the move fails, or if the service does not show the move.
    """
    pause, shown = _FIRST_LOOK_SECONDS, move
    with Progress() as progress:
        while move["state"] == "running":
            if not json:
                progress.show(_progress(move))
            time.sleep(pause)
            pause = min(2 * pause, _LOOK_SECONDS)
            try:
                move = client.call("GET", build_queue_path(name, f"/moves/{move['id']}"))
            except RefusedError as error:
                raise LocalError(f"move {move['id']} has started, but its progress is not known: {error}") from None
            if json and move != shown:
                print_json(move)
            shown = move
    if move["state"] == "failed":
        raise LocalError(f"the move failed: {move['problem']}")
    if move["state"] == "completed" and move["skipped"] and not move["moved"]:
        raise LocalError(f"the move moved no message: {_progress(move)}")
    return move


def _progress(move: Document) -> str:
    skipped = f", {move['skipped']} skipped (in flight, delayed, or without a source queue)" if move["skipped"] else ""
    of = "" if move["of"] is None else f" of {move['of']}"
    return f"{move['state']}, {move['moved']}{of} moved{skipped}"


def _explain_canary(name: str, move: Document) -> str:
    """Returns a line that says how to go on after the canary, or an empty text if the move has ended."""
    if move["state"] not in ("running", "waiting"):
        return ""
    task = f"{name} {move['id']}"
    return f"\nafter the canary: `penstock moves continue {task}` or `penstock moves cancel {task}`"


def _explain_no_groups(name: str, response: Document) -> str:
    if not response["looked_at"] and not response["of"]:
        return f"{name} has no messages"
    of = f" of {count_noun(response['of'], 'message')}" if response["of"] else " messages"
    return f"none of the examined messages of {name} matches: examined {response['looked_at']}{of}"


def _sample(group: Document) -> Document:
    """Returns the id and the beginning of a group's newest message."""
    import msgspec

    samples = group["samples"]
    if not isinstance(samples, list) or not samples:
        return {}
    text = shorten(msgspec.json.encode(samples[0]["message"]).decode(), 60)
    return {"sample_id": samples[0]["id"], "sample": text}
