"""The trace of the last recorded request in each bucket of a histogram, for OpenMetrics (there "Exemplars").

A process has the exemplars of its requests, also if several processes share a port. Each bucket has one.
"""

from collections import defaultdict
from time import time
from typing import Final

from penstock.trace_context import CURRENT_TRACE

DURATIONS: Final = "penstock_http_request_duration_seconds"


class Exemplars:
    """Exemplars of the durations of requests. Used in the event loop only."""

    def __init__(self) -> None:
        self._texts: defaultdict[str, dict[int, str]] = defaultdict(dict)

    def add(self, labels: str, bucket: int, seconds: float) -> None:
        """Keeps the trace of the current request, if it is recorded, in place of the bucket's last one.

        `labels`: those of the series, formatted. `bucket`: its position.
        """
        trace = CURRENT_TRACE.get()
        if trace is not None and trace.sampled:
            self._texts[labels][bucket] = f' # {{trace_id="{trace.trace_id}"}} {seconds!r} {time():.3f}'

    def of(self, name: str, labels: str) -> dict[int, str]:
        """The texts after the samples of a series of a metric, by the position of the bucket."""
        return self._texts.get(labels, {}) if name == DURATIONS else {}
