"""Checks all queues with waiting requests. See `dispatcher`."""

import asyncio
import logging
from contextlib import suppress
from typing import Protocol
from uuid import UUID

from penstock.effects import Woken
from penstock.errors import AwsError
from penstock.postgres.statements.long_polls import POLL_QUEUES, PolledQueueRow
from penstock_web.database.calls import ExecuteStatement

from .registrations import Registrations
from .waiters import LastCheck, WaitedQueue

POLL_SECONDS = 1.0
MANY_QUEUES = 100  # If there was a commit, the check examines up to MANY_QUEUES queues every second.
# If more than MANY_QUEUES queues have waiters, checks take at most a hundredth of the time, unless a notification
# arrives, or a delay or visibility timeout ends.
CHECK_PAUSE_FACTOR, MAX_CHECK_PAUSE_SECONDS = 100, 10.0

_log = logging.getLogger(__name__)


class WaitingRequests(Protocol):
    """Declares the methods of the dispatcher that wake requests."""

    receives_notifications: bool

    def wake(self, queue_arn: str, number: int, woken: Woken = ..., /) -> None: ...


class SharedCheck:
    """Checks `queues` each second, and when a delay or visibility timeout ends."""

    def __init__(
        self, execute: ExecuteStatement, watcher: UUID, queues: dict[str, WaitedQueue], requests: WaitingRequests
    ) -> None:
        self._execute = execute
        self._queues = queues
        self._requests = requests
        self.registrations = Registrations(execute, watcher, self._check_new)
        self._last_check = LastCheck()
        self._next_check_at = float("-inf")
        self._check_now = asyncio.Event()
        self._due_timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Until cancelled, runs the shared check each second, and when a delay or visibility timeout ends."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._check_now.wait()
            is_due = self._check_now.is_set()
            self._check_now.clear()
            try:
                await self.poll(is_due=is_due)
            except AwsError:
                continue  # The database cannot be reached, and other callers of the pool report the outage.
            except Exception:  # noqa: BLE001 - logged; long polls go on
                _log.exception("the shared check of long polls failed")

    async def poll(self, *, is_due: bool = False) -> None:
        """Runs the shared check once, without the queues that are about to be registered. The process checks those
        queues after the registration. The next shared check covers all other queues.

        `is_due` means that a delay or visibility timeout has ended. The method also removes queues without waiters.
        """
        now = asyncio.get_running_loop().time()
        if not is_due and await self._is_unchanged(now):
            return
        arns = self.registrations.renew(self._queues, now)
        await self._check(arns, now, is_due=is_due)

    def forget_last_check(self) -> None:
        """Makes the next check examine every queue, because notifications could have been lost."""
        self._last_check = LastCheck()

    async def _is_unchanged(self, now: float) -> bool:
        """Returns whether the last check of more than MANY_QUEUES queues is still valid and no registration is due."""
        few = len(self._queues) <= MANY_QUEUES
        registrations = self.registrations
        if few or registrations.looks_at_each or now >= min(self._last_check.until, registrations.renew_at):
            return False
        return self._may_pause(now) or not await self._execute(POLL_QUEUES, [[], self._last_check.snapshot])

    def _may_pause(self, now: float) -> bool:
        """Returns whether notifications report all changes since the last check, so that the next check can run
        later."""
        until = min(self._next_check_at, self._last_check.until)
        return self._requests.receives_notifications and now < until

    async def _check(self, arns: list[str], now: float, *, is_due: bool) -> None:
        try:
            if arns and (is_due or not self._may_pause(now)):
                await self._check_queues(arns, now)
            elif others := [arn for arn in arns if arn not in self._last_check.arns]:
                await self._check_others(others, now)
        except BaseException:
            # The next check must include the queues with new waiters.
            self.registrations.looks_at_each = True
            raise

    async def _check_queues(self, arns: list[str], now: float) -> None:
        """Wakes waiters of queues that have messages.

        If the snapshot is known, the SQL function returns immediately unless there was a commit or a message became
        visible. A check that returns immediately needs a thirtieth of the work.
        """
        last_check = self._last_check
        known_snapshot = last_check.snapshot if last_check.covers(arns, now) else None
        rows = await self._execute(POLL_QUEUES, [arns, known_snapshot])
        if rows:
            self._next_check_at = self._end_of_pause(arns, now)
            last_check.update(arns, rows, now)
            self._handle_rows(rows)

    async def _check_others(self, arns: list[str], now: float) -> None:
        """Checks queues that had no waiters at the last check. The queues are already registered, but the check must
        still find out when the queues' next messages become visible.
        """
        rows = await self._execute(POLL_QUEUES, [arns, None])
        self._last_check.add(arns, rows, now)
        self._handle_rows(rows)

    async def _check_new(self, queues: list[WaitedQueue]) -> None:
        """Checks newly registered queues, regardless of the last check's result. The check skips queues whose
        registration has never lapsed, because a sender notifies this process of each message.
        """
        if arns := [queue.resolved.arn for queue in queues if not queue.previous_unused]:
            self._handle_rows(await self._execute(POLL_QUEUES, [arns, None]))

    def _handle_rows(self, rows: list[PolledQueueRow]) -> None:
        """Wakes a waiter of each queue that has messages, and checks again when a message becomes visible."""
        for row in rows:
            if row.arn is not None:  # The last row describes all queues together.
                self._requests.wake(row.arn, 1, Woken.FOR_MORE)
        self._check_when_due(rows)

    def _check_when_due(self, rows: list[PolledQueueRow]) -> None:
        """Schedules a check for the time when a message becomes visible.

        Schedules no check if a message is already visible, because the woken request may have to leave this message to
        another request.
        """
        wait_ms = rows[-1].wait_ms if rows else None
        if not wait_ms:
            return
        loop = asyncio.get_running_loop()
        # The next check must run after the time at which the message becomes visible.
        due_at = loop.time() + (wait_ms + 1) / 1000
        if self._due_timer is not None and loop.time() < self._due_timer.when() <= due_at:
            return
        if self._due_timer is not None:
            self._due_timer.cancel()
        self._due_timer = loop.call_at(due_at, self._check_now.set)

    def _end_of_pause(self, arns: list[str], began_at: float) -> float:
        """Returns the earliest time of the next check, after a check of these queues."""
        if len(arns) <= MANY_QUEUES:
            return float("-inf")
        ended_at = asyncio.get_running_loop().time()
        return ended_at + min(CHECK_PAUSE_FACTOR * (ended_at - began_at), MAX_CHECK_PAUSE_SECONDS)
