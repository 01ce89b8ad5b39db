"""Finds a queue's messages that match a filter, by a bounded scan."""

from typing import NamedTuple

from penstock import errors
from penstock.access.audit.refusals import note_reading
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.stored_messages import SEARCH_MESSAGES, FoundRow

from .filters import MessageFilter

MAX_SCANNED = 100_000
SCANNED = 10_000


class Search(NamedTuple):
    """A search. `after` is the previous search's `next`. `scan` is the maximum number of messages to examine."""

    arn: str
    filter: MessageFilter
    after: str | None = None
    limit: int = 10
    scan: int = SCANNED


class SearchResult(NamedTuple):
    """The matching messages. `looked_at` counts the examined messages. `of` counts all messages, or is None if the
    number is unknown.

    `next` is the place where the next search continues, or None at the end of the queue.
    """

    rows: list[FoundRow]
    looked_at: int
    of: int | None
    next: str | None


def search_messages(search: Search, most_bytes: int, context: Context) -> Operation[SearchResult]:
    """Stops when `limit` messages or `most_bytes` bytes match, when `scan` messages or 64 MiB have been examined, or
    after about 2 seconds.

    Messages come in the order of storage, which differs from the order of age. Raises QueueDoesNotExist.
    """
    text = search.filter.as_json(context)
    rows = yield from Call(SEARCH_MESSAGES, (search.arn, text, search.after, search.limit, search.scan, most_bytes))
    if not rows:
        raise errors.QueueDoesNotExist
    yield from note_reading(search.arn, context)
    *found, end = rows
    looked_at = end.looked_at or 0
    return SearchResult(found, looked_at, estimate(end.messages, looked_at, search.after, end.next), end.next)


def estimate(measured: int | None, looked_at: int, after: str | None, following: str | None) -> int | None:
    """Returns the number of messages in the queue. The number is exact if the search examined all messages. Otherwise
    it is the measured number, or None."""
    if after is None and following is None:
        return looked_at
    return measured if measured is None else max(measured, looked_at)
