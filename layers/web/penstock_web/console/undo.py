"""Offers the undo of the browser's newest deletion, or edit of many messages, on every page for 30 seconds. A cookie
names the deletion, so the bar needs neither a script nor a read of the database. The undo itself checks the user's
rights and the time.
"""

import re
from time import time
from typing import Final, Literal, NamedTuple
from urllib.parse import parse_qsl, urlencode

from penstock.documents.queue_names import build_queue_arn
from penstock.management.messages.types import UNDO_SECONDS

from .page import Page
from .sign_in import build_cookie, cookie_name

MAX_BACK_LENGTH: Final = 2_000
"""Browsers keep cookies of at most 4,096 bytes. After a longer address, the undo leads to the first page."""
_BACK = re.compile(r"/console/queues/[!-~]+").fullmatch
_QUEUE = re.compile(r"[A-Za-z0-9_-]{1,80}(\.fifo)?").fullmatch


class Undo(NamedTuple):
    """A deletion that the user can undo until the Unix time `until`. `back` is the page on which the user selected the
    messages, and `number` is their number. `act` says what the user did to the messages.
    """

    queue: str
    deletion: str
    until: int
    number: int
    back: str
    act: Literal["deleted", "edited"] = "deleted"

    @property
    def seconds(self) -> int:
        """Returns the seconds that remain. A wrong cookie never offers an undo for more than 30 seconds."""
        return max(0, min(UNDO_SECONDS, self.until - int(time())))


def begin_undo(
    queue: str, deletion: str, number: int, back: str, act: Literal["deleted", "edited"] = "deleted"
) -> Undo:
    """Returns the undo of a deletion or an edit that the user has just made."""
    kept = back if len(back) <= MAX_BACK_LENGTH else f"/console/queues/{queue}/messages"
    return Undo(queue, deletion, int(time()) + UNDO_SECONDS, number, kept, act)


def offer_undo(page: Page, undo: Undo) -> str:
    """Returns the cookie that shows the bar on the next pages."""
    return _build_cookie(page, urlencode(undo._asdict()))


def end_undo(page: Page) -> str:
    """Returns the cookie that removes the bar."""
    return _build_cookie(page, "")


def find_undo(page: Page) -> Undo | None:
    """Returns the deletion that the page offers to undo, or None. Ignores a cookie that the console did not write."""
    if page.viewer is None:
        return None
    cookie = dict(parse_qsl(page.request.cookies.get(_name(page), "")[:4_096]))
    numbers = [text for name in ("until", "number") if (text := cookie.get(name, "")).isascii() and text.isdigit()]
    queue, back = cookie.get("queue", ""), cookie.get("back", "")
    if len(numbers) != 2 or max(map(len, numbers)) > 12 or not _QUEUE(queue) or not _BACK(back):
        return None
    act: Literal["deleted", "edited"] = "edited" if cookie.get("act") == "edited" else "deleted"
    undo = Undo(queue, cookie.get("deletion", ""), int(numbers[0]), int(numbers[1]), back, act)
    may_undo = undo.seconds and page.may("sqs:DeleteMessage", build_queue_arn(queue, page.context))
    return undo if may_undo else None


def _name(page: Page) -> str:
    return cookie_name(page.context.http.headers) + "_undo"


def _build_cookie(page: Page, value: str) -> str:
    return build_cookie(_name(page), value, UNDO_SECONDS, page.context)
