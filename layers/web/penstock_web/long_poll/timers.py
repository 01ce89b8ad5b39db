"""When long polls are over: a timer, and a turn of the event loop, for all that end at about the same time."""

import asyncio
from collections.abc import Callable
from math import ceil, floor, log2

GRAINS = 100
"""A wait ends up to a hundredth of its time late: 20 s up to 0.125 s."""


class End:
    """Those who are called at one moment, in their order."""

    __slots__ = ("at", "calls", "timer")

    def __init__(self, at: float) -> None:
        self.at = at
        self.calls: dict[Callable[[], object], None] = {}
        self.timer = asyncio.get_running_loop().call_at(at, self.come)

    def come(self) -> None:
        """It is the moment."""
        for call in list(self.calls):
            call()


class Ends:
    """The moments that somebody waits for."""

    def __init__(self) -> None:
        self._ends: dict[float, End] = {}

    def add(self, seconds: float, call: Callable[[], object]) -> End:
        """`call` is called after so many seconds (more than 0), or a little later."""
        grain = 2.0 ** floor(log2(seconds / GRAINS))  # a power of two: waits of 14 s and of 20 s end together
        at = ceil((asyncio.get_running_loop().time() + seconds) / grain) * grain
        end = self._ends.get(at)
        if end is None:
            end = self._ends[at] = End(at)
        end.calls[call] = None
        return end

    def remove(self, end: End, call: Callable[[], object]) -> None:
        """It is not called any more. To be called also by those whose time was over."""
        end.calls.pop(call, None)
        if not end.calls and self._ends.get(end.at) is end:
            end.timer.cancel()
            del self._ends[end.at]
