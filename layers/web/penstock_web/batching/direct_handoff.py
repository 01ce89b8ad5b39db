"""Gives new messages to waiting receives. One transaction, with one commit, stores and receives the messages.

    flush of sends ─► send_messages, receive_messages ─► the senders, and the waiting receives

A waiting receive returns the messages that `receive_messages` finds. The returned messages can differ from the messages
that the flush stored. If a waiting receive gets no messages, the handoff wakes the receive, which then makes a separate
call. The handoff wakes receives from FIFO queues but returns no messages to them, because two concurrent receives must
not get messages of the same group.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Protocol, cast

from penstock.aws.message_id import as_text
from penstock.aws.named_queue import NamedQueue
from penstock.limits.message_lengths import MAX_RECEIVE
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import ReceivedRow, SendEntry
from penstock_web.database.calls import RowT, StatementCall
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.long_poll.waiters import Waiter

from .merge import Batch, distribute_messages, group_rows_by_effect, merge_calls
from .pending_batch import PendingEffect
from .write_backpressure import WriteBackpressure

# A flush serves the waiting receives of at most MAX_WAITER_GROUPS queues. Each queue adds a receive, which locks
# shards, to the transaction.
MAX_WAITER_GROUPS = 3

ReturnMessages = Callable[[NamedQueue, Sequence[ReceivedRow]], None]


class Pipeline(Protocol):
    """Declares the method of a pipeline connection that the handoff uses."""

    def call_in_transaction(self, calls: Sequence[StatementCall]) -> Awaitable[list[list[Row]]]: ...


class HandoffDatabase(Protocol):
    """Declares the methods of the pool that the handoff uses."""

    def call(self, statement: Statement[RowT], arguments: Sequence[object], /) -> Awaitable[list[RowT]]: ...

    def lease_pipeline(self) -> AbstractContextManager[Pipeline] | None: ...


class WaiterGroup:
    """Groups the waiting receives of one queue that share a call. `hidden` has the ids of the messages that the
    receives returned and made invisible."""

    def __init__(self, waiters: list[Waiter]) -> None:
        self._waiters = waiters
        self._receives = [waiter.receive for waiter in waiters if waiter.receive is not None]
        self._queue = self._receives[0].queue
        self.queue_arn = self._queue.arn
        self.hidden: set[str] = set()

    @property
    def call(self) -> StatementCall:
        """Returns one call for all receives of the group, which runs in the sends' transaction."""
        return merge_calls(self._receives, own_transaction=False)

    def serve(self, rows: Sequence[ReceivedRow], return_messages: ReturnMessages) -> int:
        """Gives each waiter up to the requested number of messages until no message is left. Returns the number of
        messages.
        """
        connected = [not waiter.future.done() for waiter in self._waiters]
        results, left_over = distribute_messages(self._receives, connected, rows)
        for waiter, messages in zip(self._waiters, results, strict=True):
            if len(messages) > 1:
                waiter.serve(messages)
        return_messages(self._queue, left_over)
        self.hidden = {
            message.message_id
            for _, *messages in results
            for message in messages
            if message.visible_at_ms > message.first_received_at_ms  # Equal times: a visibility timeout of 0.
        }
        return len(rows) - 1

    def wake_unserved(self) -> int:
        """Wakes the waiters that got no messages. Each woken waiter makes a separate call. Returns the number of woken
        waiters.
        """
        return sum(waiter.wake() for waiter in self._waiters)


class DirectHandoff:
    """Stores messages and serves the waiters of `long_polls`.

    While the backlog in `write_backpressure` is high, the handoff serves no waiters. Instead, the waiters wake and make
    separate receive calls.
    """

    def __init__(
        self, database: HandoffDatabase, long_polls: LongPollDispatcher, write_backpressure: WriteBackpressure
    ) -> None:
        self._database = database
        self._long_polls = long_polls
        self._write_backpressure = write_backpressure

    async def send(self, pending: Sequence[PendingEffect], return_messages: ReturnMessages) -> list[list[Row]]:
        """Stores the messages of all these effects in one call. Returns the rows of each effect.

        Raises the pool's errors. After an error, no waiter has received a message.
        """
        effects = cast("list[Batch]", [each.effect for each in pending])
        lengths = list(map(len, effects))
        call = merge_calls(effects)
        # Counts the messages sent to each queue, minus the messages that waiters received.
        counts: dict[str, int] = {}
        for effect, length in zip(effects, lengths, strict=True):
            counts[effect.queue_arn] = counts.get(effect.queue_arn, 0) + length
        missed_wakeups = self._long_polls.missed_wakeups
        groups = self._groups(counts)
        emptied: list[str] = []
        try:
            calls = [call, *(group.call for group in groups)]
            lease = self._database.lease_pipeline()
            if lease is None:
                results = [await self._database.call(*call)]
            else:
                with lease as pipeline:
                    results = await pipeline.call_in_transaction(calls)
            rows, *received = results
            # If the call ran outside a pipeline, `received` is empty.
            for group, group_rows in zip(groups, received, strict=False):
                counts[group.queue_arn] -= group.serve(cast("list[ReceivedRow]", group_rows), return_messages)
                if counts[group.queue_arn] == 0 and group.hidden == list_ids(effects, group.queue_arn):
                    emptied.append(group.queue_arn)
        finally:
            for group in groups:
                counts[group.queue_arn] -= group.wake_unserved()
        for queue_arn, count in counts.items():
            self._long_polls.wake(queue_arn, count)
        for queue_arn in emptied:
            self._long_polls.assume_empty(queue_arn, missed_wakeups)
        return group_rows_by_effect(lengths, rows)

    def wake(self, effects: Sequence[Batch]) -> None:
        """Wakes waiters after messages were stored without the direct handoff."""
        for effect in effects:
            self._long_polls.wake(effect.queue_arn, len(effect))

    def _groups(self, counts: dict[str, int]) -> list[WaiterGroup]:
        groups: list[WaiterGroup] = []
        if self._write_backpressure.is_high:
            return groups
        for queue_arn, count in counts.items():
            if len(groups) < MAX_WAITER_GROUPS and (
                waiters := self._long_polls.claim(queue_arn, min(count, MAX_RECEIVE))
            ):
                groups.append(WaiterGroup(waiters))
        return groups


def list_ids(effects: Sequence[Batch], queue_arn: str) -> set[str]:
    """Returns the ids of the messages that the effects send to a queue."""
    entries = [effect.entries for effect in effects if effect.queue_arn == queue_arn]
    return {as_text(cast("SendEntry", entry).message_id) for entry in chain.from_iterable(entries)}
