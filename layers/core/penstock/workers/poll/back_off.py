"""The pause of a mapping after failures in a row."""

from typing import Final

FIRST_SECONDS: Final = 0.1
MOST_SECONDS: Final = 30.0
"""A target that does not answer is called twice a minute."""
FIRST_THROTTLED_SECONDS: Final = 1.0


class BackOff:
    """The pause before the next batch, in `seconds`: twice as long after each failure, none after a success."""

    def __init__(self) -> None:
        self._failures = 0
        self._first_seconds = 0.0

    def record_success(self) -> None:
        """Ends the series of failures: the target took a batch."""
        self._failures = 0

    def failed(self, *, throttled: bool) -> None:
        """The target did not take a batch. `throttled`: it had no room, or it could not be reached."""
        self._failures += 1
        self._first_seconds = FIRST_THROTTLED_SECONDS if throttled else FIRST_SECONDS

    @property
    def seconds(self) -> float:
        """The current pause; 0 without a failure."""
        if not self._failures:
            return 0.0
        return float(min(MOST_SECONDS, self._first_seconds * 2 ** min(self._failures - 1, 20)))
