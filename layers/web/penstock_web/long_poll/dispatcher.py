"""Runs the long polls of a process. Each waiting request costs a future, but no connection, no task and no timer.

A request waits until one of these events serves or wakes it:

    claim   a send in this process receives for the waiters that it claims (`direct_handoff`)
    wake    another event in this process wakes waiters at once
    NOTIFY  another process notifies this one (one LISTEN connection a process)
    check   the shared check of all queues with waiters, each second and at the moment for which a check has found that
            a delay or a visibility timeout ends: also changes without a notification, and lost notifications

A sender notifies only registered queues, because NOTIFY takes a database-wide lock at commit. The dispatcher therefore
registers the queue of a waiter, and checks the queue once after that registration has committed. This check finds a
message that was sent between the waiter's empty receive and the registration.

One message sent in this process wakes one waiter. If it was sent on a connection that names this dispatcher as
`watcher` (`pipeline_pool`), it does not notify this process and keeps its registration. If a message arrives while its
queue has no waiters, a request whose empty receive was under way receives again instead of waiting. Notifications and
checks do not say how many messages there are, so they wake one waiter. A waiter that finds messages wakes two others.
"""

import asyncio
import logging
from bisect import insort
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from uuid import UUID, uuid4

from penstock.aws.arn import ResolvedQueue
from penstock.effects import Receive, Woken
from penstock.errors import AwsError
from penstock.postgres.statements.long_polls import POLL_QUEUES, WATCH_QUEUES, PolledQueueRow
from penstock.postgres.statements.messages import ReceivedRow
from penstock_web.database.calls import ExecuteStatement

from .timers import WaitTimers
from .waiters import LastCheck, WaitedQueue, Waiter, WaitFuture

POLL_SECONDS = 1.0
# A registration lasts five seconds. If no notification used it within three, the next one lasts a minute.
REGISTRATION_SECONDS, RENEW_SECONDS = 5, 3.0
UNUSED_REGISTRATION_SECONDS, UNUSED_RENEW_SECONDS = 60, 50.0
# The dispatcher renews unused registrations at multiples of this time, many in one statement, because each commit makes
# the next shared check look at every queue.
RENEW_TOGETHER_SECONDS = 50.0
REGISTER_PAUSE_SECONDS = 0.02  # A busy queue registers at most 50 times a second.
MANY_QUEUES = 100  # The check looks at this many queues in each second in which something was committed.
# For more queues the check takes a hundredth of the time, unless a notification arrives or a message becomes visible by
# time.
CHECK_PAUSE_FACTOR, LONGEST_CHECK_PAUSE_SECONDS = 100, 10.0
ASSUMED_EMPTY_SECONDS = 1.0  # The shared check finds messages that become visible by time at most this late.
# For this time a new request relies on another request's empty receive of a FIFO queue.
EMPTY_RECEIVE_VALID_SECONDS = 0.02

_log = logging.getLogger(__name__)


class LongPollDispatcher:
    """Holds the waiting requests of a process. `execute` runs SQL functions. If it fails, waiters are woken later.

    `watcher` is the id under which the dispatcher registers queues. `missed_wakeups` counts the wake-ups that found too
    few waiters, over all queues. `receives_notifications` says whether notifications arrive (`listener`).
    """

    def __init__(self, execute: ExecuteStatement, watcher: UUID | None = None) -> None:
        self._execute = execute
        self._watcher = watcher or uuid4()
        self.missed_wakeups = 0
        self.receives_notifications = False
        self._queues: dict[str, WaitedQueue] = {}
        self._to_register: list[WaitedQueue] = []
        self._register_task: asyncio.Task[None] | None = None
        self._draining = False
        self._wake_callbacks: dict[str, Callable[[], None]] = {}
        self._last_check = LastCheck()
        # This says whether the next shared check looks at each queue, because requests have begun to wait or
        # registrations have failed. The check also does so when the first of them is due for registration again.
        self._looks_at_each = True
        self._renew_at = self._next_check_at = float("-inf")
        self._check_now = asyncio.Event()
        self._due_timer: asyncio.TimerHandle | None = None
        self._timers = WaitTimers()
        self.next_ticket: Callable[[], int] = count().__next__

    @property
    def draining(self) -> bool:
        """Returns whether the process is shutting down."""
        return self._draining

    # --- waiting -----------------------------------------------------------------------------------------------------
    def can_skip_receive(self, queue: ResolvedQueue) -> bool:
        """Returns whether a new request may wait without a receive, because the queue is known to be empty.

        The queue is known to be empty if other requests wait, and for a moment after a request waited until its time
        was over or got everything that had been sent. On a FIFO queue only a recent empty receive counts. A receive
        passes over message groups that others have locked, and nothing notifies this process when another process
        unlocks them.
        """
        state = self._queues.get(queue.arn)
        if state is None:
            return False
        now = asyncio.get_running_loop().time()
        if not queue.is_fifo:
            return bool(state.waiters) or now < state.assumed_empty_until
        return bool(state.waiters) and now - state.last_empty_receive_at < EMPTY_RECEIVE_VALID_SECONDS

    def wait(
        self,
        resolved: ResolvedQueue,
        seconds: float,
        ticket: int,
        missed_wakeups: int | None = None,
        receive: Receive[ReceivedRow] | None = None,
        skipped_receive: bool = False,
    ) -> WaitFuture:
        """Returns a future of the reason why the wait ended, or of the rows that a receive returned for the waiter.

        The reason NOT says that the time is over, or that the process is shutting down. `missed_wakeups` is the
        dispatcher's value from before the request's empty receive, which may have overlooked messages sent since then.
        `skipped_receive` says that the request has made no receive (`can_skip_receive`).
        """
        loop = asyncio.get_running_loop()
        future: WaitFuture = loop.create_future()
        if self._draining or seconds <= 0:
            future.set_result(Woken.NOT)
            return future
        queue = self._queues.get(resolved.arn)
        if queue is None:
            queue = self._queues[resolved.arn] = WaitedQueue(resolved)
        if missed_wakeups is not None and queue.last_missed_wakeup > missed_wakeups:
            future.set_result(Woken.FOR_ONE)
            return future
        if not skipped_receive:
            queue.last_empty_receive_at = loop.time()
        waiter = Waiter(ticket, future, receive)
        waiter.timer = self._timers.add(seconds, waiter.time_out)
        future.add_done_callback(partial(self._remove_waiter, queue, waiter))
        insort(queue.waiters, waiter)
        self._looks_at_each = True
        self._request_registration(queue)
        return future

    def _remove_waiter(self, queue: WaitedQueue, waiter: Waiter, future: WaitFuture) -> None:
        """Removes a waiter, however its wait ended."""
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

    def assume_empty(self, queue_arn: str, missed_wakeups: int) -> None:
        """Notes that waiters got all messages that were sent, so that the next request may wait at once.

        `missed_wakeups` is the dispatcher's value from before the messages were sent. Others may have arrived since.
        """
        queue = self._queues.get(queue_arn)
        if (
            queue is not None
            and queue.registered
            and self.receives_notifications
            and queue.last_missed_wakeup <= missed_wakeups
        ):
            queue.assumed_empty_until = asyncio.get_running_loop().time() + ASSUMED_EMPTY_SECONDS

    def on_wake(self, name: str, callback: Callable[[], None]) -> None:
        """Calls `callback` at each wake-up or notification of `name`, which is not a queue."""
        self._wake_callbacks[name] = callback

    def wake(self, queue_arn: str, number: int, woken: Woken = Woken.FOR_ONE) -> None:
        """Wakes up to `number` waiters, the longest waiting first."""
        if queue_arn in self._wake_callbacks:
            self._wake_callbacks[queue_arn]()
        queue = self._queues.get(queue_arn)
        if queue is not None:
            self._wake(queue, number, woken)

    def wake_waiters(self, queue: ResolvedQueue, number: int, woken: Woken = Woken.FOR_ONE) -> None:
        """Does the same for a queue that a request has waited for."""
        state = self._queues.get(queue.arn)
        if state is not None:
            self._wake(state, number, woken)

    def _wake(self, queue: WaitedQueue, number: int, woken: Woken) -> None:
        queue.assumed_empty_until = float("-inf")
        while queue.waiters and number > 0:
            queue.woken_locally = queue.woken_locally or woken == Woken.FOR_ONE
            number -= queue.waiters.pop(0).wake(woken)
        if number > 0 and woken == Woken.FOR_ONE:
            self.missed_wakeups += 1
            queue.last_missed_wakeup = self.missed_wakeups

    def claim(self, queue_arn: str, messages: int) -> list[Waiter]:
        """Removes and returns the first waiters whose receives may share a call, enough for this many messages.

        Only the caller may serve or wake them. The method returns no waiters of a FIFO queue.
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
                or receive.limit != first.limit
            ):
                break
            if waiter.timer is not None:
                self._timers.remove(waiter.timer, waiter.time_out)
            claimed.append(waiter)
            messages -= receive.count
        del queue.waiters[: len(claimed)]
        queue.woken_locally = queue.woken_locally or bool(claimed)
        return claimed

    def drain(self) -> None:
        """Ends every wait, and each wait that begins from now on."""
        self._draining = True
        for queue in self._queues.values():
            for waiter in list(queue.waiters):
                waiter.wake(Woken.NOT)

    # --- registering -------------------------------------------------------------------------------------------------
    def handle_notification(self, queue_arn: str) -> None:
        """Wakes a waiter after a notification. The notification has used up the registration.

        The notification comes from another process, or from a call of this process without a wake-up, such as a
        publication. A message must not wake two waiters. If a sender of this process has woken one since the
        registration, this method wakes none, and the check after the next registration, within 20 ms, finds the rest.
        """
        if queue_arn in self._wake_callbacks:
            self._wake_callbacks[queue_arn]()
        queue = self._queues.get(queue_arn)
        if queue is not None:
            queue.registered = queue.previous_unused = False
            queue.assumed_empty_until = float("-inf")
            if not queue.woken_locally:
                self._wake(queue, 1, Woken.FOR_MORE)
            if queue.waiters:
                self._request_registration(queue)

    def renew_registrations(self) -> None:
        """Registers every queue again and checks it, because notifications may have been lost. Also wakes the
        workers."""
        self.wake_workers()
        self._last_check = LastCheck()
        for queue in self._queues.values():
            queue.registered = queue.previous_unused = False
            queue.assumed_empty_until = float("-inf")
            if queue.waiters:
                self._request_registration(queue)

    def wake_workers(self) -> None:
        """Wakes every worker that waits for a notification, because some may have been lost or none arrive from now
        on."""
        for callback in self._wake_callbacks.values():
            callback()

    def _request_registration(self, queue: WaitedQueue) -> None:
        if not queue.registered:
            queue.registered = True
            loop = asyncio.get_running_loop()
            pause = queue.registered_at + REGISTER_PAUSE_SECONDS - loop.time()
            if pause > 0:
                loop.call_later(pause, self._schedule_registration, queue)
            else:
                self._schedule_registration(queue)

    def _schedule_registration(self, queue: WaitedQueue) -> None:
        self._to_register.append(queue)
        if self._register_task is None:
            self._register_task = asyncio.get_running_loop().create_task(self._register())

    async def _register(self) -> None:
        try:
            while self._to_register:
                queues, self._to_register = self._to_register, []
                for queue in queues:
                    queue.registered = bool(
                        queue.waiters
                    )  # Otherwise the queue registers when the next request waits.
                await self._register_batch([queue for queue in queues if queue.registered])
        finally:
            self._register_task = None

    async def _register_batch(self, queues: list[WaitedQueue]) -> None:
        if not queues:
            return
        now = asyncio.get_running_loop().time()
        for queue in queues:
            queue.registered_at = now
            queue.renew_at = _renew_at(now, unused=queue.previous_unused)
            self._renew_at = min(self._renew_at, queue.renew_at)
            queue.woken_locally = False
        arns = [queue.resolved.arn for queue in queues]
        seconds = [
            UNUSED_REGISTRATION_SECONDS if queue.previous_unused else REGISTRATION_SECONDS for queue in queues
        ]
        try:
            await self._execute(WATCH_QUEUES, [arns, self._watcher, seconds])
            # The other queues were registered all the time, so no message can have been overlooked.
            if new := [queue.resolved.arn for queue in queues if not queue.previous_unused]:
                rows = await self._execute(POLL_QUEUES, [new, None])
                self._wake_found(rows)
                self._check_when_due(rows)
        except Exception as error:  # noqa: BLE001 - long polls depend on the shared check until it works again
            if not isinstance(error, AwsError):
                _log.exception("long polls could not register")
            for queue in queues:
                queue.registered = False
            self._looks_at_each = True

    # --- checking ----------------------------------------------------------------------------------------------------
    async def _check(self, arns: list[str], now: float, *, is_due: bool) -> None:
        try:
            if arns and (is_due or not self._may_pause(now)):
                await self._check_queues(arns, now)
            elif others := [arn for arn in arns if arn not in self._last_check.arns]:
                await self._check_others(others, now)
        except BaseException:
            self._looks_at_each = True  # The next check has to name the queues whose wait has just begun.
            raise

    async def _check_queues(self, arns: list[str], now: float) -> None:
        """Wakes waiters of queues that have messages.

        With a known snapshot, the SQL function returns at once if nothing was committed and nothing became visible by
        time. That takes a thirtieth of the work.
        """
        last_check = self._last_check
        known_snapshot = last_check.snapshot if last_check.covers(arns, now) else None
        rows = await self._execute(POLL_QUEUES, [arns, known_snapshot])
        if rows:
            self._next_check_at = self._end_of_pause(arns, now)
            last_check.update(arns, rows, now)
            self._wake_found(rows)
            self._check_when_due(rows)

    async def _check_others(self, arns: list[str], now: float) -> None:
        """Does the same for queues that the last check left out because no request waited there. They are registered
        already, but it is unknown which messages become visible by time."""
        rows = await self._execute(POLL_QUEUES, [arns, None])
        self._last_check.add(arns, rows, now)
        self._wake_found(rows)
        self._check_when_due(rows)

    def _wake_found(self, rows: list[PolledQueueRow]) -> None:
        for row in rows:
            if row.arn is not None:  # The last row is about all of them.
                self.wake(row.arn, 1, Woken.FOR_MORE)

    def _check_when_due(self, rows: list[PolledQueueRow]) -> None:
        """Checks at the moment at which a message becomes visible.

        It does not check if a message is visible already, because the woken request may have to leave it to another
        one.
        """
        wait_ms = rows[-1].wait_ms if rows else None
        if not wait_ms:
            return
        loop = asyncio.get_running_loop()
        due_at = (
            loop.time() + (wait_ms + 1) / 1000
        )  # The check is not before the time that the last check covers.
        if self._due_timer is not None and loop.time() < self._due_timer.when() <= due_at:
            return
        if self._due_timer is not None:
            self._due_timer.cancel()
        self._due_timer = loop.call_at(due_at, self._check_now.set)

    def _end_of_pause(self, arns: list[str], began_at: float) -> float:
        """Returns when the next check may run, after a check of these queues that has just ended."""
        if len(arns) <= MANY_QUEUES:
            return float("-inf")
        ended_at = asyncio.get_running_loop().time()
        return ended_at + min(CHECK_PAUSE_FACTOR * (ended_at - began_at), LONGEST_CHECK_PAUSE_SECONDS)

    def _may_pause(self, now: float) -> bool:
        """Returns whether notifications report the changes since the last check, so that the next check may be
        later."""
        return self.receives_notifications and now < min(self._next_check_at, self._last_check.until)

    async def _is_unchanged(self, now: float) -> bool:
        """Returns whether the last check of thousands of queues is still valid and no queue is due for registration."""
        few = len(self._queues) <= MANY_QUEUES
        if few or self._looks_at_each or now >= min(self._last_check.until, self._renew_at):
            return False
        return self._may_pause(now) or not await self._execute(POLL_QUEUES, [[], self._last_check.snapshot])

    async def poll(self, *, is_due: bool = False) -> None:
        """Runs the shared check once, without queues that register now. It then checks the queues that were not
        registered before. The next check covers the others.

        `is_due` says that a message becomes visible by time. The method forgets queues that have no waiters any more.
        """
        now = asyncio.get_running_loop().time()
        if not is_due and await self._is_unchanged(now):
            return
        self._looks_at_each, self._renew_at = False, float("inf")
        arns: list[str] = []
        for queue in list(self._queues.values()):
            if now < queue.renew_at and queue.registered:
                self._renew_at = min(self._renew_at, queue.renew_at)
                if queue.waiters or now < queue.assumed_empty_until:
                    arns.append(queue.resolved.arn)
            elif queue.waiters:
                queue.previous_unused, queue.registered = queue.registered, False
                self._request_registration(queue)
            else:
                del self._queues[queue.resolved.arn]
        await self._check(arns, now, is_due=is_due)

    async def run(self) -> None:
        """Runs the shared check each second, and when a message becomes visible by time, until it is cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._check_now.wait()
            is_due = self._check_now.is_set()
            self._check_now.clear()
            try:
                await self.poll(is_due=is_due)
            except AwsError:
                continue  # The database cannot be reached, and the callers of the pool report it.
            except Exception:  # noqa: BLE001 - logged; long polls go on
                _log.exception("the shared check of long polls failed")


def _renew_at(now: float, *, unused: bool) -> float:
    """Returns when a registration made now is renewed. `unused` says that no notification used the previous one."""
    if not unused:
        return now + RENEW_SECONDS
    return (now + UNUSED_RENEW_SECONDS) // RENEW_TOGETHER_SECONDS * RENEW_TOGETHER_SECONDS
