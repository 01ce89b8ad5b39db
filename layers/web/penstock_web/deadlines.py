"""How long a request may stay, and whether its client is still there.

A visit is one request under way. It ends early, by cancellation, when it takes longer than it may (408; a long poll's
wait does not count) or when its client leaves during a wait. Both cost the ordinary request next to nothing: there is
no timer and no task for it, only an entry in a dictionary that is looked through four times a second.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from enum import Enum
from typing import Any, Protocol

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]

SWEEP_SECONDS = 0.25
UNKNOWN_ACTION = "(unread)"
"""What a request is called as long as nobody knows what it asks for."""


class EndReason(Enum):
    """Why a visit was cut short."""

    TIMED_OUT = "the request took too long"
    DISCONNECTED = "the client closed the connection"
    SHUTDOWN = "the process ends"


class PendingRequest(Protocol):
    """A request under way, as those see it who measure its time."""

    def pause(self) -> None:
        """A wait begins: it is not counted, and the client may leave during it."""

    def resume(self) -> None:
        """The wait is over: the time counts afresh."""

    def end(self, reason: EndReason) -> None:
        """Cuts the request short."""

    def stop(self) -> None:
        """The time that the process gives requests at its end is over."""


class AsgiRequest:
    """One request under way, in the task that made it."""

    __slots__ = ("_deadlines", "_disconnect_watch", "_receive", "_task", "end_reason", "label")

    def __init__(self, deadlines: "Deadlines", receive: Receive) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a visit needs a task")
        self._deadlines = deadlines
        self._receive = receive
        self._task = task
        self._disconnect_watch: asyncio.Task[None] | None = None
        self.end_reason: EndReason | None = None
        self.label = UNKNOWN_ACTION

    def pause(self) -> None:
        """A wait begins: it is not counted, and the client may leave during it. The body has been read by now."""
        self._deadlines.due.pop(self, None)
        if self._disconnect_watch is None:
            self._disconnect_watch = asyncio.get_running_loop().create_task(
                wait_for_disconnect(self._receive)
            )
            self._disconnect_watch.add_done_callback(self._on_disconnect)

    def resume(self) -> None:
        """The wait is over: the time counts afresh."""
        self._deadlines.add(self)

    def close(self) -> None:
        """The request is answered; from now on nothing cancels it."""
        self._deadlines.due.pop(self, None)
        if self._disconnect_watch is not None:
            self._disconnect_watch.remove_done_callback(self._on_disconnect)
            self._disconnect_watch.cancel()

    def end(self, reason: EndReason) -> None:
        """Cancels the request."""
        if self.end_reason is None:
            self.end_reason = reason
            self._task.cancel()

    def stop(self) -> None:
        """Nothing: uvicorn cancels the task."""

    def _on_disconnect(self, watch: "asyncio.Task[None]") -> None:
        if not watch.cancelled():
            self.end(EndReason.DISCONNECTED)


class Deadlines:
    """Ends the visits that last longer than `seconds`, with a precision of 0.25 s."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.due: dict[PendingRequest, float] = {}  # soonest first, since every visit may last equally long

    def start_request(self, receive: Receive) -> AsgiRequest:
        """A visit of the current task begins. `receive` is the ASGI callable that tells when the client leaves."""
        request = AsgiRequest(self, receive)
        self.add(request)
        return request

    def add(self, request: PendingRequest) -> None:
        """Counts the time of a visit from now on."""
        loop = self._loop = self._loop or asyncio.get_running_loop()
        self.due[request] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_later(SWEEP_SECONDS, self._sweep)

    def stop(self) -> None:
        """Tells all visits that the process does not wait for them any longer."""
        for request in list(self.due):
            request.stop()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self.due:
            request, due_at = next(iter(self.due.items()))
            if due_at > now:
                break
            del self.due[request]
            request.end(EndReason.TIMED_OUT)
        self._timer = loop.call_later(SWEEP_SECONDS, self._sweep) if self.due else None


async def wait_for_disconnect(receive: Receive) -> None:
    """Returns when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
