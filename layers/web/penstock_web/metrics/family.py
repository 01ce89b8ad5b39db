"""Defines what a metric is."""

from typing import Literal, NamedTuple

Kind = Literal["counter", "gauge", "histogram"]


class Family(NamedTuple):
    """A metric. `buckets` contains the upper bounds of a histogram, without `+Inf`. `takes_maximum` means that a scrape
    shows the greatest value of the processes on the port instead of the sum.
    """

    name: str
    kind: Kind
    help: str
    buckets: tuple[float, ...] = ()
    takes_maximum: bool = False

    @property
    def slots(self) -> int:
        """Returns how many numbers a series has: one for a counter or gauge. A histogram has a sum, a count for each
        bucket, and a count for `+Inf`."""
        return len(self.buckets) + 2 if self.kind == "histogram" else 1
