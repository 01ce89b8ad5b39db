"""Runs operations in the container: their effects are awaited, and merged with those of concurrent requests."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from penstock.effects import Effect, Operation, Pause, Row, Rows, Sql, Take, Wait, Wake, Woken
from penstock.postgres import binary_array
from penstock.postgres.calls import call_of
from penstock.postgres.statements import RECEIVE_ATTEMPT, TRANSACT
from penstock_web.batching.batcher import Batcher
from penstock_web.database.pool import Pool
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.long_poll.waiters import WaitFuture as WaitAnswer
from penstock_web.metrics.meter import Meter

from .deadlines import PendingRequest

# What `queue.receive_messages` answers when there is nothing, for somebody who says how long to wait.
EMPTY_RECEIVE: Row = (None, 0)


@dataclass(frozen=True, slots=True)
class Resources:
    """Everything that effects are about. `observe`: puts itself around every operation, to record what it does."""

    pool: Pool
    batcher: Batcher
    long_polls: LongPollDispatcher
    meter: Meter
    observe: Callable[[Operation], Operation] | None = None


class OperationRun:
    """One operation under way. `ticket`: its place among those who wait, which it keeps after an empty look.

    `missed_wakeups`: the hub's, from before its last look. `last_receive`: what it looked for, `received_while_waiting`: what it got without a look.
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
        """The queue that was looked at last, if nothing was there."""

    async def run(self, operation: Operation, effect: Effect | None = None) -> Any:
        """The operation's result; `effect`: what it has asked for already. Raises what `run_operation` raises."""
        try:
            if effect is None:
                effect = next(operation)
            while True:
                if isinstance(effect, (Rows, Take)):  # the hot ones, one coroutine less
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
        """The operation has its result."""
        if self.empty_queue is not None:
            self.resources.meter.queues.empty(self.empty_queue)

    def wake(self, effect: Wake) -> None:
        """Tells those who wait in this process."""
        self.resources.long_polls.wake(effect.queue_arn, effect.count, effect.woken)

    async def execute(self, effect: Sql | Wait | Pause) -> list[Row] | Woken | bool:
        """What the world says to an effect that is not merged."""
        if isinstance(effect, Wait):
            return await self.wait_until_woken(effect)
        if isinstance(effect, Pause):
            return await self.pause(effect)
        statement, arguments = call_of(effect)
        self.missed_wakeups = self.resources.long_polls.missed_wakeups
        started = perf_counter()
        pool = self.resources.pool
        call = (
            pool.call_pipelined if statement is TRANSACT else pool.call
        )  # so long a text is worth preparing
        rows = await call(statement, binary_array.encode_arguments(statement.types, arguments))
        self.resources.meter.queues.observe(effect, rows, perf_counter() - started)
        if statement is RECEIVE_ATTEMPT:
            self.remember_if_empty(str(arguments[0]), rows)
        return rows

    async def execute_merged(self, effect: Rows | Take) -> list[Row]:
        """The rows of an effect that may share its call, or need none."""
        rows_without_call = self.rows_without_call(effect)
        if rows_without_call is not None:
            return rows_without_call
        execute = self.resources.batcher.submit(effect)
        started = perf_counter()
        try:
            rows = await execute
        except asyncio.CancelledError:
            self.resources.batcher.abandon(effect, execute)
            raise
        self.rows_arrived(effect, rows, perf_counter() - started)
        return rows

    def skips_receive(self, effect: Rows | Take) -> bool:
        """Whether others wait for the queue and this newcomer lines up, without a look."""
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
        """The rows of an effect came after so long."""
        self.resources.meter.queues.observe(effect, rows, seconds)
        if isinstance(effect, Take):
            self.remember_if_empty(effect.queue_arn, rows)

    def remember_if_empty(self, queue_arn: str, rows: list[Row]) -> None:
        """Remembers whether a look found something: only of the last one it is said how the request ended."""
        self.empty_queue = queue_arn if len(rows) == 1 and rows[0][0] is None else None

    async def wait_until_woken(self, effect: Wait) -> Woken:
        """Whether to look again. Not counted as time of the request; ends when the client leaves."""
        execute = self.wait(effect)
        if self.request is not None:
            self.request.pause()
        try:
            woken = await execute
        except asyncio.CancelledError:
            if not execute.cancelled():
                self.pass_wake_on(effect.queue_arn, execute.result())
            raise
        finally:
            if self.request is not None:
                self.request.resume()
        return self.accept_wake(woken)

    def accept_wake(self, woken: Woken | list[Row]) -> Woken:
        """What the operation is told of the end of its wait. What it was handed is what its next look finds."""
        if isinstance(woken, list):
            self.received_while_waiting = woken
            return Woken.FOR_ONE
        return woken

    def rows_without_call(self, effect: Rows | Take) -> list[Row] | None:
        """The rows without a call: what it was handed in its wait, or nothing, since it joins a line. None: call."""
        rows, self.received_while_waiting = self.received_while_waiting, None
        if rows is not None:
            self.rows_arrived(effect, rows, 0.0)
            return rows
        return [EMPTY_RECEIVE] if self.skips_receive(effect) else None

    def pass_wake_on(self, queue_arn: str, woken: Woken | list[Row]) -> None:
        """It was this one's turn, who has left: the next one takes it."""
        if isinstance(woken, list):
            self.resources.batcher.return_messages(queue_arn, woken[1:])
        else:
            self.resources.long_polls.wake(queue_arn, 1, woken)

    def wait(self, effect: Wait) -> WaitAnswer:
        """Why to look again, or what a look would find."""
        long_polls = self.resources.long_polls
        if self.ticket is None:
            self.ticket = long_polls.next_ticket()
        return long_polls.wait(
            effect.queue_arn, effect.seconds, self.ticket, self.missed_wakeups, self.last_receive
        )

    async def pause(self, effect: Pause) -> bool:
        """Whether to go on: not when the process ends. Counted as little as a wait."""
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
    """The operation's result. Raises what the operation raises, ServiceUnavailable and InternalFailure.

    With a `request`, a wait is not counted as time of the request, and ends when the client leaves.
    """
    if resources.observe is not None:
        operation = resources.observe(operation)
    return await OperationRun(resources, request).run(operation)
