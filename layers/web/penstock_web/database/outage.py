"""A time in which the database is not available to this process: two records of the log, not one for each attempt."""

import logging
from time import monotonic

_log = logging.getLogger(__name__)


class Outage:
    """Workers and the LISTEN connection say when they fail and when they work. It is used in one event loop.

    It begins with the first failure, and ends when everybody who failed meanwhile has worked again.
    """

    def __init__(self) -> None:
        self._failing: set[str] = set()
        self._attempts = 0
        self._began = 0.0

    def fails(self, who: str, cause: BaseException) -> None:
        """Somebody could not use the database, who will try again."""
        if not self._failing:
            self._began, self._attempts = monotonic(), 0
            _log.error(
                "database unavailable: trying again until it is back",
                extra={"worker": who, "cause": " ".join(str(cause).split())},
            )
        self._failing.add(who)
        self._attempts += 1

    def works(self, who: str) -> None:
        """Somebody has used the database, or needs it no more."""
        if who not in self._failing:
            return
        self._failing.remove(who)
        if not self._failing:
            seconds = round(monotonic() - self._began, 1)
            _log.warning(
                "database available again", extra={"seconds": seconds, "failed_attempts": self._attempts}
            )
