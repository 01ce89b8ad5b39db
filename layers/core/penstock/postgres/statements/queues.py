"""Statements for queues, and for their attributes, tags and policies."""

from datetime import datetime
from typing import NamedTuple

from penstock.postgres.statement import Statement


class CreatedQueueRow(NamedTuple):
    """The queue, either new or existing (`created` is False), or an error.

    An error's `detail` is the attribute that differs, or the number of seconds until a deleted queue's name is free.
    """

    arn: str
    created: bool
    error: str | None
    detail: str | None


CREATE_QUEUE = Statement(
    "queue.create_queue",
    ("text", "text", "text", "jsonb", "jsonb", "jsonb", "int4", "int4"),
    CreatedQueueRow,
    is_audited=True,
    changed="created",
)


class QueueRow(NamedTuple):
    """A queue. `attributes` and `tags` are JSON.

    Counts are None if the caller did not request them. Ages are also None if the queue has no message.
    """

    name: str
    fifo: bool
    attributes: str
    tags: str
    created_at_ms: int
    modified_at_ms: int
    visible: int | None
    in_flight: int | None
    delayed: int | None
    oldest_age_seconds: int | None
    newest_age_seconds: int | None
    total_messages: int | None


DESCRIBE_QUEUE = Statement("queue.describe_queue", ("text", "bool"), QueueRow)


class ListedQueueRow(NamedTuple):
    name: str
    fifo: bool
    created_at_ms: int


LIST_QUEUES = Statement("queue.list_queue_page", ("text", "text", "text", "text", "int4"), ListedQueueRow)


class QueueErrorRow(NamedTuple):
    error: str | None


SET_QUEUE_ATTRIBUTES = Statement(
    "queue.set_queue_attributes", ("text", "jsonb", "uuid[]", "uuid[]"), QueueErrorRow, is_audited=True
)
DROP_QUEUE = Statement("queue.drop_queue", ("text",), QueueErrorRow, is_audited=True)


class PurgedRow(NamedTuple):
    """The number of deleted messages, or an error, with the queue's name in `detail`."""

    purged: int
    error: str | None
    detail: str | None


PURGE_MESSAGES = Statement("queue.purge_messages", ("text", "int4"), PurgedRow, is_audited=True)


class TaggedQueueRow(NamedTuple):
    """The error that prevented the change, or None. `detail` is the queue's name."""

    error: str | None
    detail: str | None


TAG_QUEUE = Statement("queue.tag_queue", ("text", "jsonb", "int4"), TaggedQueueRow, is_audited=True)
UNTAG_QUEUE = Statement("queue.untag_queue", ("text", "text[]"), QueueErrorRow, is_audited=True)


class ReplacedPolicyRow(NamedTuple):
    """`replaced` is false if another request changed the old policy."""

    replaced: bool
    error: str | None


REPLACE_POLICY = Statement(
    "queue.replace_policy",
    ("text", "text", "text", "uuid[]", "uuid[]"),
    ReplacedPolicyRow,
    is_audited=True,
    changed="replaced",
)


class DeadLetterSourceRow(NamedTuple):
    """A source queue of the requested dead-letter queue."""

    name: str


LIST_DEAD_LETTER_SOURCES = Statement("queue.list_dead_letter_sources", ("text", "text", "int4"), DeadLetterSourceRow)


# --- pages of the console ---------------------------------------------------------------------------------------------
class OverviewRow(NamedTuple):
    """The last counts of a queue. A row without name describes all queues of an account together.

    Only that row has `queues`, the number of the account's queues, and `measured`, which says whether the counts are
    known. In that row `dead_letters` counts the messages in dead-letter queues. In other rows `dead_letters` is 1 for a
    dead-letter queue.
    """

    name: str | None
    arn: str | None
    queues: int | None
    measured: bool | None
    visible: int | None
    in_flight: int | None
    delayed: int | None
    dead_letters: int
    oldest_at: datetime | None
    measured_at: datetime | None
    read_at: datetime


READ_OVERVIEW = Statement("queue.read_overview", ("text", "text", "int4"), OverviewRow)


class QueuePageRow(NamedTuple):
    """A queue of a page, with its last measurement. The columns of the measurement are None if the service never
    measured the queue. `total` counts all pages."""

    name: str
    arn: str
    fifo: bool
    created_at: datetime
    total: int
    visible: int | None
    in_flight: int | None
    delayed: int | None
    oldest_at: datetime | None
    measured_at: datetime | None
    dead_letter_name: str | None
    source_name: str | None
    sources: int | None


READ_QUEUE_PAGE = Statement(
    "queue.read_queue_page", ("text", "text", "text", "text", "bool", "text[]", "int4", "int4"), QueuePageRow
)


class ReceiverRow(NamedTuple):
    """A receiver, and the number of messages that the receiver received since `first_at_ms`.

    `last_at_ms` is the time of the receiver's last receive, even if that receive was empty.
    """

    caller: str
    agent: str
    address: str
    first_at_ms: int
    last_at_ms: int
    received: int


LIST_RECEIVERS = Statement("queue.list_receivers", ("text", "int4"), ReceiverRow)


class NotedRow(NamedTuple):
    noted: int


NOTE_RECEIVERS = Statement(
    "queue.note_receivers", ("text[]", "text[]", "text[]", "text[]", "timestamptz[]", "int8[]"), NotedRow
)
