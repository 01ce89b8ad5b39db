"""Implements an event loop whose clock jumps to the next timer when all tasks wait. A test of several hours ends
immediately, and runs are reproducible.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualSelector(selectors.DefaultSelector):
    """Jumps to the next timer instead of sleeping."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("all tasks wait for an event that never happens")
            self.now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts its clock at 0 s. Work in a thread runs immediately and takes no time."""

    def __init__(self) -> None:
        self._virtual = VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    def stop_process(self, seconds: float) -> None:
        """Advances the clock while no task of this process runs."""
        self._virtual.now += seconds

    def run_in_executor(self, _: Executor | None, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
            future.set_exception(error)
        return future


async def settle() -> None:
    """Returns when all tasks wait for time to pass."""
    for _ in range(20):
        await asyncio.sleep(0)
