"""Limits the duration of requests, and detects disconnected clients. The process cancels a request that takes too long
(408), or whose client disconnects during a wait. The time limit does not count long-poll waits, or time in which the
process was suspended. The process keeps its requests in a dictionary instead of starting a timer for each request. The
process checks the dictionary four times a second.
"""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Protocol

from starlette.types import Receive

SWEEP_SECONDS = 0.25
STOPPED_SECONDS = 1.0
"""If a sweep begins late by more than STOPPED_SECONDS, the process was suspended or had no processor time."""
UNKNOWN_ACTION = "(unread)"
"""Metrics use this label for a request while the action is unknown."""


class EndReason(Enum):
    """Says why a request ended early."""

    TIMED_OUT = "the request took too long"
    DISCONNECTED = "the client closed the connection"
    SHUTDOWN = "the process ends"


class PendingRequest(Protocol):
    """Declares the methods of a running request that `Deadlines` and operations use."""

    @property
    def may_wait(self) -> bool:
        """Returns whether the request may wait for messages. A request may not wait while it occupies memory for long
        requests, because other requests need this memory.
        """

    def pause(self) -> None:
        """Pauses the deadline during a wait. If the client disconnects, the wait ends."""

    def resume(self) -> None:
        """Restarts the deadline after a wait."""

    def end(self, reason: EndReason) -> None:
        """Ends the request early."""

    def stop(self) -> None:
        """Ends the request when the time for the shutdown is over."""


class DisconnectWatch:
    """Waits until the client disconnects, after the whole body has arrived."""

    __slots__ = ("_on_done", "_receive", "_task")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._task: asyncio.Task[None] | None = None

    def start(self, on_disconnect: Callable[[], None]) -> None:
        """Starts the watch if it has not started. The watch calls `on_disconnect` at most once."""
        if self._task is None:
            self._on_done = lambda task: None if task.cancelled() else on_disconnect()
            self._task = asyncio.get_running_loop().create_task(wait_for_disconnect(self._receive))
            self._task.add_done_callback(self._on_done)

    def close(self) -> None:
        """Ends the watch and drops the reference to the request."""
        task, self._task = self._task, None
        if task is not None:
            task.remove_done_callback(self._on_done)
            task.cancel()
            del self._on_done


class AsgiTask:
    """Represents a running request of an ASGI application that runs in a task."""

    __slots__ = (
        "_deadlines", "_task", "_watch", "end_reason", "may_wait",
    )  # fmt: skip

    def __init__(self, deadlines: "Deadlines", receive: Receive) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request needs a task")
        self._deadlines = deadlines
        self._task = task
        self._watch = DisconnectWatch(receive)
        self.end_reason: EndReason | None = None
        self.may_wait = True

    def pause(self) -> None:
        """Pauses the deadline and watches for a disconnect. The application has already read the body."""
        self._deadlines.due.pop(self, None)
        self._watch.start(self._on_disconnect)

    def resume(self) -> None:
        """Restarts the deadline after a wait."""
        self._deadlines.add(self)

    def close(self) -> None:
        """Removes the request's deadline and watch."""
        self._deadlines.due.pop(self, None)
        self._watch.close()

    def end(self, reason: EndReason) -> None:
        """Cancels the request."""
        if self.end_reason is None:
            self.end_reason = reason
            self._task.cancel()

    def stop(self) -> None:
        """Has no effect, because the server cancels the task."""

    def _on_disconnect(self) -> None:
        self.end(EndReason.DISCONNECTED)


class Deadlines:
    """Ends requests that take longer than `seconds`, with a precision of 0.25 s."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._sweep_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        # The earliest deadline comes first, because all requests have the same time limit.
        self.due: dict[PendingRequest, float] = {}

    def start_request(self, receive: Receive) -> AsgiTask:
        """Starts a request in the current task. `receive` is the function from ASGI."""
        request = AsgiTask(self, receive)
        self.add(request)
        return request

    def add(self, request: PendingRequest) -> None:
        """Starts the deadline of a request."""
        loop = self._loop = self._loop or asyncio.get_running_loop()
        self.due[request] = loop.time() + self._seconds
        if self._timer is None:
            self._schedule_sweep(loop)

    def stop(self) -> None:
        """Ends all requests when the time for the shutdown is over."""
        for request in list(self.due):
            request.stop()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if (late := now - self._sweep_at) > STOPPED_SECONDS:
            # The deadlines of database calls have also passed, so these calls are ending now, and the response will be
            # 503.
            self.due = {request: due_at + late for request, due_at in self.due.items()}
        while self.due:
            request, due_at = next(iter(self.due.items()))
            if due_at > now:
                break
            del self.due[request]
            request.end(EndReason.TIMED_OUT)
        self._timer = None
        if self.due:
            self._schedule_sweep(loop)

    def _schedule_sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweep_at = loop.time() + SWEEP_SECONDS
        self._timer = loop.call_at(self._sweep_at, self._sweep)


async def wait_for_disconnect(receive: Receive) -> None:
    """Returns when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
