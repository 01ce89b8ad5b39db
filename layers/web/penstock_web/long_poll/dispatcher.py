"""Where long polls wait: no connection, no task and no timer each, only a future.

    wait ──► first in line ──► claim: by a send in this process, which receives for those it claims (`arrivals`)
                               wake: by whatever else happens in this process, at once
                               by NOTIFY from another one (one LISTEN connection a process)
                               by the look that all share each second: delayed and timed-out messages, a lost NOTIFY

A sender notifies only queues that somebody registered for, because NOTIFY takes a database-wide lock at commit. So the
hub registers before it waits, and looks once more after the registration is committed: a message that was sent
between the empty look and the registration is found. One message of this process wakes one waiter, and nobody notifies
the process of it, as long as it was sent on a connection that names this hub (`lines`): its registration stays. If it
came while nobody was in line, whoever looked meanwhile looks again. A notification and a look do not say how many there
are: one is woken, and who finds messages wakes two others.
"""

import asyncio
import logging
from bisect import insort
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any, Protocol
from uuid import UUID, uuid4

from penstock.effects import Row, Statement, Take, Woken
from penstock.errors import AwsError
from penstock.postgres.statements import POLL_QUEUES, WATCH_QUEUES

from .timers import Ends
from .waiters import Answer, Queue, Sight, Waiter

POLL_SECONDS = 1.0
# A registration is good for five seconds. One that has not been used in three is followed by one for a minute.
GOOD_SECONDS, RENEW_SECONDS = 5, 3.0
QUIET_GOOD_SECONDS, QUIET_RENEW_SECONDS = 60, 50.0
REGISTER_PAUSE_SECONDS = 0.02  # a busy queue registers at most 50 times a second
SILENT_SECONDS = 1.0  # as long as what time makes visible may stay unseen by those who wait
FRESH_SECONDS = 0.02  # so long an empty look at a FIFO queue is good for newcomers, too

_log = logging.getLogger(__name__)


class Call(Protocol):
    """Calls one SQL function."""

    def __call__(self, statement: Statement, arguments: list[Any], /) -> Awaitable[list[Row]]: ...


class Hub:
    """The waiting requests of a process. `call` runs SQL functions; its failures only cost time.

    `watcher`: under which it registers. `missed` counts what came when nobody was in line, of all queues. `hears`:
    whether notifications arrive (`listener`).
    """

    def __init__(self, call: Call, watcher: UUID | None = None) -> None:
        self._call = call
        self._watcher = watcher or uuid4()
        self.missed = 0
        self.hears = False
        self._queues: dict[str, Queue] = {}
        self._wanted: list[Queue] = []
        self._registrar: asyncio.Task[None] | None = None
        self._draining = False
        self._signals: dict[str, Callable[[], None]] = {}
        self._sight = Sight()
        self._ends = Ends()
        self.ticket: Callable[[], int] = count().__next__

    @property
    def draining(self) -> bool:
        """Whether the process ends."""
        return self._draining

    # --- waiting -----------------------------------------------------------------------------------------------------
    def is_waited_for(self, queue_arn: str) -> bool:
        """Whether somebody waits: they have looked, and will be told of what comes."""
        queue = self._queues.get(queue_arn)
        return queue is not None and bool(queue.waiters)

    def lines_up(self, queue_arn: str) -> bool:
        """Whether a newcomer waits without a look, since others do already, or did so a moment ago and in vain.

        On a FIFO queue only when the last look was a moment ago: a look passes over groups that others have locked, and
        of those that another process has set free nobody is told.
        """
        queue = self._queues.get(queue_arn)
        if queue is None:
            return False
        now = asyncio.get_running_loop().time()
        if not queue_arn.endswith(".fifo"):
            return bool(queue.waiters) or now < queue.silent_until
        queue.lines_up = bool(queue.waiters) and now - queue.looked_at < FRESH_SECONDS
        return queue.lines_up

    def wait(
        self, queue_arn: str, seconds: float, ticket: int, missed: int | None = None, look: Take | None = None
    ) -> Answer:
        """Why to look again, or what another look would find. NOT: the time is over, or the process ends.

        `missed`: the hub's, from before the look that was empty. What came since then, that look may not have seen.
        """
        loop = asyncio.get_running_loop()
        answer: Answer = loop.create_future()
        if self._draining or seconds <= 0:
            answer.set_result(Woken.NOT)
            return answer
        queue = self._queues.get(queue_arn)
        if queue is None:
            queue = self._queues[queue_arn] = Queue(queue_arn)
        if missed is not None and queue.missed > missed:
            answer.set_result(Woken.FOR_ONE)
            return answer
        if not queue.lines_up:
            queue.looked_at = loop.time()
        queue.lines_up = False
        waiter = Waiter(ticket, answer, look)
        waiter.end = self._ends.add(seconds, waiter.over)
        answer.add_done_callback(partial(self._leave, queue, waiter))
        insort(queue.waiters, waiter)
        self._want(queue)
        return answer

    def _leave(self, queue: Queue, waiter: Waiter, answer: Answer) -> None:
        """However the wait ended: the waiter is not in line any more."""
        if waiter.end is not None:
            self._ends.remove(waiter.end, waiter.over)
        if waiter in queue.waiters:
            queue.waiters.remove(waiter)
        if queue.current and self.hears and not answer.cancelled() and answer.result() == Woken.NOT:
            queue.silent_until = asyncio.get_running_loop().time() + SILENT_SECONDS

    def on_wake(self, name: str, signal: Callable[[], None]) -> None:
        """`signal` is called whenever `name`, which is no queue, is woken or notified."""
        self._signals[name] = signal

    def wake(self, queue_arn: str, number: int, woken: Woken = Woken.FOR_ONE) -> None:
        """Up to `number` waiters may look again, those first who have waited longest."""
        if queue_arn in self._signals:
            self._signals[queue_arn]()
        queue = self._queues.get(queue_arn)
        if queue is not None:
            queue.silent_until = float("-inf")
        while queue is not None and queue.waiters and number > 0:
            queue.woken = queue.woken or woken == Woken.FOR_ONE
            number -= queue.waiters.pop(0).wake(woken)
        if queue is not None and number > 0 and woken == Woken.FOR_ONE:
            self.missed += 1
            queue.missed = self.missed

    def claim(self, queue_arn: str, messages: int) -> list[Waiter]:
        """As many of those in line as so many messages are enough for, whose looks may share a call.

        They are out of line, and nothing but their caller answers them. Nobody of a FIFO queue.
        """
        queue = self._queues.get(queue_arn)
        if queue is None or not queue.waiters or queue_arn.endswith(".fifo"):
            return []
        claimed: list[Waiter] = []
        first = queue.waiters[0].look
        for waiter in queue.waiters:
            look = waiter.look
            if (
                messages <= 0
                or look is None
                or first is None
                or look.visibility_seconds != first.visibility_seconds
            ):
                break
            if waiter.end is not None:
                self._ends.remove(waiter.end, waiter.over)
            claimed.append(waiter)
            messages -= look.count
        del queue.waiters[: len(claimed)]
        queue.woken = queue.woken or bool(claimed)
        return claimed

    def drain(self) -> None:
        """Everybody is sent home, and whoever comes from now on."""
        self._draining = True
        for queue in self._queues.values():
            for waiter in list(queue.waiters):
                waiter.wake(Woken.NOT)

    # --- registering -------------------------------------------------------------------------------------------------
    def notified(self, queue_arn: str) -> None:
        """A notification came: it has used up the registration.

        It comes from another process, or from here without a wake-up, such as of a publication. Nobody is woken twice:
        where a sender of this process has woken somebody, the look that follows the next registration, within 20 ms,
        finds what came.
        """
        if queue_arn in self._signals:
            self._signals[queue_arn]()
        queue = self._queues.get(queue_arn)
        if queue is not None:
            queue.current = queue.quiet = False
            queue.silent_until = float("-inf")
            if not queue.woken:
                self.wake(queue_arn, 1, Woken.FOR_MORE)
            if queue.waiters:
                self._want(queue)

    def renew(self) -> None:
        """Notifications may have been missed: register afresh for every queue, and look. The workers look, too."""
        for signal in self._signals.values():
            signal()
        self._sight = Sight()
        for queue in self._queues.values():
            queue.current = queue.quiet = False
            queue.silent_until = float("-inf")
            if queue.waiters:
                self._want(queue)

    def _want(self, queue: Queue) -> None:
        if not queue.current:
            queue.current = True
            loop = asyncio.get_running_loop()
            pause = queue.registered_at + REGISTER_PAUSE_SECONDS - loop.time()
            if pause > 0:
                loop.call_later(pause, self._enlist, queue)
            else:
                self._enlist(queue)

    def _enlist(self, queue: Queue) -> None:
        self._wanted.append(queue)
        if self._registrar is None:
            self._registrar = asyncio.get_running_loop().create_task(self._register())

    async def _register(self) -> None:
        try:
            while self._wanted:
                queues, self._wanted = self._wanted, []
                await self._register_all([queue for queue in queues if still_wanted(queue)])
        finally:
            self._registrar = None

    async def _register_all(self, queues: list[Queue]) -> None:
        if not queues:
            return
        now = asyncio.get_running_loop().time()
        for queue in queues:
            queue.registered_at = now
            queue.renew_at = now + (QUIET_RENEW_SECONDS if queue.quiet else RENEW_SECONDS)
            queue.woken = False
        arns = [queue.arn for queue in queues]
        seconds = [QUIET_GOOD_SECONDS if queue.quiet else GOOD_SECONDS for queue in queues]
        try:
            await self._call(WATCH_QUEUES, [arns, self._watcher, seconds])
            self._found(await self._call(POLL_QUEUES, [arns, None]))
        except Exception as error:  # noqa: BLE001 - long polls live by the shared look until it works again
            if not isinstance(error, AwsError):
                _log.exception("long polls could not register")
            for queue in queues:
                queue.current = False

    # --- looking -----------------------------------------------------------------------------------------------------
    async def _look(self, arns: list[str], now: float) -> None:
        """Nobody is looked for while nothing was committed and nothing is due: a thirtieth of the work."""
        sight = self._sight
        seen = sight.snapshot if sight.covers(arns, now) else None
        rows = await self._call(POLL_QUEUES, [arns, seen])
        if rows:
            _, snapshot, wait_ms = rows[-1]
            sight.set(arns, snapshot, now + wait_ms / 1000)
            self._found(rows)

    def _found(self, rows: list[Row]) -> None:
        for arn, *_ in rows[:-1]:
            self.wake(arn, 1, Woken.FOR_MORE)

    async def poll(self) -> None:
        """The look that all share, once, but for queues that register now, which is followed by a look of its own.

        Forgets queues that nobody waits for any more.
        """
        now = asyncio.get_running_loop().time()
        waited: list[str] = []
        for queue in list(self._queues.values()):
            if now < queue.renew_at and queue.current:
                if queue.waiters:
                    waited.append(queue.arn)
            elif queue.waiters:
                queue.quiet, queue.current = queue.current, False
                self._want(queue)
            else:
                del self._queues[queue.arn]
        if waited:
            await self._look(waited, now)

    async def run(self) -> None:
        """Polls each second, until it is cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self.poll()
            except AwsError:
                continue  # the database is away; whoever can say so does
            except Exception:  # noqa: BLE001 - logged; waiting goes on
                _log.exception("the shared look of long polls failed")


def still_wanted(queue: Queue) -> bool:
    """Somebody waits still; else the queue registers when the next one comes."""
    queue.current = bool(queue.waiters)
    return queue.current
