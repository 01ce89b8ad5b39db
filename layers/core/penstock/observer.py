"""Who is told what a worker does while it does it: a run may last an hour, and its counts come at its end."""

from collections.abc import Mapping


class Observer:
    """Listens to nothing: what functions have, whose counts go to CloudWatch. Methods are called in any thread."""

    def counted(self, counts: Mapping[str, int]) -> None:
        """So much more was done; names as in the counts of the run."""

    def attempted(self, delivered: bool, seconds: float) -> None:
        """An endpoint answered a webhook, or did not, after `seconds`."""

    def fired(self, late_seconds: float) -> None:
        """A schedule fired, so much after its time."""


NO_OBSERVER = Observer()
