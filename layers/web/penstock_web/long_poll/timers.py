"""Implements the timers of long polls. Waits that end at about the same time share a timer and a turn of the event
loop."""

import asyncio
from collections.abc import Callable
from math import ceil, floor, log2

STEPS_PER_WAIT = 100
"""The delay of a wait is at most a hundredth of its length, rounded down to a power of two (0.125 s for 20 s)."""


class SharedTimer:
    """Holds the callbacks for one time, from the oldest to the newest."""

    __slots__ = ("at", "callbacks", "handle")

    def __init__(self, at: float) -> None:
        self.at = at
        self.callbacks: dict[Callable[[], object], None] = {}
        self.handle = asyncio.get_running_loop().call_at(at, self.fire)

    def fire(self) -> None:
        """Calls every callback."""
        for callback in list(self.callbacks):
            callback()


class WaitTimers:
    """Shares timers among all waits."""

    def __init__(self) -> None:
        self._timers: dict[float, SharedTimer] = {}

    def add(self, seconds: float, callback: Callable[[], object]) -> SharedTimer:
        """Calls `callback` after `seconds` (more than 0), or slightly later."""
        # The step is a power of two, so that waits of 14 s and waits of 20 s end together.
        step = 2.0 ** floor(log2(seconds / STEPS_PER_WAIT))
        at = ceil((asyncio.get_running_loop().time() + seconds) / step) * step
        timer = self._timers.get(at)
        if timer is None:
            timer = self._timers[at] = SharedTimer(at)
        timer.callbacks[callback] = None
        return timer

    def remove(self, timer: SharedTimer, callback: Callable[[], object]) -> None:
        """Removes a callback. The owner also calls this method after the timer has fired."""
        timer.callbacks.pop(callback, None)
        if not timer.callbacks and self._timers.get(timer.at) is timer:
            timer.handle.cancel()
            del self._timers[timer.at]
