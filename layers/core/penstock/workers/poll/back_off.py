"""The pause of a mapping after failures in a row."""

from typing import Final

FIRST_SECONDS: Final = 0.1
MOST_SECONDS: Final = 30.0
"""As long as nobody answers, the target is asked twice a minute."""
FIRST_THROTTLED_SECONDS: Final = 1.0


class BackOff:
    """`seconds` of pause before the next batch: twice as long after each failure, none after a success."""

    def __init__(self) -> None:
        self._failures = 0
        self._first_seconds = 0.0

    def record_success(self) -> None:
        """A batch was taken."""
        self._failures = 0

    def failed(self, *, throttled: bool) -> None:
        """A batch was not taken. `throttled`: there was no room for it, or nobody to take it."""
        self._failures += 1
        self._first_seconds = FIRST_THROTTLED_SECONDS if throttled else FIRST_SECONDS

    @property
    def seconds(self) -> float:
        """0 without a failure."""
        if not self._failures:
            return 0.0
        return float(min(MOST_SECONDS, self._first_seconds * 2 ** min(self._failures - 1, 20)))
