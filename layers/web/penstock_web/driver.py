"""Runs operations in the container: awaits their effects, and merges them with those of concurrent requests."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from penstock.effects import Effect, Operation, Pause, Row, Rows, Sql, Take, Wait, Wake, Woken
from penstock.postgres import binary_array
from penstock.postgres.calls import statement_call
from penstock.postgres.statements import RECEIVE_MESSAGES, TRANSACT
from penstock_web.batching.batcher import Batcher
from penstock_web.database.pool import Pool
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.long_poll.waiters import WaitFuture
from penstock_web.metrics.meter import Meter

from .deadlines import PendingRequest

# The rows of `queue.receive_messages` when the queue is empty, for a request that says how long to wait.
EMPTY_RECEIVE: Row = (None, 0)


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that all requests of a process share. `observe` wraps each operation, to record its effects.

    `refresh_gauges`: returns when the queues are measured, before a scrape.
    """

    pool: Pool
    batcher: Batcher
    long_polls: LongPollDispatcher
    meter: Meter
    observe: Callable[[Operation], Operation] | None = None
    refresh_gauges: Callable[[], Awaitable[None]] | None = None


class OperationRun:
    """One operation under way.

    `ticket`: the order in which the request waits, which it keeps after an empty receive. `missed_wakeups`: the
    dispatcher's count from before the last receive. `last_receive`: the effect of that receive.
    `received_while_waiting`: rows that another call has received for this request.
    """

    __slots__ = (
        "empty_queue",
        "last_receive",
        "missed_wakeups",
        "received_while_waiting",
        "request",
        "resources",
        "ticket",
    )

    def __init__(self, resources: Resources, request: PendingRequest | None) -> None:
        self.resources = resources
        self.request = request
        self.ticket: int | None = None
        self.missed_wakeups = 0
        self.last_receive: Take | None = None
        self.received_while_waiting: list[Row] | None = None
        self.empty_queue: str | None = None
        """The queue of the last receive, if that was empty."""

    async def run(self, operation: Operation, effect: Effect | None = None) -> Any:
        """The operation's result. `effect`: its first effect, if it has yielded it. Raises as `run_operation` does."""
        try:
            if effect is None:
                effect = next(operation)
            while True:
                if isinstance(effect, (Rows, Take)):  # the most frequent effects, with one coroutine less
                    effect = operation.send(await self.execute_merged(effect))
                elif isinstance(effect, Wake):
                    self.wake(effect)
                    effect = operation.send(None)
                else:
                    effect = operation.send(await self.execute(effect))
        except StopIteration as end:
            self.finish()
            return end.value

    def finish(self) -> None:
        """Counts an empty receive when the operation has its result."""
        if self.empty_queue is not None:
            self.resources.meter.queues.count_empty_receive(self.empty_queue)

    def wake(self, effect: Wake) -> None:
        """Wakes requests that wait in this process."""
        self.resources.long_polls.wake(effect.queue_arn, effect.count, effect.woken)

    async def execute(self, effect: Sql | Wait | Pause) -> list[Row] | Woken | bool:
        """The result of an effect that is not merged."""
        if isinstance(effect, Wait):
            return await self.wait_until_woken(effect)
        if isinstance(effect, Pause):
            return await self.pause(effect)
        statement, arguments = statement_call(effect)
        self.missed_wakeups = self.resources.long_polls.missed_wakeups
        started = perf_counter()
        pool = self.resources.pool
        # The text of TRANSACT is so long that preparing it is worthwhile.
        call = pool.call_pipelined if statement is TRANSACT else pool.call
        rows = await call(statement, binary_array.encode_arguments(statement.types, arguments))
        self.resources.meter.queues.observe(effect, rows, perf_counter() - started)
        if statement is RECEIVE_MESSAGES:
            self.remember_if_empty(str(arguments[0]), rows)
        return rows

    async def execute_merged(self, effect: Rows | Take) -> list[Row]:
        """The rows of an effect that may share a call, or that needs none."""
        rows_without_call = self.rows_without_call(effect)
        if rows_without_call is not None:
            return rows_without_call
        future = self.resources.batcher.submit(effect)
        started = perf_counter()
        try:
            rows = await future
        except asyncio.CancelledError:
            self.resources.batcher.abandon(effect, future)
            raise
        self.rows_arrived(effect, rows, perf_counter() - started)
        return rows

    def skips_receive(self, effect: Rows | Take) -> bool:
        """Whether the request waits without a receive, since others wait for the queue already."""
        if not isinstance(effect, Take):
            return False
        self.missed_wakeups = self.resources.long_polls.missed_wakeups
        self.last_receive = effect
        if not effect.may_wait or self.ticket is not None:
            return False
        if not self.resources.long_polls.can_skip_receive(effect.queue_arn):
            return False
        self.empty_queue = effect.queue_arn
        return True

    def rows_arrived(self, effect: Rows | Take, rows: list[Row], seconds: float) -> None:
        """Records the rows of an effect, which took so long."""
        self.resources.meter.queues.observe(effect, rows, seconds)
        if isinstance(effect, Take):
            self.remember_if_empty(effect.queue_arn, rows)

    def remember_if_empty(self, queue_arn: str, rows: list[Row]) -> None:
        """Remembers whether a receive was empty. Only the last one of a request counts as its outcome."""
        self.empty_queue = queue_arn if len(rows) == 1 and rows[0][0] is None else None

    async def wait_until_woken(self, effect: Wait) -> Woken:
        """Why a wait ended. It does not count as time of the request, and ends when the client disconnects."""
        future = self.wait(effect)
        if self.request is not None:
            self.request.pause()
        try:
            woken = await future
        except asyncio.CancelledError:
            if not future.cancelled():
                self.pass_wake_on(effect.queue_arn, future.result())
            raise
        finally:
            if self.request is not None:
                self.request.resume()
        return self.accept_wake(woken)

    def accept_wake(self, woken: Woken | list[Row]) -> Woken:
        """The reason that the operation gets for the end of its wait. Its next receive gets rows that were received."""
        if isinstance(woken, list):
            self.received_while_waiting = woken
            return Woken.FOR_ONE
        return woken

    def rows_without_call(self, effect: Rows | Take) -> list[Row] | None:
        """Rows without a call: those received during its wait, or an empty receive that it skips. None: call."""
        rows, self.received_while_waiting = self.received_while_waiting, None
        if rows is not None:
            self.rows_arrived(effect, rows, 0.0)
            return rows
        return [EMPTY_RECEIVE] if self.skips_receive(effect) else None

    def pass_wake_on(self, queue_arn: str, woken: Woken | list[Row]) -> None:
        """Passes a wake-up, or messages, to another request, since the client has disconnected."""
        if isinstance(woken, list):
            self.resources.batcher.return_messages(queue_arn, woken[1:])
        else:
            self.resources.long_polls.wake(queue_arn, 1, woken)

    def wait(self, effect: Wait) -> WaitFuture:
        """A future of the reason for which the wait ended, or of rows that another call has received."""
        long_polls = self.resources.long_polls
        if self.ticket is None:
            self.ticket = long_polls.next_ticket()
        return long_polls.wait(
            effect.queue_arn, effect.seconds, self.ticket, self.missed_wakeups, self.last_receive
        )

    async def pause(self, effect: Pause) -> bool:
        """Sleeps. False if the process is shutting down. Like a wait, this does not count as time of the request."""
        if self.request is not None:
            self.request.pause()
        try:
            await asyncio.sleep(effect.seconds)
            return not self.resources.long_polls.draining
        finally:
            if self.request is not None:
                self.request.resume()


async def run_operation(
    operation: Operation, resources: Resources, request: PendingRequest | None = None
) -> Any:
    """The operation's result. Raises the operation's errors, ServiceUnavailable and InternalFailure.

    With a `request`, a wait does not count as time of the request, and ends when the client disconnects.
    """
    if resources.observe is not None:
        operation = resources.observe(operation)
    return await OperationRun(resources, request).run(operation)
