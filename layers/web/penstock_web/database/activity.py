"""Wakes idle workers when something changes in the database."""

from collections.abc import Callable

Wake = Callable[[], None]


class Activity:
    """The workers of a process that wait for a change in the database. `notice` reports sends, receives and deletes of
    this process at once. The next check (`compare`) finds every other change.
    """

    def __init__(self) -> None:
        self.changes: int | None = None
        """Holds the result of `queue.count_changes` in the last check."""
        self.noticed = 0
        """Counts the calls of `notice`."""
        self._waiting: dict[Wake, int | None] = {}
        self._after_check: list[Callable[[], None]] = []

    def after_check(self, callback: Callable[[], None]) -> None:
        """Calls `callback` after each check."""
        self._after_check.append(callback)

    def wait(self, wake: Wake, changes: int | None) -> None:
        """Calls `wake` once, after the next change. `changes` is the number that was read before the worker's last
        run.
        """
        self._waiting[wake] = changes

    def end_wait(self, wake: Wake) -> bool:
        """Ends the wait of a worker without waking it. Returns whether it waited."""
        waited = wake in self._waiting
        self._waiting.pop(wake, None)
        return waited

    def notice(self) -> None:
        """Notes that something has changed."""
        self.noticed += 1
        if self._waiting:
            self._wake(list(self._waiting))

    def compare(self, changes: int) -> None:
        """Notes a change if the current number differs from the number that a worker knows."""
        self.changes = changes
        self._wake([wake for wake, known in self._waiting.items() if known != changes])
        for callback in self._after_check:
            callback()

    def _wake(self, wakes: list[Wake]) -> None:
        for wake in wakes:
            del self._waiting[wake]
            wake()
