"""Implements an event loop whose time passes only when every task waits for it: hours pass in a moment, and the same
each time."""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualSelector(selectors.DefaultSelector):
    """Jumps to the next timer where the loop would sleep."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everybody waits for something that never happens")
            self.now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Begins its time at 0 s. Work for a thread takes no time, because it is done at once."""

    def __init__(self) -> None:
        self._virtual = VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    def stop_process(self, seconds: float) -> None:
        """Lets time pass during which nothing of this process runs."""
        self._virtual.now += seconds

    def run_in_executor(self, _: Executor | None, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
            future.set_exception(error)
        return future


async def settle() -> None:
    """Returns when everything that can happen without passing time has happened."""
    for _ in range(20):
        await asyncio.sleep(0)
