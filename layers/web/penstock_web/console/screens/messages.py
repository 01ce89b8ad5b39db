"""Shows, sends, copies and deletes a queue's messages."""

from fastapi import Response

from penstock.aws.fifo_name import is_fifo_name
from penstock.documents.queue_names import build_queue_arn
from penstock.errors import InvalidParameterValue
from penstock.management.errors import MessageNotFound
from penstock.management.messages.operations import delete_chosen, send_written
from penstock.management.rights import right_of
from penstock.search.filters import MessageFilter
from penstock.sqs.types import MessageAttributeValue, SendMessageRequest
from penstock_web.console.filters import NAMES, parse_filter
from penstock_web.console.messages import STATES, Seen, export_found, find, look_at, look_for
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import PAGE, cut_page
from penstock_web.console.responses import HEADERS, redirect, show_page
from penstock_web.console.screen import act, screen
from penstock_web.console.snippets import as_markdown, message_snippets

MAX_ATTRIBUTES = 10
MAX_IDS = 1_000
LAST_ID = 2**63 - 1
MAX_PLACE_LENGTH = 160


@screen("/console/queues/{name}/messages", right=right_of(look_at))
async def messages(name: str, page: CurrentPage) -> Response:
    """Shows a page of messages in one state, in the order of their ids. If the URL contains a filter, shows matching
    messages in the queue's order.
    """
    state = page.query.read_choice("state", STATES)
    wanted = parse_filter(page.query, [state] if "state" in page.query else list(STATES))
    if wanted is not None:
        return await show_filtered(name, wanted, page)
    after = page.query.read_number("after", 0, LAST_ID)
    found = await page.run(look_at(name, state, after or None, PAGE + 1, page.context))
    shown, more = cut_page(found)
    arn = build_queue_arn(name, page.context)
    return show_page(
        page, "messages.html", title=f"Messages of {name}", name=name, state=state, states=STATES, after=after,
        messages=shown, more=more, may_send=page.may("sqs:SendMessage", arn),
        may_delete=page.may("sqs:DeleteMessage", arn), may_redrive=page.may("sqs:StartMessageMoveTask", arn),
        done=page.query.get("done", ""), count=page.query.get("n", ""),
        found=None, given=dict.fromkeys(NAMES, ""),
    )  # fmt: skip


async def show_filtered(name: str, wanted: MessageFilter, page: Page) -> Response:
    """Shows messages that match a filter. Each request examines only a limited number of messages."""
    place = page.query.get("place", "")[:MAX_PLACE_LENGTH]
    found = await page.run(find(name, wanted, place or None, page.context))
    arn = build_queue_arn(name, page.context)
    return show_page(
        page, "messages.html", title=f"Messages of {name}", name=name, state=page.query.get("state", ""), states=STATES,
        after=place, messages=found.messages, more=False, found=found, may_send=page.may("sqs:SendMessage", arn),
        may_delete=page.may("sqs:DeleteMessage", arn), may_redrive=page.may("sqs:StartMessageMoveTask", arn),
        done=page.query.get("done", ""), count=page.query.get("n", ""),
        given={name: page.query.get(name, "") for name in NAMES},
    )  # fmt: skip


@screen("/console/queues/{name}/messages/export", right=right_of(export_found))
async def export(name: str, page: CurrentPage) -> Response:
    """Exports the messages that match the filter."""
    state = page.query.get("state", "")
    wanted = parse_filter(page.query, [state] if state in STATES else list(STATES)) or MessageFilter()
    lines = await page.run(export_found(name, wanted, page.context))
    headers = {**HEADERS, "content-disposition": f'attachment; filename="{name}.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=headers)


@screen("/console/queues/{name}/messages/{message_id}", right=right_of(look_for))
async def message(name: str, message_id: str, page: CurrentPage) -> Response:
    """Shows a message. Raises MessageNotFound."""
    first = page.query.read_choice("state", STATES)
    states = (first, *(state for state in STATES if state != first))
    seen = await page.run(look_for(name, parse_id(message_id), states, page.context))
    if seen is None:
        raise MessageNotFound(
            "This message is no longer in the queue. The message was deleted or moved, or has expired."
        )
    arn = build_queue_arn(name, page.context)
    return show_page(
        page, "message.html", title=f"Message {message_id}", name=name, seen=seen,
        snippets=build_snippets(name, seen, page), may_send=page.may("sqs:SendMessage", arn),
        may_delete=page.may("sqs:DeleteMessage", arn),
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
    seen = None
    if "copy" in page.query:
        seen = await page.run(look_for(name, parse_id(page.query["copy"]), STATES, page.context))
    return show_page(
        page, "send.html", title=f"Send to {name}", name=name, seen=seen, fifo=is_fifo_name(name),
        attributes=list(seen.attributes.items()) if seen else [], most=MAX_ATTRIBUTES,
    )  # fmt: skip


@act("/console/queues/{name}/send", right=right_of(send_written))
async def send(name: str, page: CurrentPage) -> Response:
    """Sends a message."""
    body = page.form.get("body").replace("\r\n", "\n")
    delay = page.form.get("delay").strip()
    if delay and not (delay.isascii() and delay.isdigit() and len(delay) < 9):
        raise InvalidParameterValue("The delay must be a number of seconds.")
    request = SendMessageRequest(
        queue_url=name,
        message_body=body,
        delay_seconds=int(delay) if delay else None,
        message_attributes=read_attributes(page) or None,
        message_group_id=page.form.get("group").strip() or None,
        message_deduplication_id=page.form.get("dedup").strip() or None,
    )
    await page.act(send_written(name, request, page.form.get("copy"), page.context))
    return redirect(f"/console/queues/{name}?done=sent")


def read_attributes(page: Page) -> dict[str, MessageAttributeValue]:
    """Returns the form's attributes by name. Omits attributes without a name."""
    rows = zip(page.form.get_all("attribute"), page.form.get_all("type"), page.form.get_all("value"), strict=False)
    return {
        name.strip(): MessageAttributeValue(
            data_type=kind.strip() or "String",
            string_value=None if kind.startswith("Binary") else value,
            binary_value=value if kind.startswith("Binary") else None,
        )
        for name, kind, value in rows
        if name.strip()
    }


@act("/console/queues/{name}/messages/delete", right=right_of(delete_chosen))
async def delete_messages(name: str, page: CurrentPage) -> Response:
    """Deletes the chosen messages."""
    ids = [parse_id(text) for text in page.form.get_all("id")][:MAX_IDS]
    if not ids:
        raise InvalidParameterValue("Select at least one message.")
    deleted = await page.act(delete_chosen(name, ids, page.context))
    state = page.form.get("state")
    return redirect(
        f"/console/queues/{name}/messages?state={state if state in STATES else STATES[0]}&done=deleted&n={len(deleted)}"
    )


def parse_id(text: str) -> int:
    """Parses a message's id. Raises MessageNotFound for any other text."""
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= LAST_ID):
        raise MessageNotFound
    return int(text)
