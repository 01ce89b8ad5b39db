"""Measures the messages in the queues: the gauges that Amazon SQS reports to CloudWatch each minute.

One call measures a page of queues. A run has a time limit, and the next run continues after the last queue. The worker
reports the gauges to a callback, and adds events to the queues' minutes.
"""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from penstock.postgres.statements.installation import MEASURE_QUEUES, QueueCountsRow
from penstock.settings import Settings

from . import Counts
from .measure import store_minutes

if TYPE_CHECKING:
    from penstock.drivers import StatementExecutor

LONGEST_RUN_SECONDS = 10.0
QUEUES_PER_PAGE = 100


def run_once(settings: Settings, connection: "StatementExecutor", report: Callable[[QueueCountsRow], None]) -> Counts:
    """Does one bounded run and calls `report` with each queue's gauges. Raises the errors of calls."""
    deadline = monotonic() + LONGEST_RUN_SECONDS
    queues = 0
    store_minutes(settings, connection)
    while monotonic() < deadline and (page := connection.call(MEASURE_QUEUES, [QUEUES_PER_PAGE])):
        for row in page:
            report(row)
        queues += len(page)
    return {"queues": queues}
