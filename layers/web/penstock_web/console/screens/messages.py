"""Shows, sends, copies and deletes a queue's messages."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Response

from penstock.aws.fifo_name import is_fifo_name
from penstock.errors import AwsError, InvalidParameterValue
from penstock.management.errors import MessageNotFound
from penstock.management.messages import reading
from penstock.management.messages.editing import read_message
from penstock.management.messages.operations import delete_with_undo, send_written, undo_deletion
from penstock.management.rights import require_on, right_of, show
from penstock.search.filters import MessageFilter
from penstock.sqs.types import SendMessageRequest
from penstock.sqs.validation import MAX_ATTRIBUTES
from penstock_web.console.filters import NAMES, parse_filter
from penstock_web.console.message_form import Written, build_attributes, fill, read_written
from penstock_web.console.messages import STATES, MessagePage, Seen, find, find_acts, look_at, look_for, read_samples
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import PAGE, cut_page
from penstock_web.console.rendering import segment
from penstock_web.console.responses import HEADERS, find_status, redirect, show_page
from penstock_web.console.screen import act, screen
from penstock_web.console.selection import (
    LAST_ID,
    SAMPLES,
    Count,
    Selection,
    count_matches,
    describe,
    nothing_selected,
    parse_id,
    read_selection,
)
from penstock_web.console.snippets import as_markdown, message_snippets
from penstock_web.console.undo import begin_undo, end_undo, find_undo, offer_undo

MAX_PLACE_LENGTH = 160
NOTHING: Final = MessagePage([], 0, 0, None)
DELETE: Final = require_on("queue", "sqs:DeleteMessage")
"""The right to delete. The operation checks it again after the user has confirmed the number."""


class Selected(NamedTuple):
    """The selection, its messages on other pages, and the number of all messages that match the page's filter."""

    selection: Selection
    elsewhere: list[int]
    matches: Count


@screen("/console/queues/{name}/messages", right=right_of(reading.peek_messages))
async def messages(name: str, page: CurrentPage) -> Response:
    """Shows a page of messages in one state, in the order of their ids. If the URL contains a filter, shows matching
    messages in the queue's order. The URL also contains the messages that the user has selected on other pages.
    """
    state = page.query.read_choice("state", STATES)
    try:
        wanted = parse_filter(page.query, [state] if "state" in page.query else list(STATES))
    except InvalidParameterValue as error:
        return show_fault(name, error, page)
    if wanted is not None:
        return await show_filtered(name, wanted, page)
    after = page.query.read_number("after", 0, LAST_ID)
    found = await page.run(look_at(name, state, after or None, PAGE + 1, page.context))
    shown, more = cut_page(found)
    selected = await select(name, state, shown, MessageFilter(states=[state]), page, is_all=not after and not more)
    return show_page(
        page, "messages.html", title=f"Messages of {name}", name=name, state=state, states=STATES, after=after,
        messages=shown, more=more, found=None, given=dict.fromkeys(NAMES, ""), selected=selected,
        acts=find_acts(name, page), done=page.query.get("done", ""),
    )  # fmt: skip


async def show_filtered(name: str, wanted: MessageFilter, page: Page) -> Response:
    """Shows messages that match a filter. Each request examines only a limited number of messages."""
    place, state = page.query.get("place", "")[:MAX_PLACE_LENGTH], page.query.get("state", "")
    found = await page.run(find(name, wanted, place or None, page.context))
    selected = await select(name, state, found.messages, wanted, page, is_all=not place and found.next is None)
    return show_page(
        page, "messages.html", title=f"Messages of {name}", name=name, state=state, states=STATES,
        after=place, messages=found.messages, more=False, found=found,
        given={name: page.query.get(name, "") for name in NAMES}, selected=selected, acts=find_acts(name, page),
        done=page.query.get("done", ""),
    )  # fmt: skip


def show_fault(name: str, error: AwsError, page: Page) -> Response:
    """Shows the filter as the user has typed it, with its fault."""
    return show_page(
        page, "messages.html", find_status(error), title=f"Messages of {name}", name=name,
        state=page.query.get("state", ""), states=STATES, after="", messages=(), more=False, found=NOTHING, fault=error,
        given={field: page.query.get(field, "") for field in NAMES}, selected=None, acts=find_acts(name, page), done="",
    )  # fmt: skip


async def select(
    name: str, state: str, found: Sequence[Seen], wanted: MessageFilter, page: Page, *, is_all: bool
) -> Selected:
    """Returns what the page shows of the selection. Counts all matches only if the page does not show all of them."""
    selection = read_selection(page.query)
    selection = selection._replace(given={**selection.given, "state": state})
    shown = {seen.row.public_id for seen in found}
    return Selected(
        selection,
        [number for number in selection.ids if number not in shown],
        Count(len(found)) if is_all else await page.run(count_matches(name, wanted, page.context)),
    )


@screen("/console/queues/{name}/messages/export", right=right_of(reading.export_messages))
async def export(name: str, page: CurrentPage) -> Response:
    """Exports the messages that match the filter."""
    state = page.query.get("state", "")
    wanted = parse_filter(page.query, [state] if state in STATES else list(STATES)) or MessageFilter()
    lines = await page.run(reading.export_messages(name, wanted, page.context))
    headers = {**HEADERS, "content-disposition": f'attachment; filename="{name}.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=headers)


@screen("/console/queues/{name}/messages/undo", right=right_of(undo_deletion))
async def undo_form(name: str, page: CurrentPage) -> Response:
    """Shows how many seconds a deletion or an edit can still be undone. The bar of every page polls this page."""
    return show_page(page, "undo.html", title=f"Undo in {name}")


@screen("/console/queues/{name}/messages/{message_id}", right=right_of(reading.peek_message))
async def message(name: str, message_id: str, page: CurrentPage) -> Response:
    """Shows a message. Raises MessageNotFound."""
    first = page.query.read_choice("state", STATES)
    states = (first, *(state for state in STATES if state != first))
    seen = await page.run(look_for(name, parse_id(message_id), states, page.context))
    if seen is None:
        raise MessageNotFound(
            "This message is no longer in the queue. The message was deleted or moved, or has expired."
        )
    selection = read_selection(page.query)
    if not any(selection.carried.values()):
        selection.given["state"] = "" if seen.state == STATES[0] else seen.state
    return show_page(
        page, "message.html", title=f"Message {message_id}", name=name, seen=seen,
        snippets=build_snippets(name, seen, page), acts=find_acts(name, page), selection=selection,
    )  # fmt: skip


def build_snippets(name: str, seen: Seen, page: Page) -> list[tuple[str, str]]:
    """Returns code that sends the message again, and the message as Markdown."""
    row = seen.row
    facts = {
        "message id": row.message_id,
        "sent": seen.sent_at.isoformat(timespec="seconds"),
        "receives": seen.receives,
        "group": row.group_id,
        **{f"attribute {key}": value.text for key, value in seen.attributes.items()},
    }
    language = "json" if seen.pretty is not None else ""
    markdown = as_markdown(f"Message {row.public_id} of {name}", facts, seen.pretty or row.body, language)
    group = row.group_id if is_fifo_name(name) else None
    return [*message_snippets(name, row.body, seen.attributes, group, page.context), markdown]


@screen("/console/queues/{name}/send", right=right_of(send_written))
async def send_form(name: str, page: CurrentPage) -> Response:
    """Shows the form. If the parameter `copy` names a message, fills the form with the message's content. The user
    needs the right to receive the message.
    """
    copied = page.query.get("copy", "")
    if not copied:
        return show_send(page, name, Written(), "")
    row = await page.run(read_message(name, parse_id(copied), page.context))
    return show_send(page, name, fill(row)._replace(body=row.body, dedup=""), copied)


@act("/console/queues/{name}/send", right=right_of(send_written))
async def send(name: str, page: CurrentPage) -> Response:
    """Sends a message. After an error, shows the form again with everything that the user has written."""
    written, copied = read_written(page.form), page.form.get("copy")
    try:
        delay = written.delay
        if delay and not (delay.isascii() and delay.isdigit() and len(delay) < 9):
            raise InvalidParameterValue("The delay must be a number of seconds.")
        request = SendMessageRequest(
            queue_url=name,
            message_body=written.body,
            delay_seconds=int(delay) if delay else None,
            message_attributes=build_attributes(written) or None,
            message_system_attributes=None,
            message_group_id=written.group or None,
            message_deduplication_id=written.dedup or None,
        )
        await page.act(send_written(name, request, copied, page.context))
    except AwsError as error:
        return show_send(page, name, written, copied, error)
    return redirect(f"/console/queues/{name}?done=sent")


def show_send(page: Page, name: str, written: Written, copied: str, error: AwsError | None = None) -> Response:
    return show_page(
        page, "send.html", find_status(error), title=f"Send to {name}", name=name, written=written, copied=copied,
        error=error, fifo=is_fifo_name(name), most=MAX_ATTRIBUTES,
    )  # fmt: skip


@act("/console/queues/{name}/messages/delete", right=DELETE)
async def delete_messages(name: str, page: CurrentPage) -> Response:
    """Asks whether to delete the selected messages, with their number. If the form's field `confirmed` is "yes",
    deletes them. A user can undo the deletion for 30 seconds.
    """
    selection = read_selection(page.form)
    if selection.is_empty:
        return nothing_selected(name, selection)
    ids = selection.ids
    if page.form.get("confirmed") != "yes" or not ids:
        return await ask_before_deletion(name, selection, page)
    deleted = await page.act(delete_with_undo(name, ids, page.context))
    if not deleted:
        return redirect(selection.build_path(name, done="gone"))
    undo = begin_undo(name, str(deleted[0].deletion_id), len(deleted), selection.build_path(name))
    return redirect(selection.build_path(name, done="deleted"), offer_undo(page, undo))


async def ask_before_deletion(name: str, selection: Selection, page: Page) -> Response:
    """Asks with the number, the filter and up to three samples. A user who may not read messages sees no samples."""
    found = selection.ids or await page.run(reading.find_ids(name, selection.wanted, page.context))
    samples = await page.run(show(read_samples(name, found[:SAMPLES], page.context))) if found else []
    return show_page(
        page, "delete.html", title=f"Delete messages of {name}", name=name, ids=found, selection=selection,
        facts=await describe(name, selection, page), samples=samples or [],
        more=not selection.ids and len(found) >= reading.MAX_IDS,
    )  # fmt: skip


@act("/console/queues/{name}/messages/undo", right=right_of(undo_deletion))
async def undo(name: str, page: CurrentPage) -> Response:
    """Brings the messages of a deletion or an edit back, and shows them selected, as before the act. Raises UndoOver
    after 30 seconds.
    """
    try:
        deletion = UUID(page.form.get("deletion"))
    except ValueError as error:
        raise InvalidParameterValue("The id of a deletion must be a UUID.") from error
    found = find_undo(page)
    ids = await page.act(undo_deletion(name, deletion, page.context))
    is_offered = found is not None and found.deletion == str(deletion)
    back = found.back if found is not None and is_offered else f"/console/queues/{segment(name)}/messages"
    chosen = [("id", str(number)) for number in ids] if "/messages" in back else []
    restored = urlencode([("done", "undone"), ("n", str(len(ids))), *chosen])
    return redirect(f"{back}{'&' if '?' in back else '?'}{restored}", end_undo(page) if is_offered else None)
