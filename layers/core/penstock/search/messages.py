"""The messages of a queue that pass a filter, by a bounded scan."""

from typing import NamedTuple

from penstock import errors
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.stored_messages import SEARCH_MESSAGES, FoundRow

from .filters import MessageFilter

MOST_SCANNED = 100_000
SCANNED = 10_000


class Search(NamedTuple):
    """What to look for. `after`: the `next` of the search before. `scan`: how many messages to look at, at most."""

    arn: str
    filter: MessageFilter
    after: str | None = None
    limit: int = 10
    scan: int = SCANNED


class SearchResult(NamedTuple):
    """The messages, and how many the search has looked at; `of`: how many there are, None when that is not known.

    `next`: where the next search goes on; None at the end of the queue.
    """

    rows: list[FoundRow]
    looked_at: int
    of: int | None
    next: str | None


def search_messages(search: Search, most_bytes: int, context: Context) -> Operation[SearchResult]:
    """Looks at messages until `limit` or `most_bytes` of them pass, or `scan` (or 64 MiB) have been looked at.

    The messages come in the order in which the queue keeps them, not in that of their age. Raises QueueDoesNotExist.
    """
    text = search.filter.as_json(context)
    rows = yield from Call(
        SEARCH_MESSAGES, (search.arn, text, search.after, search.limit, search.scan, most_bytes)
    )
    if not rows:
        raise errors.QueueDoesNotExist
    *found, end = rows
    looked_at = end.looked_at or 0
    return SearchResult(found, looked_at, estimate(end.messages, looked_at, search.after, end.next), end.next)


def estimate(measured: int | None, looked_at: int, after: str | None, following: str | None) -> int | None:
    """Returns the number of messages: the examined ones if these were all, else the measured number, or None."""
    if after is None and following is None:
        return looked_at
    return measured if measured is None else max(measured, looked_at)
