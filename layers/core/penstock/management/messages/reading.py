"""Reads stored messages without receiving them. These operations, `search_messages` and `group_failures` call
`note_reading`, so the audit log counts each request that reads messages.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import structs

from penstock.access.audit.refusals import note_reading
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Call, Operation
from penstock.management.rights import needs
from penstock.postgres.statements.stored_messages import (
    PEEK_MESSAGES,
    READ_ARCHIVE,
    READ_MESSAGES,
    ArchivedRow,
    FoundRow,
    PeekedRow,
)
from penstock.search.failures import BY_DEFAULT, FailureGroup, Failures, Grouping, group_failures
from penstock.search.failures import SCANNED as GROUPED
from penstock.search.filters import MessageFilter
from penstock.search.messages import MAX_SCANNED, SCANNED, Search, SearchResult, search_messages
from penstock.search.titles import is_mixed
from penstock.sqs import handles

from .search import show_message

PAGE_BYTES: Final = 2_000_000
MAX_EXPORTED: Final = 1_000
EXPORTED_BYTES: Final = 4_000_000
MAX_IDS: Final = 1_000
MAX_SEARCHES: Final = 12
MAX_GROUPS: Final = 20


# --- rows ------------------------------------------------------------------------------------------------------------
def peek_rows(
    arn: str, state: str, after: int | None, limit: int, most_bytes: int, context: Context
) -> Operation[list[PeekedRow]]:
    """Returns messages in one state, in the order of their ids. Raises QueueDoesNotExist."""
    rows = yield from Call(PEEK_MESSAGES, (arn, state, after, limit, most_bytes))
    if not rows:
        yield from handles.check_queue(arn)
    yield from note_reading(arn, context)
    return rows


def read_rows(arn: str, ids: Sequence[int], context: Context) -> Operation[list[FoundRow]]:
    """Returns the messages with these ids that still exist, in any state."""
    rows = yield from Call(READ_MESSAGES, (arn, list(ids)))
    yield from note_reading(arn, context)
    return rows


def read_archived_rows(
    arn: str, after: int | None, limit: int, most_bytes: int, context: Context
) -> Operation[list[ArchivedRow]]:
    """Returns archived messages in the order of deletion. Raises QueueDoesNotExist."""
    rows = yield from Call(READ_ARCHIVE, (arn, after, limit, most_bytes))
    if not rows:
        yield from handles.check_queue(arn)
    yield from note_reading(arn, context)
    return rows


# --- messages of a page ----------------------------------------------------------------------------------------------
@needs("queue", "sqs:ReceiveMessage")
def peek_messages(name: str, state: str, after: int | None, limit: int, context: Context) -> Operation[list[PeekedRow]]:
    """Returns messages in one state, in the order of their ids. Raises QueueDoesNotExist."""
    return (yield from peek_rows(build_queue_arn(name, context), state, after, limit, PAGE_BYTES, context))


@needs("queue", "sqs:ReceiveMessage")
def peek_message(
    name: str, message_id: int, states: Sequence[str], context: Context
) -> Operation[tuple[PeekedRow, str] | None]:
    """Finds a message by its id and these states. Returns the message and its state, or None. Raises
    QueueDoesNotExist.
    """
    arn = build_queue_arn(name, context)
    for state in states:
        for row in (yield from peek_rows(arn, state, message_id - 1, 1, PAGE_BYTES, context)):
            if row.public_id == message_id:
                return row, state
    return None


@needs("queue", "sqs:ReceiveMessage")
def read_messages(name: str, ids: Sequence[int], context: Context) -> Operation[list[FoundRow]]:
    """Returns the messages with these ids that still exist, in any state."""
    return (yield from read_rows(build_queue_arn(name, context), ids, context))


# --- messages that match a filter ------------------------------------------------------------------------------------
@needs("queue", "sqs:ReceiveMessage")
def find_page(
    name: str, wanted: MessageFilter, place: str | None, limit: int, context: Context
) -> Operation[SearchResult]:
    """Returns a page of matching messages. Raises QueueDoesNotExist or InvalidParameterValue."""
    search = Search(build_queue_arn(name, context), wanted, place, limit)
    return (yield from search_messages(search, PAGE_BYTES, context))


@needs("queue", "sqs:ReceiveMessage")
def export_messages(name: str, wanted: MessageFilter, context: Context) -> Operation[bytes]:
    """Returns matching messages as JSON Lines. Stops after 1,000 messages or 4 MB. Raises QueueDoesNotExist."""
    search = Search(build_queue_arn(name, context), wanted, None, MAX_EXPORTED, MAX_SCANNED)
    found = yield from search_messages(search, EXPORTED_BYTES, context)
    return b"".join(msgspec.json.encode(show_message(row)) + b"\n" for row in found.rows)


class Matches(NamedTuple):
    """The number of messages that match. If `is_exact` is not set, the queue has more messages than the count
    examined."""

    number: int
    is_exact: bool


@needs("queue", "sqs:ReceiveMessage")
def count_matches(name: str, wanted: MessageFilter, context: Context) -> Operation[Matches]:
    """Counts the matching messages among the first 10,000 messages. Raises QueueDoesNotExist."""
    grouping = Grouping(build_queue_arn(name, context), [], None, None, SCANNED, 1, wanted)
    found = yield from group_failures(grouping, context)
    return Matches(sum(group.messages for group in found.groups), found.next is None)


@needs("queue", "sqs:ReceiveMessage")
def find_ids(name: str, wanted: MessageFilter, context: Context) -> Operation[list[int]]:
    """Returns the ids of up to 1,000 matching messages. Raises QueueDoesNotExist."""
    ids: list[int] = []
    place = None
    for _ in range(MAX_SEARCHES):
        search = Search(build_queue_arn(name, context), wanted, place, MAX_IDS - len(ids))
        found = yield from search_messages(search, PAGE_BYTES, context)
        ids += [row.public_id for row in found.rows]
        place = found.next
        if place is None or len(ids) >= MAX_IDS:
            break
    return ids


@needs("queue", "sqs:ReceiveMessage")
def find_group(name: str, wanted: MessageFilter, context: Context) -> Operation[Failures | None]:
    """Returns one group with the messages that the filter finds, or None.

    A title says in what a group differs from the others, so this function reads all groups. If the filter finds a part
    of one group, the title is the group's, unless the group's messages differ. If it finds more groups, the title says
    only the facts that are true of all of their messages.
    """
    arn = build_queue_arn(name, context)
    everything = yield from group_failures(Grouping(arn, BY_DEFAULT, None, None, GROUPED, MAX_GROUPS), context)
    alike = [group for group in everything.groups if is_part(group, wanted)]
    if len(alike) == 1 and alike[0].title and (not is_mixed(alike[0].title) or has_filter(alike[0], wanted)):
        return everything._replace(groups=alike)
    found = yield from group_failures(Grouping(arn, ["shape"], None, None, GROUPED, 1, wanted), context)
    return found if found.groups else None


def has_filter(group: FailureGroup, wanted: MessageFilter) -> bool:
    """Returns whether the filter selects the group's messages, in any state."""
    return group.filter == structs.replace(wanted, states=None)


def is_part(group: FailureGroup, wanted: MessageFilter) -> bool:
    """Returns whether all messages of a group have the filter's shape, cause and source queue."""
    own = group.filter
    return (
        own is not None
        and own.shape == wanted.shape
        and all(
            given is None or given == value
            for given, value in ((wanted.cause, own.cause), (wanted.source_queue, own.source_queue))
        )
    )
