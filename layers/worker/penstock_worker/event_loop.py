"""Runs asynchronous handlers in one event loop, whichever thread of the worker calls them."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class EventLoop:
    """An event loop in a thread. The loop starts with the first coroutine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[object, object, T]) -> T:
        """Runs a coroutine with the context variables of the calling thread, and waits for its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._start()).result()

    def close(self) -> None:
        """Ends the loop. The caller has waited for its coroutines."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="penstock-worker-loop", daemon=True)
                self._thread.start()
            return self._loop
