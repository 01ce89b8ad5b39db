"""Extends the visibility of the messages that a worker has."""

import logging
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

from .message import Message
from .queue import Queue

BEATS: Final = 3
"""How often a worker extends the visibility of a message in each visibility timeout."""

logger = logging.getLogger("penstock_worker")


class Heartbeat:
    """A thread that extends visibility every third of the visibility timeout.

    The lock is held during a call, so that no late extension undoes the pause of a message that failed meanwhile.
    """

    def __init__(self, queue: Queue, visibility_timeout: int) -> None:
        self._queue = queue
        self._seconds = visibility_timeout
        self._messages: dict[str, Message] = {}
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-worker-heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def add(self, messages: Iterable[Message]) -> None:
        with self._lock:
            self._messages.update((message.id, message) for message in messages)

    def remove(self, messages: Iterable[Message]) -> None:
        """Ends the extensions of these messages. After this call, no extension is under way."""
        with self._lock:
            for message in messages:
                self._messages.pop(message.id, None)

    def beat(self) -> None:
        """Extends all messages once, and forgets those that other consumers have or have deleted."""
        with self._lock:
            if not self._messages:
                return
            for lost in self._queue.extend(list(self._messages.values()), self._seconds):
                del self._messages[lost.id]
                logger.warning("message %s is not this worker's any more: another consumer can receive it", lost.id)

    def _run(self) -> None:
        while not self._end.wait(self._seconds / BEATS):
            try:
                self.beat()
            except Exception:
                logger.exception("the visibility of running messages could not be extended")
