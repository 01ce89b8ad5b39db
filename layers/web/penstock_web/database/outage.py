"""Logs only two records for each outage of the database, instead of one record for each attempt."""

import logging
from time import monotonic

_log = logging.getLogger(__name__)


class Outage:
    """Workers and the LISTEN connection report their failures and successes to this object. Only one event loop uses
    the object.

    An outage begins with the first failure. The outage ends when every part that failed has worked again.
    """

    def __init__(self) -> None:
        self._failing: set[str] = set()
        self._attempts = 0
        self._began = 0.0

    def fails(self, who: str, cause: BaseException) -> None:
        """Notes that a part of the process could not use the database and will try again."""
        if not self._failing:
            self._began, self._attempts = monotonic(), 0
            _log.error(
                "database unavailable: trying again until it is back",
                extra={"worker": who, "cause": " ".join(str(cause).split())},
            )
        self._failing.add(who)
        self._attempts += 1

    def works(self, who: str) -> None:
        """Notes that a part of the process has used the database, or no longer needs the database."""
        if who not in self._failing:
            return
        self._failing.remove(who)
        if not self._failing:
            seconds = round(monotonic() - self._began, 1)
            _log.warning(
                "database available again", extra={"seconds": seconds, "failed_attempts": self._attempts}
            )
