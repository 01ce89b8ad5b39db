"""Counts the messages that a worker can still take."""

import threading


class Slots:
    """`close` ends all waits."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._closed = False
        self._changed = threading.Condition()

    def take(self, most: int) -> int:
        """Waits for a free slot, and takes up to `most`. Returns 0 after `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._free or self._closed)
            taken = 0 if self._closed else min(self._free, most)
            self._free -= taken
            return taken

    def release(self, count: int) -> None:
        with self._changed:
            self._free += count
            self._changed.notify_all()

    def close(self) -> None:
        """Closes the slots. A signal handler can call this method, because the lock is reentrant."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
