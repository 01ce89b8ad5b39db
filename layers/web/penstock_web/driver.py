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
from penstock_web.long_poll.dispatcher import Hub
from penstock_web.long_poll.waiters import Answer as WaitAnswer
from penstock_web.metrics.meter import Meter

from .deadlines import Stay

# What `queue.receive_messages` answers when there is nothing, for somebody who says how long to wait.
EMPTY_LOOK: Row = (None, 0)


@dataclass(frozen=True, slots=True)
class World:
    """Everything that effects are about. `observe`: puts itself around every operation, to record what it does."""

    pool: Pool
    batcher: Batcher
    hub: Hub
    meter: Meter
    observe: Callable[[Operation], Operation] | None = None


class Drive:
    """One operation under way. `ticket`: its place among those who wait, which it keeps after an empty look.

    `missed`: the hub's, from before its last look. `look`: what it looked for, `handed`: what it got without a look.
    """

    __slots__ = ("empty", "handed", "look", "missed", "stay", "ticket", "world")

    def __init__(self, world: World, stay: Stay | None) -> None:
        self.world = world
        self.stay = stay
        self.ticket: int | None = None
        self.missed = 0
        self.look: Take | None = None
        self.handed: list[Row] | None = None
        self.empty: str | None = None
        """The queue that was looked at last, if nothing was there."""

    async def run(self, operation: Operation, effect: Effect | None = None) -> Any:
        """The operation's result; `effect`: what it has asked for already. Raises what `drive` raises."""
        try:
            if effect is None:
                effect = next(operation)
            while True:
                if isinstance(effect, (Rows, Take)):  # the hot ones, one coroutine less
                    effect = operation.send(await self.merged(effect))
                elif isinstance(effect, Wake):
                    self.wake(effect)
                    effect = operation.send(None)
                else:
                    effect = operation.send(await self.answer(effect))
        except StopIteration as end:
            self.ended()
            return end.value

    def ended(self) -> None:
        """The operation has its result."""
        if self.empty is not None:
            self.world.meter.queues.empty(self.empty)

    def wake(self, effect: Wake) -> None:
        """Tells those who wait in this process."""
        self.world.hub.wake(effect.queue_arn, effect.count, effect.woken)

    async def answer(self, effect: Sql | Wait | Pause) -> list[Row] | Woken | bool:
        """What the world says to an effect that is not merged."""
        if isinstance(effect, Wait):
            return await self.waited(effect)
        if isinstance(effect, Pause):
            return await self.rested(effect)
        statement, arguments = call_of(effect)
        self.missed = self.world.hub.missed
        started = perf_counter()
        pool = self.world.pool
        call = pool.flush if statement is TRANSACT else pool.call  # so long a text is worth preparing
        rows = await call(statement, binary_array.encode_arguments(statement.types, arguments))
        self.world.meter.queues.observe(effect, rows, perf_counter() - started)
        if statement is RECEIVE_ATTEMPT:
            self.looked(str(arguments[0]), rows)
        return rows

    async def merged(self, effect: Rows | Take) -> list[Row]:
        """The rows of an effect that may share its call, or need none."""
        at_once = self.at_once(effect)
        if at_once is not None:
            return at_once
        answer = self.world.batcher.submit(effect)
        started = perf_counter()
        try:
            rows = await answer
        except asyncio.CancelledError:
            self.world.batcher.abandon(effect, answer)
            raise
        self.arrived(effect, rows, perf_counter() - started)
        return rows

    def joins_a_line(self, effect: Rows | Take) -> bool:
        """Whether others wait for the queue and this newcomer lines up, without a look."""
        if not isinstance(effect, Take):
            return False
        self.missed = self.world.hub.missed
        self.look = effect
        if not effect.may_wait or self.ticket is not None:
            return False
        if not self.world.hub.lines_up(effect.queue_arn):
            return False
        self.empty = effect.queue_arn
        return True

    def arrived(self, effect: Rows | Take, rows: list[Row], seconds: float) -> None:
        """The rows of an effect came after so long."""
        self.world.meter.queues.observe(effect, rows, seconds)
        if isinstance(effect, Take):
            self.looked(effect.queue_arn, rows)

    def looked(self, queue_arn: str, rows: list[Row]) -> None:
        """Remembers whether a look found something: only of the last one it is said how the request ended."""
        self.empty = queue_arn if len(rows) == 1 and rows[0][0] is None else None

    async def waited(self, effect: Wait) -> Woken:
        """Whether to look again. Not counted as time of the request; ends when the client leaves."""
        answer = self.wait(effect)
        if self.stay is not None:
            self.stay.pause()
        try:
            woken = await answer
        except asyncio.CancelledError:
            if not answer.cancelled():
                self.pass_on(effect.queue_arn, answer.result())
            raise
        finally:
            if self.stay is not None:
                self.stay.resume()
        return self.told(woken)

    def told(self, woken: Woken | list[Row]) -> Woken:
        """What the operation is told of the end of its wait. What it was handed is what its next look finds."""
        if isinstance(woken, list):
            self.handed = woken
            return Woken.FOR_ONE
        return woken

    def at_once(self, effect: Rows | Take) -> list[Row] | None:
        """The rows without a call: what it was handed in its wait, or nothing, since it joins a line. None: call."""
        rows, self.handed = self.handed, None
        if rows is not None:
            self.arrived(effect, rows, 0.0)
            return rows
        return [EMPTY_LOOK] if self.joins_a_line(effect) else None

    def pass_on(self, queue_arn: str, woken: Woken | list[Row]) -> None:
        """It was this one's turn, who has left: the next one takes it."""
        if isinstance(woken, list):
            self.world.batcher.give_back(queue_arn, woken[1:])
        else:
            self.world.hub.wake(queue_arn, 1, woken)

    def wait(self, effect: Wait) -> WaitAnswer:
        """Why to look again, or what a look would find."""
        hub = self.world.hub
        if self.ticket is None:
            self.ticket = hub.ticket()
        return hub.wait(effect.queue_arn, effect.seconds, self.ticket, self.missed, self.look)

    async def rested(self, effect: Pause) -> bool:
        """Whether to go on: not when the process ends. Counted as little as a wait."""
        if self.stay is not None:
            self.stay.pause()
        try:
            await asyncio.sleep(effect.seconds)
            return not self.world.hub.draining
        finally:
            if self.stay is not None:
                self.stay.resume()


async def drive(operation: Operation, world: World, stay: Stay | None = None) -> Any:
    """The operation's result. Raises what the operation raises, ServiceUnavailable and InternalFailure.

    With a `stay`, a wait is not counted as time of the request, and ends when the client leaves.
    """
    if world.observe is not None:
        operation = world.observe(operation)
    return await Drive(world, stay).run(operation)
