"""Logs two records for the time in which the database is not available, instead of one for each attempt."""

import logging
from time import monotonic

_log = logging.getLogger(__name__)


class Outage:
    """Learns from workers and the LISTEN connection when they fail and when they work. One event loop uses the
    object.

    An outage begins with the first failure. The outage ends when every part that failed has worked again.
    """

    def __init__(self) -> None:
        self._failing: set[str] = set()
        self._attempts = 0
        self._began = 0.0

    def fails(self, who: str, cause: BaseException) -> None:
        """Notes that a part could not use the database and will try again."""
        if not self._failing:
            self._began, self._attempts = monotonic(), 0
            _log.error(
                "database unavailable: trying again until it is back",
                extra={"worker": who, "cause": " ".join(str(cause).split())},
            )
        self._failing.add(who)
        self._attempts += 1

    def works(self, who: str) -> None:
        """Notes that a part has used the database, or no longer needs it."""
        if who not in self._failing:
            return
        self._failing.remove(who)
        if not self._failing:
            seconds = round(monotonic() - self._began, 1)
            _log.warning(
                "database available again", extra={"seconds": seconds, "failed_attempts": self._attempts}
            )
