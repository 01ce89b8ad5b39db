"""Counts the progress of a phase: the messages left to send, and the messages that all processes together have
received.
"""

from collections.abc import MutableSequence
from time import perf_counter

STALL_SECONDS = 5.0


class Progress:
    """The progress that the flows of one process share.

    `slots` is shared memory with one counter of received messages for each process. Each process writes only its
    counter.
    """

    def __init__(self, to_send: int, to_receive: int, slots: MutableSequence[int], slot: int) -> None:
        self._left = to_send
        self._to_receive = to_receive
        self._slots = slots
        self._slot = slot
        self._moved_at = perf_counter()

    def claim(self, count: int) -> int:
        """Returns the number of messages, up to `count`, that the caller must send now, or 0 if no message is left."""
        taken = min(count, self._left)
        self._left -= taken
        return taken

    def received(self, count: int) -> None:
        self._slots[self._slot] += count
        self._moved_at = perf_counter()

    @property
    def complete(self) -> bool:
        """Returns whether all expected messages were received."""
        return sum(self._slots) >= self._to_receive

    @property
    def stalled(self) -> bool:
        """Returns whether this process has received no message for STALL_SECONDS. Missing messages then count as
        lost, and the run ends.
        """
        return perf_counter() - self._moved_at > STALL_SECONDS
