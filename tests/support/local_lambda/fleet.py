"""Runs each invocation in an idle execution environment of the function, or starts another within the concurrency
limits.

As on Lambda, an environment serves one invocation at a time, and the fleet refuses an invocation while all environments
are busy. Reserved concurrency limits a function's environments. All other functions share the account's concurrency
("Understanding Lambda function scaling", https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html). Unlike
Lambda, the fleet does not subtract reserved concurrency from the account's concurrency.

Also invokes the scheduled functions, like EventBridge Scheduler. The fleet only logs a failed invocation.
"""

import asyncio
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.local_lambda.environment import ExecutionEnvironment, RuntimeApi
from tests.support.local_lambda.front import Invoke
from tests.support.local_lambda.limits import (
    INVOCATION_BYTES,
    InvocationError,
    RequestTooLargeError,
    TooManyRequestsError,
)
from tests.support.local_lambda.template import Function, Schedule

SHARED = ""


class Fleet:
    """Runs all execution environments of a stack.

    `max_concurrency` is the account's concurrency. The number of processes may be twice as high. An environment ends
    after `recycle_after` invocations, or never if `recycle_after` is 0. Lambda replaces environments every few hours
    ("Understanding the Lambda execution environment lifecycle").
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        runtime_api: RuntimeApi,
        address: str,
        python: Path,
        max_concurrency: int,
        recycle_after: int = 0,
    ) -> None:
        self._functions = functions
        self._runtime_api = runtime_api
        self._address = address
        self._python = python
        self._numbers = count(1)
        self._max_concurrency = max_concurrency
        self._recycle_after = recycle_after
        self._running: Counter[str] = Counter()
        self._idle: dict[str, list[ExecutionEnvironment]] = defaultdict(list)

    async def invoke(self, name: str, event: Mapping[str, Any]) -> bytes:
        """Returns the function's result as JSON. Raises InvocationError, and KeyError for an unknown function."""
        function = self._functions[name]
        payload = json.dumps(event, ensure_ascii=False).encode()
        if len(payload) > INVOCATION_BYTES:
            raise RequestTooLargeError(f"{name}: the event has {len(payload)} bytes")
        with self._counted(function):
            environment = await self._acquire(function)
            try:
                return await environment.invoke(payload)
            finally:
                await self._release(environment)

    @property
    def environments(self) -> list[ExecutionEnvironment]:
        """Returns all environments, busy or idle."""
        return list(self._runtime_api.environments.values())

    async def stop_idle(self, name: str) -> None:
        """Ends a function's idle environments, as Lambda does after some minutes. The next invocation is a cold
        start.
        """
        while self._idle[name]:
            await self._end(self._idle[name].pop())

    async def close(self) -> None:
        await asyncio.gather(*(environment.stop() for environment in self.environments))
        self._runtime_api.environments.clear()

    @contextmanager
    def _counted(self, function: Function) -> Iterator[None]:
        """Counts an invocation during its run. Raises TooManyRequestsError."""
        reserved = function.reserved_concurrency
        share, limit = (SHARED, self._max_concurrency) if reserved is None else (function.name, reserved)
        if self._running[share] >= limit:
            raise TooManyRequestsError(f"{function.name}: {limit} invocations are under way")
        self._running[share] += 1
        try:
            yield
        finally:
            self._running[share] -= 1

    async def _acquire(self, function: Function) -> ExecutionEnvironment:
        idle = self._idle[function.name]
        while idle:
            environment = idle.pop()
            if environment.is_alive:
                return environment
            self._unregister(environment)
        await self._evict_idle()
        environment = ExecutionEnvironment(function, next(self._numbers), self._address, self._python)
        self._runtime_api.environments[environment.number] = environment
        await environment.start()
        return environment

    async def _release(self, environment: ExecutionEnvironment) -> None:
        if environment.is_alive and not 0 < self._recycle_after <= environment.invocations:
            self._idle[environment.function.name].append(environment)
        else:
            await self._end(environment)

    async def _evict_idle(self) -> None:
        """Ends the oldest idle processes while the number of processes is at its limit."""
        while len(self._runtime_api.environments) >= 2 * self._max_concurrency:
            idle = [environment for each in self._idle.values() for environment in each]
            if not idle:
                return
            oldest = min(idle, key=lambda environment: environment.number)
            self._idle[oldest.function.name].remove(oldest)
            await self._end(oldest)

    async def _end(self, environment: ExecutionEnvironment) -> None:
        await environment.stop()
        self._unregister(environment)

    def _unregister(self, environment: ExecutionEnvironment) -> None:
        self._runtime_api.environments.pop(environment.number, None)


_log = logging.getLogger(__name__)


async def run_schedules(schedules: Sequence[Schedule], invoke: Invoke, pause_seconds: float | None = None) -> None:
    """Invokes the scheduled functions until cancellation.

    With `pause_seconds`, each invocation starts that number of seconds after the end of the previous invocation,
    regardless of the schedule's rate.
    """
    async with asyncio.TaskGroup() as tasks:
        for schedule in schedules:
            work = (
                invoke_at_rate(schedule, invoke)
                if pause_seconds is None
                else invoke_with_pauses(schedule, invoke, pause_seconds)
            )
            tasks.create_task(work)


async def invoke_at_rate(schedule: Schedule, invoke: Invoke) -> None:
    """Invokes the function immediately, and then at the schedule's rate, even if an invocation takes longer."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    async with asyncio.TaskGroup() as tasks:
        while True:
            tasks.create_task(invoke_once(schedule, invoke))
            due += schedule.seconds
            await asyncio.sleep(due - loop.time())


async def invoke_with_pauses(schedule: Schedule, invoke: Invoke, pause_seconds: float) -> None:
    """Invokes the function again `pause_seconds` after the end of each invocation."""
    while True:
        await invoke_once(schedule, invoke)
        await asyncio.sleep(pause_seconds)


async def invoke_once(schedule: Schedule, invoke: Invoke) -> None:
    try:
        await invoke(schedule.function, {})
    except InvocationError as error:
        _log.error("%s: %s", schedule.function, error)
