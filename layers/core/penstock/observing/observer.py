"""The interface for a worker's progress reports: a run may last an hour, and returns its counts only at its end."""

from collections.abc import Mapping


class Observer:
    """Ignores all reports: for Lambda functions, whose counts go to CloudWatch. Workers call it in any thread."""

    def counted(self, counts: Mapping[str, int]) -> None:
        """Reports further work; names as in the counts of the run."""

    def attempted(self, delivered: bool, seconds: float) -> None:
        """Reports that an endpoint took or refused a delivery after `seconds`."""

    def fired(self, late_seconds: float) -> None:
        """Reports that a schedule fired `late_seconds` after its time."""


NO_OBSERVER = Observer()
