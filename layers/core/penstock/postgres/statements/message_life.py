"""Statements for the life of one message."""

from typing import NamedTuple
from uuid import UUID

from penstock.postgres.statement import Statement


class TracedRow(NamedTuple):
    traced: int


TRACE_RECEIVE = Statement(
    "queue.trace_receive", ("int4", "uuid[]", "int8[]", "int4[]", "int8[]", "text", "text"), TracedRow
)


class PlaceRow(NamedTuple):
    """A queue that has or had the message, or the end of the search, which has no `arn`.

    `public_id` is None if only a failure shows that the queue had the message. `is_there` is false for an ended
    message. In the last row, `looked_at` counts the examined messages, and `messages` counts all messages, or is None
    if the number is unknown.
    """

    arn: str | None
    public_id: int | None
    is_there: bool | None
    looked_at: int | None
    messages: int | None


FIND_MESSAGE = Statement("queue.find_message", ("text", "text", "text", "uuid", "int8", "float8"), PlaceRow)


class LifeRow(NamedTuple):
    """An event of a message, or the facts about the message (`queue.read_message`)."""

    kind: str
    at_ms: int | None
    arn: str
    receive_count: int | None
    actor: str | None
    agent: str | None
    detail: str | None
    message_id: UUID | None = None
    source_arn: str | None = None
    is_original: bool | None = None


READ_MESSAGE = Statement("queue.read_message", ("text", "int8", "uuid", "bool"), LifeRow)
