"""Caches results for all viewers of a process. Viewers of the same page see the same rows.

The process reuses a result for three seconds, and for at least a hundred times the read's duration. Each kind of read
therefore uses at most 1% of a database core.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic
from typing import Final, Generic, TypeVar, cast

T = TypeVar("T")

FRESH_SECONDS: Final = 3.0
SHARE: Final = 0.01
"""The maximum share of time that the process spends on one kind of read."""
MAX_SECONDS: Final = 30.0
MAX_KNOWN: Final = 256
MARGIN_SECONDS: Final = 0.25
"""A page polls every three seconds. Without the margin, a poll would find a result that is slightly too young to be
replaced.
"""
REFRESH_SECONDS: Final = 0.15
"""The longest wait of a page for a measurement."""
SLOW_SECONDS: Final = 60.0
"""How long pages do not wait for measurements after a wait has timed out. Timeouts occur with 100,000 queues."""


class CachedView(Generic[T]):
    """A value, the time when the value expires, and the task that reads a new value."""

    __slots__ = ("_seconds", "_task", "_until", "_values")

    def __init__(self) -> None:
        self._seconds = MAX_SECONDS
        self._until = 0.0
        self._values: list[T] = []
        self._task: asyncio.Task[T] | None = None

    async def get(self, read: Callable[[], Awaitable[T]]) -> T:
        """Returns the value. Concurrent callers wait for the same read."""
        if self._values and monotonic() < self._until:
            return self._values[0]
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._read(read))
        return await asyncio.shield(self._task)

    async def _read(self, read: Callable[[], Awaitable[T]]) -> T:
        started = monotonic()
        value = await read()
        now = monotonic()
        self._values = [value]
        # The estimate should be the duration on an idle system. A slow read therefore at most doubles the estimate.
        self._seconds = min(now - started, 2 * self._seconds)
        self._until = now + min(MAX_SECONDS, max(FRESH_SECONDS - MARGIN_SECONDS, self._seconds / SHARE))
        return value


class ViewCache:
    """The results that a process has cached."""

    def __init__(self) -> None:
        self._known: dict[Hashable, object] = {}

    async def get(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Returns a recent result of `read`, or calls `read` now. `key` identifies the data and the account. Raises the
        errors of `read`.
        """
        known = cast("CachedView[T] | None", self._known.get(key))
        if known is None:
            known = CachedView()
            if len(self._known) >= MAX_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = known
        return await known.get(read)

    def clear(self) -> None:
        """Drops all values, so that users see their changes."""
        self._known.clear()


class Refresher:
    """Starts measurements of the queues. `refresh` performs a measurement, and never raises an error."""

    def __init__(self, refresh: Callable[[], Awaitable[None]]) -> None:
        self._refresh = refresh
        self._task: asyncio.Task[None] | None = None
        self._slow_until = 0.0

    async def wait(self) -> None:
        """Waits at most REFRESH_SECONDS for a measurement of the queues."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        if monotonic() < self._slow_until:
            return
        _, waiting = await asyncio.wait({self._task}, timeout=REFRESH_SECONDS)
        if waiting:
            self._slow_until = monotonic() + SLOW_SECONDS

    async def _run(self) -> None:
        await self._refresh()
