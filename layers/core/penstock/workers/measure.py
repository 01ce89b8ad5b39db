"""Measures all queues and the installation for /metrics, into tables that every process reads.

All processes share one round through the queues: each takes the next page, no two the same one. The next round begins
QUEUE_METRICS_INTERVAL_MS after the end of the last one. The worker `collect` measures the same for CloudWatch, in a
round of its own.
"""

from time import monotonic
from typing import TYPE_CHECKING

from penstock.postgres.statements.installation import STORE_MEASUREMENTS
from penstock.settings import Settings

from . import Counts

if TYPE_CHECKING:
    from penstock.drivers import StatementExecutor

LONGEST_RUN_SECONDS = 5.0
QUEUES_PER_PAGE = 100
MEASUREMENTS = "measurements"
"""The name under which the container wakes this worker, where queues have their ARN."""


def run_once(settings: Settings, connection: "StatementExecutor") -> Counts:
    """One bounded run; each page is a transaction. Raises the errors of calls; earlier pages stay committed.

    No page: the pause after a round is not over.
    """
    deadline = monotonic() + LONGEST_RUN_SECONDS
    options = (QUEUES_PER_PAGE, settings.queue_metrics_interval_ms)
    queues = pages = 0
    while monotonic() < deadline and (page := connection.call(STORE_MEASUREMENTS, options)):
        queues += sum(row.queues for row in page)
        pages += 1
    return {"queues": queues, "pages": pages}
