"""Moves dead letters to their source queues or to another queue. A move takes all messages of a queue, a group of
messages, or chosen messages. A move with a canary first moves only a few messages.

The page shows a move's progress, continues a move after the canary, and cancels a move. The REST API offers the same
actions at /v1/queues/{name}/moves.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final
from uuid import UUID

import msgspec
from fastapi import Response
from msgspec import structs

from penstock.documents.queue_names import build_queue_arn
from penstock.errors import AwsError, InvalidParameterValue, QueueDoesNotExist
from penstock.management import move_tasks
from penstock.management.move_tasks import OVER, NewMoveTask, SourceNotKnown, explain_sources
from penstock.management.queues import read_queue
from penstock.management.rights import right_of, show
from penstock.management.verdicts import Observed
from penstock.postgres.statements.move_tasks import CanaryRow, MoveSourcesRow, MoveTaskRow
from penstock.search.filters import MessageFilter
from penstock_web.console.forms import FieldProblem, Form
from penstock_web.console.messages import to_datetime
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.rendering import plural, words
from penstock_web.console.resources import check_target, find_target_problems, list_queue_names
from penstock_web.console.responses import find_status, is_poll, redirect, show_page
from penstock_web.console.screen import act, screen
from penstock_web.console.selection import (
    GROUP,
    Count,
    Selection,
    count_matches,
    describe,
    nothing_selected,
    read_selection,
)

FILTER_WORDS: Final = {
    "cause": "cause", "text": "text", "json": "JSON", "attribute": "attribute", "group_id": "message group",
    "source_arn": "from", "min_receive_count": "receives at least", "max_receive_count": "receives at most",
    "older_than_seconds": "older than (s)", "newer_than_seconds": "newer than (s)",
}  # fmt: skip
LEVELS: Final = {"completed": "good", "failed": "bad", "running": "info", "waiting": "warn"}
REASONS: Final = {
    "CouldNotDetermineMessageSource": "Messages without a source queue stay. Choose the queue to which they move.",
    "AWS.SimpleQueueService.NonExistentQueue": "Messages stay whose target queue no longer exists.",
    "NotContinued": "The move waited for 24 hours, and no user continued it.",
}  # fmt: skip
"""The sentences for the texts of FailureReason, which are AWS's."""
CANARY_STATES: Final = {
    "visible": ("info", "waiting"), "deleted": ("good", "deleted"), "dead_lettered": ("bad", "dead-lettered again"),
    "moved": ("info", "moved on"),
}  # fmt: skip


@screen("/console/queues/{name}/redrive", right=right_of(move_tasks.list_move_tasks))
async def redrive_page(name: str, page: CurrentPage) -> Response:
    """Shows the form and the last moves' progress."""
    selection = read_selection(page.query, by_filter=True)
    if page.query.get("selected") == "yes" and selection.is_empty:
        return nothing_selected(name, selection)
    return await show_redrive(page, name, selection)


async def show_redrive(page: Page, name: str, selection: Selection, error: AwsError | None = None) -> Response:
    """Shows the form with what the user has typed, and the last moves' progress."""
    arn = build_queue_arn(name, page.context)
    rows = await page.read(("moves", name), lambda: move_tasks.list_move_tasks(name, page.context))
    sources = await count_sources(name, selection, page)
    canary = await read_canary(name, rows, page)
    typed = {
        "rate": "50",
        **{field: page.form.get(field) for field in ("rate", "canary", "to") if page.form.get(field)},
    }
    return show_page(
        page, "redrive.html", find_status(error), title=f"Redrive {name}", name=name, moves=rows,
        done=page.query.get("done", ""), form=Form.filled(typed),
        problems=await find_problems(error, page), sources=sources, explain_sources=explain_sources,
        name_state=name_state, name_reason=name_reason, is_stuck=sources is not None and is_stuck(sources),
        moment_of=to_datetime, describe_filter=describe_filter, progress=measure_progress, over=OVER,
        is_running=any(row.state not in OVER for row in rows), selection=selection,
        number=await count_selected(name, selection, page), canary=canary, name_canary=name_canary,
        is_undecided=any(name_canary(row) == CANARY_STATES["visible"] for row in canary),
        targets=await read_targets(list_targets(sources, page), page),
        canary_targets=await read_targets([row.arn for row in canary], page),
        queues=() if is_poll(page) else await page.run(list_queue_names(page.context)),
        facts={} if is_poll(page) else await describe(name, selection, page),
        may_start=page.may("sqs:StartMessageMoveTask", arn), may_cancel=page.may("sqs:CancelMessageMoveTask", arn),
        may_read=page.may("sqs:ReceiveMessage", arn),
    )  # fmt: skip


async def count_sources(name: str, selection: Selection, page: Page) -> MoveSourcesRow | None:
    """Returns how many selected messages can return to their source queues. Returns None for a poll, and for a user who
    may not start moves.
    """
    if is_poll(page):
        return None
    new = NewMoveTask(ids=selection.ids) if selection.ids else NewMoveTask(filter=as_visible(selection))
    return await page.run(show(move_tasks.count_move_sources(name, new, page.context)))


def list_targets(sources: MoveSourcesRow | None, page: Page) -> list[str]:
    """Returns the queue that the user has typed, or up to three queues to which the messages would return."""
    if typed := page.form.get("to").strip():
        return [build_queue_arn(typed, page.context)]
    return sources.target_arns if sources else []


async def read_targets(arns: Sequence[str], page: Page) -> dict[str, Observed]:
    """Returns the verdicts on these queues by name. Omits queues that the user may not read, and deleted queues."""
    found: dict[str, Observed] = {}
    for arn in dict.fromkeys(arns):
        name = arn.rpartition(":")[2]
        is_own = arn == build_queue_arn(name, page.context)
        if is_own and page.may("sqs:GetQueueAttributes", arn) and page.may("penstock:GetQueueMetrics", arn):
            with suppress(QueueDoesNotExist):
                found[name] = (await page.read(("queue", name), partial(read_queue, name, page.context))).seen
    return found


def is_stuck(sources: MoveSourcesRow) -> bool:
    """Returns whether the move needs a destination."""
    try:
        move_tasks.check_sources(sources)
    except SourceNotKnown:
        return True
    return False


async def find_problems(error: AwsError | None, page: Page) -> dict[str, FieldProblem]:
    """Returns an error at the field of the target, if the error is about the target."""
    if isinstance(error, SourceNotKnown):
        return {"to": FieldProblem(error.message)}
    return await find_target_problems(page, error, "to", page.form.get("to").strip())


def name_state(row: MoveTaskRow) -> tuple[str, str]:
    """Returns the level and the words for a move's state. A move that moved no message, although messages were
    selected, is no success.
    """
    if row.state == "completed" and not row.moved and (row.skipped or row.to_examine):
        return "bad", "moved none"
    if row.state == "completed" and row.failure_reason:
        return "warn", "moved a part"
    return LEVELS.get(row.state, ""), row.state


def name_reason(row: MoveTaskRow) -> str:
    """Returns in a sentence why messages stayed."""
    if row.failure_reason:
        return REASONS.get(row.failure_reason, row.failure_reason)
    is_empty = name_state(row)[1] == "moved none"
    return "The selected messages were in flight, delayed, or gone." if is_empty else ""


def describe_filter(text: str, title: str | None) -> dict[str, str]:
    """Returns the conditions of a move's filter by names that the page shows. Omits a shape, which is a hash, and an
    absent cause if the group has a title.
    """
    found = msgspec.json.decode(text, type=dict[str, object])
    facts = {FILTER_WORDS[name]: show_value(value) for name, value in found.items() if name in FILTER_WORDS}
    return facts | ({"cause": "none"} if found.get("cause") == "" and not title else {})


def show_value(value: object) -> str:
    """Formats a condition. A queue has its name instead of its ARN."""
    if isinstance(value, dict):
        path = value.get("path")
        name = ".".join(map(str, path)) if isinstance(path, list) else str(value.get("name"))
        return f"{name} = {value['equals']}" if "equals" in value else name
    text = str(value)
    return text.rpartition(":")[2] if text.startswith("arn:") else text


async def read_canary(name: str, rows: list[MoveTaskRow], page: Page) -> list[CanaryRow]:
    """Returns the messages that the waiting move has moved. They say whether the move should continue."""
    waiting = next((row for row in rows if row.state == "waiting"), None)
    if waiting is None:
        return []
    return await page.run(show(move_tasks.read_canary(name, UUID(waiting.task_id), page.context))) or []


def name_canary(row: CanaryRow) -> tuple[str, str]:
    """Returns the level and the words for a moved message's state."""
    if row.state in ("visible", "in_flight") and row.receive_count:
        return "warn", f"received {plural(row.receive_count, 'time')}"
    if row.state in CANARY_STATES:
        return CANARY_STATES[row.state]
    return ("", words(row.state)) if row.state else ("", "no longer there")


def measure_progress(row: MoveTaskRow) -> tuple[int, int]:
    """Returns the maximum and the value of a move's bar. The maximum is 0 if the move shows no bar."""
    if row.state == "completed":
        return (row.moved + row.skipped, row.moved) if row.skipped else (1, 1)
    if row.to_move is not None:
        return row.to_move, min(row.moved + row.skipped, row.to_move)
    return row.to_examine, min(max(row.looked_at, row.moved), row.to_examine)


async def count_selected(name: str, selection: Selection, page: Page) -> Count | None:
    """Returns the number of messages that a move would take. Returns None for a poll, which does not show the form, and
    for a user who may not read messages.
    """
    if selection.ids:
        return Count(len(selection.ids))
    if is_poll(page):
        return None
    return await page.run(show(count_matches(name, as_visible(selection), page.context)))


def as_visible(selection: Selection) -> MessageFilter:
    """Returns the filter of a move, which moves only messages that can be received."""
    return structs.replace(selection.wanted, states=["visible"])


@act("/console/queues/{name}/redrive", right=right_of(move_tasks.start_move_task))
async def redrive(name: str, page: CurrentPage) -> Response:
    """Starts a move. After an error about the target, shows the form again."""
    selection = read_selection(page.form, by_filter=True)
    if selection.is_empty:
        raise InvalidParameterValue("No message is selected.")
    try:
        await page.run(check_target(page.form.get("to").strip(), page.context))
        new = build_move_task(selection, page)
        facts = {} if selection.ids else await describe(name, selection, page)
        await page.act(move_tasks.start_move_task(name, new, page.context, facts.get(GROUP)))
    except AwsError as error:
        if "to" not in await find_problems(error, page):
            raise
        return await show_redrive(page, name, selection, error)
    return redirect(f"/console/queues/{name}/redrive?done=redriving")


def build_move_task(selection: Selection, page: Page) -> NewMoveTask:
    """Reads a new move from the form. Raises InvalidParameterValue."""
    document: dict[str, object] = {"filter": selection.wanted}
    if selection.ids:
        document = {"ids": selection.ids}
    numbers = {"per_second": page.form.get("rate"), "canary": page.form.get("first") or page.form.get("canary")}
    for member, given in numbers.items():
        if text := given.strip():
            document[member] = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
    if to := page.form.get("to").strip():
        document["to"] = to
    try:
        return msgspec.convert(msgspec.to_builtins(document), NewMoveTask)
    except msgspec.ValidationError as error:
        raise InvalidParameterValue(f"No move was started. {error}") from error


@act("/console/queues/{name}/redrive/{move}/continue", right=right_of(move_tasks.continue_move_task))
async def continue_redrive(name: str, move: str, page: CurrentPage) -> Response:
    """Continues a move after its canary."""
    await page.act(move_tasks.continue_move_task(name, parse_id(move), None, page.context))
    return redirect(f"/console/queues/{name}/redrive?done=redriving")


@act("/console/queues/{name}/redrive/{move}/cancel", right=right_of(move_tasks.cancel_move_task))
async def cancel_redrive(name: str, move: str, page: CurrentPage) -> Response:
    """Cancels a move. Moved messages stay in the new queue, and all other messages stay in the old queue."""
    await page.act(move_tasks.cancel_move_task(name, parse_id(move), page.context))
    return redirect(f"/console/queues/{name}/redrive?done=cancelled")


def parse_id(text: str) -> UUID:
    """Parses a move's id. Raises InvalidParameterValue."""
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidParameterValue("The id of a move must be a UUID.") from error
