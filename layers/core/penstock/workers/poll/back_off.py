"""The pause of a mapping after consecutive failures."""

from typing import Final

FIRST_SECONDS: Final = 0.1
MOST_SECONDS: Final = 30.0
"""The longest pause. A target that does not respond gets two calls a minute."""
FIRST_THROTTLED_SECONDS: Final = 1.0


class BackOff:
    """The pause before the next batch, in `seconds`. Each failure doubles the pause, and a success ends it."""

    def __init__(self) -> None:
        self._failures = 0
        self._first_seconds = 0.0

    def record_success(self) -> None:
        """Resets the pause after the target accepted a batch."""
        self._failures = 0

    def failed(self, *, throttled: bool) -> None:
        """Counts a failure. `throttled` means that the target had no capacity or could not be reached."""
        self._failures += 1
        self._first_seconds = FIRST_THROTTLED_SECONDS if throttled else FIRST_SECONDS

    @property
    def seconds(self) -> float:
        """Returns the current pause, or 0 without a failure."""
        if not self._failures:
            return 0.0
        return float(min(MOST_SECONDS, self._first_seconds * 2 ** min(self._failures - 1, 20)))
