"""The interface for a worker's progress reports. A run can last an hour, and returns its counts only at the end."""

from collections.abc import Mapping


class Observer:
    """Ignores all reports. Lambda functions use the base class, because they write metrics to CloudWatch. Any thread
    can call the methods."""

    def counted(self, counts: Mapping[str, int]) -> None:
        """Reports additional work, with the same names as the run's counts."""

    def attempted(self, delivered: bool, seconds: float) -> None:
        """Reports that an endpoint accepted or refused a delivery after `seconds`."""

    def fired(self, late_seconds: float) -> None:
        """Reports that a schedule fired `late_seconds` after its time."""


NO_OBSERVER = Observer()
