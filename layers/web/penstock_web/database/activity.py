"""Wakes idle workers when something changes in the database."""

from collections.abc import Callable

Wake = Callable[[], None]


class Activity:
    """Keeps the process's workers that wait for a database change. `notice` immediately reports sends, receives and
    deletes of this process. The next check (`compare`) finds all other changes.
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
        """Calls `wake` once, after the next change. `changes` is the change count from before the worker's last run."""
        self._waiting[wake] = changes

    def end_wait(self, wake: Wake) -> bool:
        """Ends a worker's wait without calling `wake`. Returns whether the worker was waiting."""
        waited = wake in self._waiting
        self._waiting.pop(wake, None)
        return waited

    def notice(self) -> None:
        """Reports a change."""
        self.noticed += 1
        if self._waiting:
            self._wake(list(self._waiting))

    def compare(self, changes: int) -> None:
        """Reports a change to each worker whose number differs from the current number."""
        self.changes = changes
        self._wake([wake for wake, known in self._waiting.items() if known != changes])
        for callback in self._after_check:
            callback()

    def _wake(self, wakes: list[Wake]) -> None:
        for wake in wakes:
            del self._waiting[wake]
            wake()
