"""Runs each invocation in an idle environment of the function, else in a new one, within the limits of concurrency.

As on Lambda, an environment answers one invocation at a time, functions with reserved concurrency have so many
environments at most, and the others share the account's concurrency. Unlike on Lambda, an invocation waits while all
environments are busy, instead of being refused.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from .environment import ExecutionEnvironment
from .runtime_api import RuntimeApi
from .template import Function


class Fleet:
    """All environments of a stack. `max_concurrency`: the account's concurrency; up to twice as many processes run."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        runtime_api: RuntimeApi,
        address: str,
        python: Path,
        max_concurrency: int,
    ) -> None:
        self._functions = functions
        self._runtime_api = runtime_api
        self._address = address
        self._python = python
        self._numbers = count(1)
        self._shared = asyncio.Semaphore(max_concurrency)
        self._max_processes = 2 * max_concurrency
        self._reserved = {
            f.name: asyncio.Semaphore(f.reserved_concurrency)
            for f in functions.values()
            if f.reserved_concurrency is not None
        }
        self._idle: dict[str, list[ExecutionEnvironment]] = defaultdict(list)

    async def invoke(self, name: str, event: Mapping[str, Any]) -> Any:
        """The function's result. Raises FunctionError, and KeyError for an unknown function."""
        function = self._functions[name]
        async with self._reserved.get(name, self._shared):
            environment = await self._acquire(function)
            try:
                answer = await environment.invoke(json.dumps(event).encode())
            finally:
                self._release(environment)
        return json.loads(answer)

    @property
    def environments(self) -> list[ExecutionEnvironment]:
        """All environments, busy or idle."""
        return list(self._runtime_api.environments.values())

    async def stop_idle(self, name: str) -> None:
        """Ends the idle environments of a function, as Lambda does after some minutes: the next start is cold."""
        while self._idle[name]:
            environment = self._idle[name].pop()
            self._unregister(environment)
            await environment.stop()

    async def close(self) -> None:
        """Ends every process."""
        await asyncio.gather(*(environment.stop() for environment in self.environments))
        self._runtime_api.environments.clear()

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

    def _release(self, environment: ExecutionEnvironment) -> None:
        if environment.is_alive:
            self._idle[environment.function.name].append(environment)
        else:
            self._unregister(environment)

    async def _evict_idle(self) -> None:
        """Ends the oldest idle processes while there are as many processes as are allowed."""
        environments = self._runtime_api.environments
        while len(environments) >= self._max_processes:
            idle = [environment for each in self._idle.values() for environment in each]
            if not idle:
                return
            oldest = min(idle, key=lambda environment: environment.number)
            self._idle[oldest.function.name].remove(oldest)
            self._unregister(oldest)
            await oldest.stop()

    def _unregister(self, environment: ExecutionEnvironment) -> None:
        self._runtime_api.environments.pop(environment.number, None)
