"""Registers the queues of waiting requests, so that other processes notify this process. See `dispatcher`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

from penstock.errors import AwsError
from penstock.postgres.statements.long_polls import WATCH_QUEUES
from penstock_web.database.calls import ExecuteStatement

from .waiters import WaitedQueue

# A registration lasts five seconds. If no notification uses the registration within three seconds, the next
# registration lasts a minute.
REGISTRATION_SECONDS, RENEW_SECONDS = 5, 3.0
UNUSED_REGISTRATION_SECONDS, UNUSED_RENEW_SECONDS = 60, 50.0
# The process renews unused registrations at multiples of RENEW_TOGETHER_SECONDS, so that one statement renews many
# registrations. Each commit makes the next shared check examine every queue.
RENEW_TOGETHER_SECONDS = 50.0
REGISTER_PAUSE_SECONDS = 0.02  # The process registers a busy queue at most 50 times a second.

_log = logging.getLogger(__name__)


class Registrations:
    """Manages the process's registrations. `check_new` checks queues once after the queues' registration.

    `looks_at_each` means that the next shared check must examine each queue, because requests have begun to wait or
    registrations have failed. `renew_at` is the time of the next registration.
    """

    def __init__(
        self, execute: ExecuteStatement, watcher: UUID, check_new: Callable[[list[WaitedQueue]], Awaitable[None]]
    ) -> None:
        self._execute = execute
        self._watcher = watcher
        self._check_new = check_new
        self._to_register: list[WaitedQueue] = []
        self._register_task: asyncio.Task[None] | None = None
        self.looks_at_each = True
        self.renew_at = float("-inf")

    def note_wait(self, queue: WaitedQueue) -> None:
        """Registers the queue of a waiting request."""
        self.looks_at_each = True
        if not queue.registered:
            self._request(queue)

    def replace(self, queue: WaitedQueue) -> None:
        """Registers a queue again after an actual or possible notification."""
        queue.registered = queue.previous_unused = False
        queue.assumed_empty_until = float("-inf")
        if queue.waiters:
            self._request(queue)

    def renew(self, queues: dict[str, WaitedQueue], now: float) -> list[str]:
        """Renews registrations that end soon, and removes queues without waiters.

        Returns all other queues that have waiting requests or for which `can_skip_receive` holds.
        """
        self.looks_at_each, self.renew_at = False, float("inf")
        arns: list[str] = []
        for queue in list(queues.values()):
            if now < queue.renew_at and queue.registered:
                self.renew_at = min(self.renew_at, queue.renew_at)
                if queue.waiters or now < queue.assumed_empty_until:
                    arns.append(queue.resolved.arn)
            elif queue.waiters:
                queue.previous_unused, queue.registered = queue.registered, False
                self._request(queue)
            else:
                del queues[queue.resolved.arn]
        return arns

    def _request(self, queue: WaitedQueue) -> None:
        queue.registered = True
        loop = asyncio.get_running_loop()
        pause = queue.registered_at + REGISTER_PAUSE_SECONDS - loop.time()
        if pause > 0:
            loop.call_later(pause, self._schedule, queue)
        else:
            self._schedule(queue)

    def _schedule(self, queue: WaitedQueue) -> None:
        self._to_register.append(queue)
        if self._register_task is None:
            self._register_task = asyncio.get_running_loop().create_task(self._register())

    async def _register(self) -> None:
        try:
            while self._to_register:
                queues, self._to_register = self._to_register, []
                for queue in queues:
                    # The process registers a queue without waiters when the next request waits.
                    queue.registered = bool(queue.waiters)
                await self._register_batch([queue for queue in queues if queue.registered])
        finally:
            self._register_task = None

    async def _register_batch(self, queues: list[WaitedQueue]) -> None:
        if not queues:
            return
        now = asyncio.get_running_loop().time()
        for queue in queues:
            queue.registered_at = now
            queue.renew_at = now + RENEW_SECONDS
            if queue.previous_unused:
                queue.renew_at = (now + UNUSED_RENEW_SECONDS) // RENEW_TOGETHER_SECONDS * RENEW_TOGETHER_SECONDS
            self.renew_at = min(self.renew_at, queue.renew_at)
            queue.woken_locally = False
        arns = [queue.resolved.arn for queue in queues]
        seconds = [UNUSED_REGISTRATION_SECONDS if queue.previous_unused else REGISTRATION_SECONDS for queue in queues]
        try:
            await self._execute(WATCH_QUEUES, [arns, self._watcher, seconds])
            await self._check_new(queues)
        except Exception as error:  # noqa: BLE001 - long polls depend on the shared check until it works again
            if not isinstance(error, AwsError):
                _log.exception("long polls could not register")
            for queue in queues:
                queue.registered = False
            self.looks_at_each = True
