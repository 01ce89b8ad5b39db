"""Shows the life of a message, and finds a message by its id in all queues."""

from typing import Final

from fastapi import Response

from penstock.documents.queue_names import build_queue_arn
from penstock.documents.times import parse_timestamp
from penstock.management.messages.life import find_message, parse_message, parse_message_id, read_life, read_message_id
from penstock.management.messages.types import MessageLife
from penstock.management.rights import right_of
from penstock_web.console.page import CurrentPage
from penstock_web.console.rendering import query, segment
from penstock_web.console.responses import redirect, show_page
from penstock_web.console.screen import screen

WORDS: Final = {
    "dead_lettered": "became a dead letter",
    "selected": "selected for a move",
    "acted": "a person's act",
    "edited": "edited and sent again",
    "edited_from": "edited copy",
}
"""The words for events whose names are not plain."""
LEVELS: Final = {"failed": "bad", "dead_lettered": "bad", "expired": "warn", "purged": "warn", "deleted": "good"}
ENDED: Final = ("deleted", "purged", "expired", "dead_lettered", "moved")


def _is_copy(life: MessageLife) -> bool:
    """Returns whether the former id is that of the original of an edited copy, and not the id before a redrive."""
    originals = (event.detail for event in life.events if event.what == "edited_from")
    return life.former_message_id in originals


@screen("/console/messages/{message_id}", right=right_of(find_message))
async def find_by_id(message_id: str, page: CurrentPage) -> Response:
    """Finds a message by its id, and shows its life. Raises MessageNotFound."""
    parsed = read_message_id(message_id.strip())
    place = await page.run(find_message(parsed, page.context))
    number = str(parsed) if place.id is None else str(place.id)
    path = f"/console/queues/{segment(place.queue)}/messages/{number}/life"
    return redirect(path + query({"id": "" if place.id is None else parsed}))


@screen("/console/queues/{name}/messages/{message_id}/life", right=right_of(read_life))
async def life(name: str, message_id: str, page: CurrentPage) -> Response:
    """Shows the life of a message. Raises MessageNotFound."""
    number, parsed = parse_message(message_id)
    parsed = parsed or parse_message_id(page.query.get("id", ""))
    shown = await page.run(read_life(name, number, parsed, page.context))
    traced = shown.source_queue if shown.entered_by == "dead_lettered" and shown.source_queue else name
    arn = build_queue_arn(traced, page.context)
    return show_page(
        page, "life.html", title=f"Life of message {shown.message_id}", name=name, life=shown, moment=parse_timestamp,
        words=WORDS, levels=LEVELS, is_live=shown.state is not None and shown.state not in ENDED, traced=traced,
        is_copy=_is_copy(shown), may_find=page.may("sqs:ListQueues"), may_trace=page.may("sqs:SetQueueAttributes", arn),
    )  # fmt: skip
