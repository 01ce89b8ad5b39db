"""How a worker reports progress during a run: it may last an hour, and returns its counts only at its end."""

from collections.abc import Mapping


class Observer:
    """Ignores all reports: for Lambda functions, whose counts go to CloudWatch. Workers call it in any thread."""

    def counted(self, counts: Mapping[str, int]) -> None:
        """The worker has done this much more; names as in the counts of the run."""

    def attempted(self, delivered: bool, seconds: float) -> None:
        """An endpoint took a delivery, or did not, after `seconds`."""

    def fired(self, late_seconds: float) -> None:
        """A schedule fired `late_seconds` after its time."""


NO_OBSERVER = Observer()
