"""What is sent while somebody waits for it is received in the same transaction: one call and one commit, not two.

    flush of sends ─► send_messages, receive_messages ─► the senders, and those who waited

They are handed what the receive finds, which need not be what was just sent. Who gets nothing looks by itself.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from penstock.effects import Row, Rows, Statement
from penstock_web.database.pipeline_connection import StatementCall
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.long_poll.waiters import Waiter

from .merge import LARGEST_TAKE, distribute_messages, merged_call
from .write_backpressure import WriteBackpressure

# Queues of one flush whose waiters are served with it. Each adds a receive to a transaction that holds shards.
MAX_WAITER_GROUPS = 3

ReturnMessages = Callable[[str, Sequence[Row]], None]


class Database(Protocol):
    """The pool's part."""

    def call_pipelined(self, statement: Statement, arguments: Sequence[Any], /) -> Awaitable[list[Row]]: ...

    def call_in_transaction(self, calls: Sequence[StatementCall]) -> Awaitable[list[list[Row]] | None]: ...


class WaiterGroup:
    """Those who wait for one queue, with looks that may share a call."""

    def __init__(self, queue_arn: str, waiters: list[Waiter]) -> None:
        self.queue_arn = queue_arn
        self._waiters = waiters
        self._takes = [waiter.receive for waiter in waiters if waiter.receive is not None]

    @property
    def call(self) -> StatementCall:
        """One receive for all, in a transaction with what is sent."""
        return merged_call(self._takes, own_transaction=False)

    def serve(self, rows: Sequence[Row], return_messages: ReturnMessages) -> int:
        """Hands each what it asked for, as far as it goes. How many messages there were."""
        connected = [not waiter.future.done() for waiter in self._waiters]
        results, left_over = distribute_messages(self._takes, connected, rows)
        for waiter, future in zip(self._waiters, results, strict=True):
            if len(future) > 1:
                waiter.serve(future)
        return_messages(self.queue_arn, left_over)
        return len(rows) - 1

    def wake_unserved(self) -> int:
        """Who has no answer yet looks by itself. How many these are."""
        return sum(waiter.wake() for waiter in self._waiters)


class DirectHandoff:
    """Stores messages and tells the `long_polls`'s waiters, who look by themselves while much is `write_backpressure`."""

    def __init__(
        self, database: Database, long_polls: LongPollDispatcher, write_backpressure: WriteBackpressure
    ) -> None:
        self._database = database
        self._long_polls = long_polls
        self._write_backpressure = write_backpressure

    async def send(self, effects: Sequence[Rows], return_messages: ReturnMessages) -> list[Row]:
        """The rows of one call that stores all of these. Raises what the pool raises: then nobody got any."""
        call = merged_call(effects)
        counts = count_by_queue(effects)
        groups = self._groups(counts)
        try:
            rows, *received = await self._store(call, groups)
            for group, group_rows in zip(groups, received, strict=False):  # none, when they were not served
                counts[group.queue_arn] -= group.serve(group_rows, return_messages)
        finally:
            for group in groups:
                counts[group.queue_arn] -= group.wake_unserved()
        for queue_arn, count in counts.items():
            self._long_polls.wake(queue_arn, count)
        return rows

    async def _store(self, call: StatementCall, groups: list[WaiterGroup]) -> list[list[Row]]:
        if groups:
            results = await self._database.call_in_transaction([call, *(group.call for group in groups)])
            if results is not None:
                return results
        return [await self._database.call_pipelined(*call)]

    def _groups(self, counts: dict[str, int]) -> list[WaiterGroup]:
        groups: list[WaiterGroup] = []
        if self._write_backpressure.is_high:
            return groups
        for queue_arn, count in counts.items():
            if len(groups) < MAX_WAITER_GROUPS and (
                waiters := self._long_polls.claim(queue_arn, min(count, LARGEST_TAKE))
            ):
                groups.append(WaiterGroup(queue_arn, waiters))
        return groups


def count_by_queue(effects: Sequence[Rows]) -> dict[str, int]:
    """How many messages there are for each queue."""
    counts: dict[str, int] = {}
    for effect in effects:
        counts[effect.queue_arn] = counts.get(effect.queue_arn, 0) + len(effect)
    return counts
