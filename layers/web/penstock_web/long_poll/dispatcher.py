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
from penstock.postgres.statements import LOOK_AT_QUEUES, WATCH_QUEUES

from .timers import WaitTimers
from .waiters import LastCheck, QueueState, Waiter, WaitFuture

POLL_SECONDS = 1.0
# A registration is good for five seconds. One that has not been used in three is followed by one for a minute.
REGISTRATION_SECONDS, RENEW_SECONDS = 5, 3.0
UNUSED_REGISTRATION_SECONDS, UNUSED_RENEW_SECONDS = 60, 50.0
REGISTER_PAUSE_SECONDS = 0.02  # a busy queue registers at most 50 times a second
ASSUMED_EMPTY_SECONDS = 1.0  # as long as what time makes visible may stay unseen by those who wait
EMPTY_RECEIVE_VALID_SECONDS = 0.02  # so long an empty look at a FIFO queue is good for newcomers, too

_log = logging.getLogger(__name__)


class ExecuteStatement(Protocol):
    """Calls one SQL function."""

    def __call__(self, statement: Statement, arguments: list[Any], /) -> Awaitable[list[Row]]: ...


class LongPollDispatcher:
    """The waiting requests of a process. `execute` runs SQL functions; its failures only cost time.

    `watcher`: under which it registers. `missed_wakeups` counts what came when nobody was in line, of all queues. `receives_notifications`:
    whether notifications arrive (`listener`).
    """

    def __init__(self, execute: ExecuteStatement, watcher: UUID | None = None) -> None:
        self._execute = execute
        self._watcher = watcher or uuid4()
        self.missed_wakeups = 0
        self.receives_notifications = False
        self._queues: dict[str, QueueState] = {}
        self._to_register: list[QueueState] = []
        self._register_task: asyncio.Task[None] | None = None
        self._draining = False
        self._wake_callbacks: dict[str, Callable[[], None]] = {}
        self._last_check = LastCheck()
        self._timers = WaitTimers()
        self.next_ticket: Callable[[], int] = count().__next__

    @property
    def draining(self) -> bool:
        """Whether the process ends."""
        return self._draining

    # --- waiting -----------------------------------------------------------------------------------------------------
    def has_waiters(self, queue_arn: str) -> bool:
        """Whether somebody waits: they have looked, and will be told of what comes."""
        queue = self._queues.get(queue_arn)
        return queue is not None and bool(queue.waiters)

    def can_skip_receive(self, queue_arn: str) -> bool:
        """Whether a newcomer waits without a look, since others do already, or did so a moment ago and in vain.

        On a FIFO queue only when the last look was a moment ago: a look passes over groups that others have locked, and
        of those that another process has set free nobody is told.
        """
        queue = self._queues.get(queue_arn)
        if queue is None:
            return False
        now = asyncio.get_running_loop().time()
        if not queue_arn.endswith(".fifo"):
            return bool(queue.waiters) or now < queue.assumed_empty_until
        queue.skipped_receive = (
            bool(queue.waiters) and now - queue.last_empty_receive_at < EMPTY_RECEIVE_VALID_SECONDS
        )
        return queue.skipped_receive

    def wait(
        self,
        queue_arn: str,
        seconds: float,
        next_ticket: int,
        missed_wakeups: int | None = None,
        receive: Take | None = None,
    ) -> WaitFuture:
        """Why to look again, or what another look would find. NOT: the time is over, or the process ends.

        `missed_wakeups`: the hub's, from before the look that was empty. What came since then, that look may not have seen.
        """
        loop = asyncio.get_running_loop()
        future: WaitFuture = loop.create_future()
        if self._draining or seconds <= 0:
            future.set_result(Woken.NOT)
            return future
        queue = self._queues.get(queue_arn)
        if queue is None:
            queue = self._queues[queue_arn] = QueueState(queue_arn)
        if missed_wakeups is not None and queue.last_missed_wakeup > missed_wakeups:
            future.set_result(Woken.FOR_ONE)
            return future
        if not queue.skipped_receive:
            queue.last_empty_receive_at = loop.time()
        queue.skipped_receive = False
        waiter = Waiter(next_ticket, future, receive)
        waiter.timer = self._timers.add(seconds, waiter.time_out)
        future.add_done_callback(partial(self._remove_waiter, queue, waiter))
        insort(queue.waiters, waiter)
        self._request_registration(queue)
        return future

    def _remove_waiter(self, queue: QueueState, waiter: Waiter, future: WaitFuture) -> None:
        """However the wait ended: the waiter is not in line any more."""
        if waiter.timer is not None:
            self._timers.remove(waiter.timer, waiter.time_out)
        if waiter in queue.waiters:
            queue.waiters.remove(waiter)
        if (
            queue.registered
            and self.receives_notifications
            and not future.cancelled()
            and future.result() == Woken.NOT
        ):
            queue.assumed_empty_until = asyncio.get_running_loop().time() + ASSUMED_EMPTY_SECONDS

    def on_wake(self, name: str, callback: Callable[[], None]) -> None:
        """`callback` is called whenever `name`, which is no queue, is woken or notified."""
        self._wake_callbacks[name] = callback

    def wake(self, queue_arn: str, number: int, woken: Woken = Woken.FOR_ONE) -> None:
        """Up to `number` waiters may look again, those first who have waited longest."""
        if queue_arn in self._wake_callbacks:
            self._wake_callbacks[queue_arn]()
        queue = self._queues.get(queue_arn)
        if queue is not None:
            queue.assumed_empty_until = float("-inf")
        while queue is not None and queue.waiters and number > 0:
            queue.woken = queue.woken or woken == Woken.FOR_ONE
            number -= queue.waiters.pop(0).wake(woken)
        if queue is not None and number > 0 and woken == Woken.FOR_ONE:
            self.missed_wakeups += 1
            queue.last_missed_wakeup = self.missed_wakeups

    def claim(self, queue_arn: str, messages: int) -> list[Waiter]:
        """As many of those in line as so many messages are enough for, whose looks may share a call.

        They are out of line, and nothing but their caller answers them. Nobody of a FIFO queue.
        """
        queue = self._queues.get(queue_arn)
        if queue is None or not queue.waiters or queue_arn.endswith(".fifo"):
            return []
        claimed: list[Waiter] = []
        first = queue.waiters[0].receive
        for waiter in queue.waiters:
            receive = waiter.receive
            if (
                messages <= 0
                or receive is None
                or first is None
                or receive.visibility_seconds != first.visibility_seconds
            ):
                break
            if waiter.timer is not None:
                self._timers.remove(waiter.timer, waiter.time_out)
            claimed.append(waiter)
            messages -= receive.count
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
    def handle_notification(self, queue_arn: str) -> None:
        """A notification came: it has used up the registration.

        It comes from another process, or from here without a wake-up, such as of a publication. Nobody is woken twice:
        where a sender of this process has woken somebody, the look that follows the next registration, within 20 ms,
        finds what came.
        """
        if queue_arn in self._wake_callbacks:
            self._wake_callbacks[queue_arn]()
        queue = self._queues.get(queue_arn)
        if queue is not None:
            queue.registered = queue.previous_unused = False
            queue.assumed_empty_until = float("-inf")
            if not queue.woken:
                self.wake(queue_arn, 1, Woken.FOR_MORE)
            if queue.waiters:
                self._request_registration(queue)

    def renew_registrations(self) -> None:
        """Notifications may have been missed: register afresh for every queue, and look. The workers look, too."""
        for callback in self._wake_callbacks.values():
            callback()
        self._last_check = LastCheck()
        for queue in self._queues.values():
            queue.registered = queue.previous_unused = False
            queue.assumed_empty_until = float("-inf")
            if queue.waiters:
                self._request_registration(queue)

    def _request_registration(self, queue: QueueState) -> None:
        if not queue.registered:
            queue.registered = True
            loop = asyncio.get_running_loop()
            pause = queue.registered_at + REGISTER_PAUSE_SECONDS - loop.time()
            if pause > 0:
                loop.call_later(pause, self._schedule_registration, queue)
            else:
                self._schedule_registration(queue)

    def _schedule_registration(self, queue: QueueState) -> None:
        self._to_register.append(queue)
        if self._register_task is None:
            self._register_task = asyncio.get_running_loop().create_task(self._register())

    async def _register(self) -> None:
        try:
            while self._to_register:
                queues, self._to_register = self._to_register, []
                await self._register_batch([queue for queue in queues if still_has_waiters(queue)])
        finally:
            self._register_task = None

    async def _register_batch(self, queues: list[QueueState]) -> None:
        if not queues:
            return
        now = asyncio.get_running_loop().time()
        for queue in queues:
            queue.registered_at = now
            queue.renew_at = now + (UNUSED_RENEW_SECONDS if queue.previous_unused else RENEW_SECONDS)
            queue.woken = False
        arns = [queue.arn for queue in queues]
        seconds = [
            UNUSED_REGISTRATION_SECONDS if queue.previous_unused else REGISTRATION_SECONDS for queue in queues
        ]
        try:
            await self._execute(WATCH_QUEUES, [arns, self._watcher, seconds])
            self._wake_found(await self._execute(LOOK_AT_QUEUES, [arns, None]))
        except Exception as error:  # noqa: BLE001 - long polls live by the shared look until it works again
            if not isinstance(error, AwsError):
                _log.exception("long polls could not register")
            for queue in queues:
                queue.registered = False

    # --- looking -----------------------------------------------------------------------------------------------------
    async def _check_queues(self, arns: list[str], now: float) -> None:
        """Nobody is looked for while nothing was committed and nothing is due: a thirtieth of the work."""
        last_check = self._last_check
        known_snapshot = last_check.snapshot if last_check.covers(arns, now) else None
        rows = await self._execute(LOOK_AT_QUEUES, [arns, known_snapshot])
        if rows:
            _, snapshot, wait_ms = rows[-1]
            last_check.update(arns, snapshot, now + wait_ms / 1000)
            self._wake_found(rows)

    def _wake_found(self, rows: list[Row]) -> None:
        for arn, *_ in rows[:-1]:
            self.wake(arn, 1, Woken.FOR_MORE)

    async def poll(self) -> None:
        """The look that all share, once, but for queues that register now, which is followed by a look of its own.

        Forgets queues that nobody waits for any more.
        """
        now = asyncio.get_running_loop().time()
        arns_with_waiters: list[str] = []
        for queue in list(self._queues.values()):
            if now < queue.renew_at and queue.registered:
                if queue.waiters:
                    arns_with_waiters.append(queue.arn)
            elif queue.waiters:
                queue.previous_unused, queue.registered = queue.registered, False
                self._request_registration(queue)
            else:
                del self._queues[queue.arn]
        if arns_with_waiters:
            await self._check_queues(arns_with_waiters, now)

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


def still_has_waiters(queue: QueueState) -> bool:
    """Somebody waits still; else the queue registers when the next one comes."""
    queue.registered = bool(queue.waiters)
    return queue.registered
