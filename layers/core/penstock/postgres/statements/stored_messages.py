"""Statements for the REST API, which names messages by their public ids."""

from typing import NamedTuple
from uuid import UUID

from penstock.postgres.statement import Statement

from .messages import MESSAGE_TYPES


class PeekedRow(NamedTuple):
    """A message that was read but not received. `attributes` and `system` are JSON.

    `entered_at_ms` is the time when the message entered this queue, and `entered_by` is sent, dead_lettered or moved.
    """

    public_id: int
    receive_count: int
    message_id: str
    sent_at_ms: int
    visible_at_ms: int
    body: str
    attributes: str | None
    system: str | None
    group_id: str | None
    entered_at_ms: int
    entered_by: str

    @property
    def id(self) -> int:
        """Returns the id that a received message has in this queue."""
        return self.public_id >> 8

    @property
    def first_received_at_ms(self) -> int:
        """Returns 0, because a peek does not read when the message was first received."""
        return 0


PEEK_MESSAGES = Statement(
    "queue.peek_messages", ("text", "text", "int8", "int4", "int8"), PeekedRow, named=("p_bytes",)
)


class DeletedIdRow(NamedTuple):
    id: int


DELETE_BY_ID = Statement("queue.delete_by_id", ("text", "int8[]"), DeletedIdRow, is_audited=True)


class PendingDeletionRow(NamedTuple):
    """A deleted message, and the deletion that brings it back within 30 seconds."""

    id: int
    deletion_id: UUID


DELETE_WITH_UNDO = Statement("queue.delete_with_undo", ("text", "int8[]", "uuid"), PendingDeletionRow, is_audited=True)
UNDO_DELETION = Statement("queue.undo_deletion", ("text", "uuid"), DeletedIdRow, is_audited=True)


class ReplacedRow(NamedTuple):
    """The outcome for message `n` (from 1): the id of its edited copy, or why the message stayed.

    `replaced` counts the replaced messages of the whole call. The rows of replaced messages come first.
    """

    n: int
    id: int | None
    replaced: int
    error: str | None
    detail: str | None


REPLACE_MESSAGES = Statement(
    "queue.replace_messages", ("text", "int8[]", *MESSAGE_TYPES, "uuid"), ReplacedRow, named=("p_deletion_id",),
    is_audited=True,
)  # fmt: skip


class NewVisibilityRow(NamedTuple):
    visible_at_ms: int


CHANGE_VISIBILITY_BY_ID = Statement("queue.change_visibility_by_id", ("text", "int8", "int4"), NewVisibilityRow)


class ArchivedRow(NamedTuple):
    """A deleted message in the archive. `attributes` and `system` are JSON."""

    archive_id: int
    public_id: int
    message_id: str
    sent_at_ms: int
    archived_at_ms: int
    receive_count: int
    body: str
    attributes: str | None
    system: str | None


READ_ARCHIVE = Statement("queue.read_archive", ("text", "int8", "int4", "int8"), ArchivedRow, named=("p_bytes",))


class FoundRow(NamedTuple):
    """A message that matches a filter. In the last row, all columns except the last three columns are None.

    `receive_count` counts receives in this queue, and `total_receive_count` counts receives in all queues.
    `source_arn` is the queue from which a dead letter came. `looked_at` counts the examined messages, `messages` counts
    all messages, and `next` is the position from which the search continues.
    """

    public_id: int
    receive_count: int
    message_id: str
    sent_at_ms: int
    visible_at_ms: int
    body: str
    attributes: str | None
    system: str | None
    group_id: str | None
    entered_at_ms: int
    entered_by: str
    state: str
    total_receive_count: int
    source_arn: str | None
    looked_at: int | None
    next: str | None
    messages: int | None


READ_MESSAGES = Statement("queue.read_messages", ("text", "int8[]"), FoundRow)
SEARCH_MESSAGES = Statement("queue.search_messages", ("text", "jsonb", "text", "int4", "int4", "int8"), FoundRow)


class FailureRow(NamedTuple):
    """A sample from a group of messages, with the features that the group's messages share. The last row of a result
    has no group.

    `group_messages` counts the group's messages. `oldest_ms` and `newest_ms` are the times when the group's first and
    last messages entered the queue. `group_facts` is JSON, and only one row of each group has it. `body` has the first
    16,384 characters, and `body_length` counts all bytes. `group_splits` is JSON like `group_facts`, or None if the
    call did not ask for it. The other columns have the same meaning as in `FoundRow`.
    """

    group_number: int
    group_source_arn: str | None
    group_receive_count: int | None
    group_attribute: str | None
    group_shape: str | None
    group_cause: str | None
    group_facts: str | None
    group_messages: int
    oldest_ms: int
    newest_ms: int
    public_id: int
    receive_count: int
    message_id: str
    sent_at_ms: int
    visible_at_ms: int
    body: str
    body_length: int
    attributes: str | None
    system: str | None
    group_id: str | None
    entered_at_ms: int
    entered_by: str
    state: str
    total_receive_count: int
    source_arn: str | None
    looked_at: int | None
    next: str | None
    messages: int | None
    groups: int | None
    group_splits: str | None = None


GROUP_FAILURES = Statement(
    "queue.group_failures", ("text", "text[]", "text", "jsonb", "text", "int4", "int4", "int4", "bool"), FailureRow,
    named=("p_splits",),
)  # fmt: skip
