"""The interface for a worker's progress reports. A run may last an hour, and returns its counts only at its end."""

from collections.abc import Mapping


class Observer:
    """Ignores all reports. Lambda functions use this class, because their counts go to CloudWatch. Workers may call
    the methods in any thread.
    """

    def counted(self, counts: Mapping[str, int]) -> None:
        """Reports further work. The names are the names in the run's counts."""

    def attempted(self, delivered: bool, seconds: float) -> None:
        """Reports that an endpoint took or refused a delivery after `seconds`."""

    def fired(self, late_seconds: float) -> None:
        """Reports that a schedule fired `late_seconds` after its time."""


NO_OBSERVER = Observer()
