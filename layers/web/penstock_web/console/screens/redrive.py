"""Moves dead letters to their source queues or to another queue. A move takes all messages of a queue, a group of
messages, or chosen messages. A move with a canary first moves only a few messages.

The page shows a move's progress, continues a move after the canary, and cancels a move. The REST API offers the same
actions at /v1/queues/{name}/moves.
"""

from typing import Final, NamedTuple
from uuid import UUID

import msgspec
from fastapi import Response

from penstock.documents.queue_names import build_queue_arn
from penstock.errors import InvalidParameterValue
from penstock.management import move_tasks
from penstock.management.move_tasks import NewMoveTask
from penstock.management.rights import right_of
from penstock.search.filters import MessageFilter
from penstock_web.console.filters import NAMES, parse_filter
from penstock_web.console.messages import to_datetime
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.responses import redirect, show_page
from penstock_web.console.screen import act, screen

OVER: Final = ("completed", "cancelled", "failed")


class Selection(NamedTuple):
    """The messages to move: `ids`, or the messages that match `filter`. If both are empty, a move takes all visible
    messages.
    """

    ids: list[int]
    filter: MessageFilter | None
    given: dict[str, str]

    @property
    def facts(self) -> dict[str, str]:
        """Returns the filter's values, by names that the page shows."""
        return {NAMES_IN_WORDS[name]: value for name, value in self.given.items() if value}


NAMES_IN_WORDS: Final = {
    "text": "text", "path": "JSON path", "value": "value", "attr": "attribute", "attr_value": "its value",
    "group": "group", "min_receives": "receives at least", "max_receives": "receives at most", "source": "from",
    "shape": "shape", "cause": "cause", "no_cause": "without a cause",
}  # fmt: skip


@screen("/console/queues/{name}/redrive", right=right_of(move_tasks.list_move_tasks))
async def redrive_page(name: str, page: CurrentPage) -> Response:
    """Shows the form and the last moves' progress."""
    arn = build_queue_arn(name, page.context)
    rows = await page.read(("moves", name), lambda: move_tasks.list_move_tasks(name, page.context))
    query = page.query
    return show_page(
        page, "redrive.html", title=f"Redrive {name}", name=name, moves=rows, done=page.query.get("done", ""),
        moment_of=to_datetime, is_running=any(row.state not in OVER for row in rows), over=OVER,
        selection=selection(query.getlist("id"), {key: query.get(key, "") for key in NAMES}),
        may_start=page.may("sqs:StartMessageMoveTask", arn), may_cancel=page.may("sqs:CancelMessageMoveTask", arn),
    )  # fmt: skip


def selection(ids: list[str], given: dict[str, str]) -> Selection:
    """Reads which messages to move. Raises InvalidParameterValue."""
    numbers = [int(text) for text in ids if text.isascii() and text.isdigit() and len(text) < 20]
    if len(numbers) < len(ids):
        raise InvalidParameterValue("The id of a message must be a number.")
    return Selection(numbers, None if numbers else parse_filter(given, []), given)


@act("/console/queues/{name}/redrive", right=right_of(move_tasks.start_move_task))
async def redrive(name: str, page: CurrentPage) -> Response:
    """Starts a move."""
    wanted = selection(page.form.get_all("id"), {key: page.form.get(key) for key in NAMES})
    new = build_move_task(wanted, page)
    await page.act(move_tasks.start_move_task(name, new, page.context))
    return redirect(f"/console/queues/{name}/redrive?done=redriving")


def build_move_task(wanted: Selection, page: Page) -> NewMoveTask:
    """Reads a new move from the form. Raises InvalidParameterValue."""
    document: dict[str, object] = {"filter": wanted.filter or {}}
    if wanted.ids:
        document = {"ids": wanted.ids}
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
