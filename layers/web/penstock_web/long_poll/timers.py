"""When long polls are over: a timer, and a turn of the event loop, for all that end at about the same time."""

import asyncio
from collections.abc import Callable
from math import ceil, floor, log2

STEPS_PER_WAIT = 100
"""A wait ends up to a hundredth of its time late: 20 s up to 0.125 s."""


class SharedTimer:
    """Those who are called at one moment, in their order."""

    __slots__ = ("at", "callbacks", "handle")

    def __init__(self, at: float) -> None:
        self.at = at
        self.callbacks: dict[Callable[[], object], None] = {}
        self.handle = asyncio.get_running_loop().call_at(at, self.fire)

    def fire(self) -> None:
        """It is the moment."""
        for callback in list(self.callbacks):
            callback()


class WaitTimers:
    """The moments that somebody waits for."""

    def __init__(self) -> None:
        self._timers: dict[float, SharedTimer] = {}

    def add(self, seconds: float, callback: Callable[[], object]) -> SharedTimer:
        """`callback` is called after so many seconds (more than 0), or a little later."""
        step = 2.0 ** floor(
            log2(seconds / STEPS_PER_WAIT)
        )  # a power of two: waits of 14 s and of 20 s end together
        at = ceil((asyncio.get_running_loop().time() + seconds) / step) * step
        timer = self._timers.get(at)
        if timer is None:
            timer = self._timers[at] = SharedTimer(at)
        timer.callbacks[callback] = None
        return timer

    def remove(self, timer: SharedTimer, callback: Callable[[], object]) -> None:
        """It is not called any more. To be called also by those whose time was over."""
        timer.callbacks.pop(callback, None)
        if not timer.callbacks and self._timers.get(timer.at) is timer:
            timer.handle.cancel()
            del self._timers[timer.at]
