"""Chooses the mappings for which this process polls, because no other living process polls for them.

If a process's settings do not allow the process to invoke a mapping's target, the process leaves the mapping to other
processes. During a rolling change of QUEUE_LAMBDA_ENDPOINT or QUEUE_LAMBDA_FUNCTIONS, the processes with the other
settings therefore poll for that mapping.

Each process reports regularly that it is alive (`Service.claim_seconds`). When a process has not reported for
ALIVE_SECONDS, another process takes over its mappings at once. When a mapping changes or a process ends, a notification
reaches the other processes.
"""

import asyncio
import logging
from contextlib import suppress
from functools import partial
from time import time
from typing import Final
from uuid import UUID, uuid4

from penstock.environment import Environment
from penstock.errors import AwsError
from penstock.event_sources.batches import StoredMapping, read_mapping
from penstock.event_sources.errors import InvalidParameterValueException
from penstock.event_sources.invocation import Invoker
from penstock.event_sources.targets import check_target
from penstock.postgres.statements.mappings import (
    CLAIM_MAPPINGS,
    COUNT_MAPPINGS,
    READ_MAPPINGS,
    REPORT_MAPPING,
    ClaimedMappingRow,
)

from .invocation_slots import InvocationSlots
from .mapping_poller import MappingPoller
from .service import PollService

ALIVE_SECONDS: Final = 15
"""The number of seconds without a report after which a process is dead. A process reports when half of the time is
left."""
AFTER_END_SECONDS: Final = 0.1
"""The time from the end of another process's registration until this process claims the other process's mappings."""
RETRY_SECONDS: Final = 5.0
"""The pause after a failure to read the mappings. Until the pause ends, no process polls for mappings whose poller
ended."""
MAX_INVOCATIONS: Final = 200
"""The maximum number of concurrent invocations of a process."""
INVOCATION_MB: Final = 24
"""The memory of an invocation, for messages and their event with 6 MB each, partly stored twice, and a response of 6
MB."""

MAX_DECLINED: Final = 10_000
"""The maximum number of declined mappings that a process remembers. The process declines a forgotten mapping again."""

_log = logging.getLogger(__name__)


def count_most_invocations(memory_mb: int | None) -> int:
    """Returns how many concurrent invocations fit into the memory. None means MAX_INVOCATIONS."""
    if memory_mb is None:
        return MAX_INVOCATIONS
    return min(max(memory_mb // INVOCATION_MB, 1), MAX_INVOCATIONS)


class Poller:
    """Polls the event source mappings of this process. `memory_mb` is the memory for invocations, or None for enough
    memory."""

    def __init__(self, environment: Environment, service: PollService, memory_mb: int | None = None) -> None:
        self._environment = environment
        self._service = service
        self._id = uuid4()
        self._invoker = Invoker(environment.settings)
        self._slots = InvocationSlots(count_most_invocations(memory_mb))
        self._pollers: dict[UUID, MappingPoller] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._end_invocation: set[MappingPoller] = set()  # the numbers of their invocations are not all stored yet
        self._declined: dict[UUID, int] = {}  # the revisions of mappings that other processes invoke
        self._awake = asyncio.Event()
        self._is_closing = False
        self._ahead_ms = 0.0  # of the database's clock
        self._task = asyncio.get_running_loop().create_task(self._run())

    def wake(self) -> None:
        """Reads the mappings at once, because some mappings have changed."""
        self._awake.set()

    async def _run(self) -> None:
        """Follows changes of the mappings until the task is cancelled."""
        while not self._is_closing:
            self._awake.clear()
            pause = RETRY_SECONDS
            try:
                pause = await self._follow()
                await self._store_counts()
            except AwsError:
                pass  # the pool's callers report that the database cannot be reached
            except Exception:  # noqa: BLE001 - logged; the next round tries again
                _log.exception("mappings could not be read")
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._awake.wait()

    async def close(self, seconds: float) -> None:
        """Stops receiving, releases the mappings, and waits up to `seconds` for current invocations."""
        self._is_closing = True
        self._awake.set()  # a database call that ends at this moment may hide the cancellation
        self._task.cancel()
        await asyncio.wait([self._task])
        for poller in self._pollers.values():
            poller.stop()
        with suppress(AwsError):
            if self._pollers:
                await self._service.call(CLAIM_MAPPINGS, [self._id, 0, [], []])
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(poller.wait_until_ended() for poller in self._pollers.values()), *self._ending)
        for poller in self._pollers.values():
            poller.abort()
        with suppress(AwsError):
            await self._store_counts()
        await self._invoker.close()

    async def _follow(self) -> float:
        """Starts and stops pollers when mappings are created, changed and deleted. Returns the pause until the next
        call. The pause ends at the latest when another process's registration ends."""
        rows = await self._claim()
        claimed = {row.mapping_id: row.revision for row in rows if row.mapping_id is not None}
        self._ahead_ms = rows[0].now_ms - time() * 1000 if rows else 0.0
        for mapping_id, poller in list(self._pollers.items()):
            if claimed.get(mapping_id) != poller.mapping.revision or poller.is_over:
                self._end(self._pollers.pop(mapping_id))
        new = [mapping_id.bytes for mapping_id in claimed if mapping_id not in self._pollers]
        if new:
            read = [read_mapping(row.mapping) for row in await self._service.call(READ_MAPPINGS, [new])]
            for mapping in read:
                self._start(mapping)
            if any(mapping.mapping_id in self._declined for mapping in read):
                rows = await self._claim()
        if not rows:
            return self._service.idle_seconds
        next_end_ms = rows[0].next_end_ms
        seconds = self._service.claim_seconds
        return seconds if next_end_ms is None else min(seconds, next_end_ms / 1000 + AFTER_END_SECONDS)

    async def _claim(self) -> list[ClaimedMappingRow]:
        """Returns the mappings of this process. Leaves the declined mappings to other processes."""
        declined = [[mapping_id.bytes for mapping_id in self._declined], [*self._declined.values()]]
        return await self._service.call(CLAIM_MAPPINGS, [self._id, ALIVE_SECONDS, *declined])

    def _start(self, mapping: StoredMapping) -> None:
        """Starts to poll for an enabled mapping, or declines it."""
        try:
            check_target(mapping.function_arn, mapping.account_id, mapping.region, self._environment.settings)
        except InvalidParameterValueException as error:
            while len(self._declined) >= MAX_DECLINED:
                del self._declined[next(iter(self._declined))]
            self._declined[mapping.mapping_id] = mapping.revision
            extra = {"mapping": str(mapping.mapping_id), "cause": error.message}
            _log.warning("a mapping is left to other processes", extra=extra)
            return
        self._declined.pop(mapping.mapping_id, None)
        if mapping.enabled:
            self._pollers[mapping.mapping_id] = MappingPoller(
                mapping,
                self._environment,
                self._service,
                self._invoker,
                self._slots,
                partial(self._report, mapping),
                lambda: time() * 1000 + self._ahead_ms,
            )

    async def _store_counts(self) -> None:
        """Stores the numbers of invocations. If the database call fails, the next call stores the numbers."""
        counted = [
            (poller, poller.invocations, poller.failed_invocations)
            for poller in (*self._pollers.values(), *self._end_invocation)
            if poller.invocations
        ]
        if counted:
            columns = [
                [poller.mapping.mapping_id.bytes for poller, _, _ in counted],
                [invocations for _, invocations, _ in counted],
                [failed for _, _, failed in counted],
            ]
            await self._service.call(COUNT_MAPPINGS, columns)
        for poller, invocations, failed in counted:
            poller.invocations -= invocations
            poller.failed_invocations -= failed
        self._end_invocation -= {
            poller for poller in self._end_invocation if poller.has_ended and not poller.invocations
        }

    def _end(self, poller: MappingPoller) -> None:
        poller.stop()
        self._end_invocation.add(poller)
        task = asyncio.get_running_loop().create_task(poller.wait_until_ended())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _report(self, mapping: StoredMapping, result: str, reason: str | None) -> bool:
        try:
            arguments = [mapping.mapping_id, mapping.revision, result[:1024], reason]
            await self._service.call(REPORT_MAPPING, arguments)
        except AwsError:
            _log.warning("the result of a mapping was not stored", extra={"mapping": str(mapping.mapping_id)})
            return False
        return True
