"""How far a phase is: what is left to send, what all processes together have received."""

from collections.abc import MutableSequence
from time import perf_counter

STALL_SECONDS = 5.0


class Progress:
    """Shared by the flows of one process. `slots` is shared memory with one counter a process; each writes its own."""

    def __init__(self, to_send: int, to_receive: int, slots: MutableSequence[int], slot: int) -> None:
        self._left = to_send
        self._to_receive = to_receive
        self._slots = slots
        self._slot = slot
        self._moved_at = perf_counter()

    def claim(self, count: int) -> int:
        """Up to `count` messages that the caller now has to send; 0 when none are left."""
        taken = min(count, self._left)
        self._left -= taken
        return taken

    def received(self, count: int) -> None:
        self._slots[self._slot] += count
        self._moved_at = perf_counter()

    @property
    def complete(self) -> bool:
        """Whether as many messages were received as there should be."""
        return sum(self._slots) >= self._to_receive

    @property
    def stalled(self) -> bool:
        """Nothing received here for STALL_SECONDS: what is missing is lost, and the run must end."""
        return perf_counter() - self._moved_at > STALL_SECONDS
