"""Which environment answers: an idle one of the function, else a new one, within the limits of concurrency.

As on Lambda, an environment answers one invocation at a time, functions with reserved concurrency have so many
environments at most, and the others share the account's. Unlike there, whoever comes while all are busy waits.
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
    """All environments of a stack. `most`: the account's concurrency; twice as many processes may be kept."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        runtime_api: RuntimeApi,
        address: str,
        python: Path,
        most: int,
    ) -> None:
        self._functions = functions
        self._runtime_api = runtime_api
        self._address = address
        self._python = python
        self._numbers = count(1)
        self._shared = asyncio.Semaphore(most)
        self._most_kept = 2 * most
        self._reserved = {f.name: asyncio.Semaphore(f.most) for f in functions.values() if f.most is not None}
        self._idle: dict[str, list[ExecutionEnvironment]] = defaultdict(list)

    async def invoke(self, name: str, event: Mapping[str, Any]) -> Any:
        """What the function answers. Raises FunctionError, KeyError for a function that there is not."""
        function = self._functions[name]
        async with self._reserved.get(name, self._shared):
            environment = await self._take(function)
            try:
                answer = await environment.invoke(json.dumps(event).encode())
            finally:
                self._give_back(environment)
        return json.loads(answer)

    @property
    def environments(self) -> list[ExecutionEnvironment]:
        """Those that are there, busy or idle."""
        return list(self._runtime_api.environments.values())

    async def forget_idle(self, name: str) -> None:
        """Ends the idle environments of a function, as Lambda does after some minutes: the next start is cold."""
        while self._idle[name]:
            environment = self._idle[name].pop()
            self._forget(environment)
            await environment.stop()

    async def close(self) -> None:
        """Ends every process."""
        await asyncio.gather(*(environment.stop() for environment in self.environments))
        self._runtime_api.environments.clear()

    async def _take(self, function: Function) -> ExecutionEnvironment:
        idle = self._idle[function.name]
        while idle:
            environment = idle.pop()
            if environment.is_alive:
                return environment
            self._forget(environment)
        await self._evict_idle()
        environment = ExecutionEnvironment(function, next(self._numbers), self._address, self._python)
        self._runtime_api.environments[environment.number] = environment
        await environment.start()
        return environment

    def _give_back(self, environment: ExecutionEnvironment) -> None:
        if environment.is_alive:
            self._idle[environment.function.name].append(environment)
        else:
            self._forget(environment)

    async def _evict_idle(self) -> None:
        """Ends the oldest idle process when there are as many as may be kept."""
        environments = self._runtime_api.environments
        while len(environments) >= self._most_kept:
            idle = [environment for each in self._idle.values() for environment in each]
            if not idle:
                return
            oldest = min(idle, key=lambda environment: environment.number)
            self._idle[oldest.function.name].remove(oldest)
            self._forget(oldest)
            await oldest.stop()

    def _forget(self, environment: ExecutionEnvironment) -> None:
        self._runtime_api.environments.pop(environment.number, None)
