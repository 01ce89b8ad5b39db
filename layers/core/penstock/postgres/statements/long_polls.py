"""Statements for long polling, about waiting requests and the queues that have messages for them."""

from typing import NamedTuple

from penstock.postgres.statement import Statement


class WatchedQueueRow(NamedTuple):
    arn: str


WATCH_QUEUES = Statement("queue.watch_queues", ("text[]", "uuid", "int4[]"), WatchedQueueRow)


class PolledQueueRow(NamedTuple):
    """A queue that may have messages.

    The last row describes all queues. No queue will have a new message within `wait_ms`, unless a commit changes
    `snapshot`.
    """

    arn: str | None
    snapshot: str | None
    wait_ms: int | None


POLL_QUEUES = Statement("queue.poll_queues", ("text[]", "text"), PolledQueueRow)


class ReadyQueueRow(NamedTuple):
    """A queue, from the given queues, that may have a message."""

    arn: str


READY_QUEUES = Statement("queue.ready_queues", ("text[]",), ReadyQueueRow)


class PollSlotRow(NamedTuple):
    """A slot in which a function's request can wait, counted from 1."""

    slot: int


TAKE_POLL_SLOT = Statement("queue.take_poll_slot", ("text", "uuid", "int4", "float8"), PollSlotRow)
RELEASE_POLL_SLOT = Statement("queue.release_poll_slot", ("text", "uuid"), PollSlotRow)
