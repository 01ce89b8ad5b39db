"""How long a request may stay, and whether its client is still there.

A visit is one request under way. It ends early, by cancellation, when it takes longer than it may (408; a long poll's
wait does not count) or when its client leaves during a wait. Both cost the ordinary request next to nothing: there is
no timer and no task for it, only an entry in a dictionary that is looked through four times a second.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from enum import Enum
from typing import Any, Protocol

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

SWEEP_SECONDS = 0.25
UNREAD = "(unread)"
"""What a request is called as long as nobody knows what it asks for."""


class Ended(Enum):
    """Why a visit was cut short."""

    OVERDUE = "the request took too long"
    LEFT = "the client closed the connection"
    STOPPED = "the process ends"


class Stay(Protocol):
    """A request under way, as those see it who measure its time."""

    def pause(self) -> None:
        """A wait begins: it is not counted, and the client may leave during it."""

    def resume(self) -> None:
        """The wait is over: the time counts afresh."""

    def end(self, reason: Ended) -> None:
        """Cuts the request short."""

    def stop(self) -> None:
        """The time that the process gives requests at its end is over."""


class Visit:
    """One request under way, in the task that made it."""

    __slots__ = ("_deadlines", "_receive", "_task", "_watch", "ended", "label")

    def __init__(self, deadlines: "Deadlines", receive: Receive) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a visit needs a task")
        self._deadlines = deadlines
        self._receive = receive
        self._task = task
        self._watch: asyncio.Task[None] | None = None
        self.ended: Ended | None = None
        self.label = UNREAD

    def pause(self) -> None:
        """A wait begins: it is not counted, and the client may leave during it. The body has been read by now."""
        self._deadlines.due.pop(self, None)
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(until_gone(self._receive))
            self._watch.add_done_callback(self._left)

    def resume(self) -> None:
        """The wait is over: the time counts afresh."""
        self._deadlines.add(self)

    def close(self) -> None:
        """The request is answered; from now on nothing cancels it."""
        self._deadlines.due.pop(self, None)
        if self._watch is not None:
            self._watch.remove_done_callback(self._left)
            self._watch.cancel()

    def end(self, reason: Ended) -> None:
        """Cancels the request."""
        if self.ended is None:
            self.ended = reason
            self._task.cancel()

    def stop(self) -> None:
        """Nothing: uvicorn cancels the task."""

    def _left(self, watch: "asyncio.Task[None]") -> None:
        if not watch.cancelled():
            self.end(Ended.LEFT)


class Deadlines:
    """Ends the visits that last longer than `seconds`, with a precision of 0.25 s."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.due: dict[Stay, float] = {}  # soonest first, since every visit may last equally long

    def enter(self, receive: Receive) -> Visit:
        """A visit of the current task begins. `receive` is the ASGI callable that tells when the client leaves."""
        visit = Visit(self, receive)
        self.add(visit)
        return visit

    def add(self, visit: Stay) -> None:
        """Counts the time of a visit from now on."""
        loop = self._loop = self._loop or asyncio.get_running_loop()
        self.due[visit] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_later(SWEEP_SECONDS, self._sweep)

    def stop(self) -> None:
        """Tells all visits that the process does not wait for them any longer."""
        for visit in list(self.due):
            visit.stop()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self.due:
            visit, due_at = next(iter(self.due.items()))
            if due_at > now:
                break
            del self.due[visit]
            visit.end(Ended.OVERDUE)
        self._timer = loop.call_later(SWEEP_SECONDS, self._sweep) if self.due else None


async def until_gone(receive: Receive) -> None:
    """Returns when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
