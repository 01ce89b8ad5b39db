"""Lets the queues be measured before a page is rendered, unless that takes longer than a reader should wait."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final

REFRESH_SECONDS: Final = 0.15
"""A page waits this long for the measurements."""
SLOW_SECONDS: Final = 60.0
"""After a wait that timed out, as with 100,000 queues, pages do not wait for this time."""


class Refresher:
    """Holds the refreshes of a process. `refresh` returns when the queues have been measured, and raises nothing."""

    def __init__(self, refresh: Callable[[], Awaitable[None]]) -> None:
        self._refresh = refresh
        self._task: asyncio.Task[None] | None = None
        self._slow_until = 0.0

    async def wait(self) -> None:
        """Returns when the queues have been measured, or after a moment. The page says when they were measured."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        if monotonic() < self._slow_until:
            return
        _, waiting = await asyncio.wait({self._task}, timeout=REFRESH_SECONDS)
        if waiting:
            self._slow_until = monotonic() + SLOW_SECONDS

    async def _run(self) -> None:
        await self._refresh()
