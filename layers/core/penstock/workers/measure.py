"""Measures all queues and the installation for /metrics, into tables that every process reads.

All processes share one round through the queues. Each process takes the next page, and no two processes take the same
page. The next round begins QUEUE_METRICS_INTERVAL_MS after the previous round's end. In a Lambda function, the worker
reports the gauges that Amazon SQS reports to CloudWatch each minute, in a separate round.

After its measurements, a Lambda function tells what needs attention (`workers.alert`). In the container, the thread of
this worker does the same.
"""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from penstock.postgres.statements.installation import (
    MEASURE_QUEUES,
    STORE_MEASUREMENTS,
    STORE_MINUTES,
    QueueCountsRow,
)
from penstock.settings import Settings
from penstock.sns.filter_policy.unjudged import log_unjudged

from . import Counts, alert

if TYPE_CHECKING:
    from penstock.drivers import StatementExecutor

MAX_RUN_SECONDS = 5.0
QUEUES_PER_PAGE = 100
FUNCTION_INTERVAL_MS = 60_000
"""A schedule invokes the Lambda function every minute."""
CALLS_AT_ONCE = 100_000
"""The maximum number of rows of queue.activity that a run adds to the minutes. Adding this number of rows takes 0.3
s."""
QUEUES_PER_MINUTE = 10_000
"""The maximum number of the busiest queues that have rows in queue.minute. These queues' rows take 1.5 GB in 25
hours."""
MEASUREMENTS = "measurements"
"""The name with which the container wakes this worker, in place of a queue's ARN."""


def run_once(settings: Settings, connection: "StatementExecutor") -> Counts:
    """Does one bounded run. The minutes take one transaction, and each page takes one transaction. Raises the errors of
    calls, but earlier results stay.

    The run measures the first page of a round only after the pause. `rounds` is 1 if the run ended a round, and
    otherwise 0.
    """
    deadline = monotonic() + MAX_RUN_SECONDS
    stored = store_minutes(settings, connection)
    options = (QUEUES_PER_PAGE, settings.queue_metrics_interval_ms)
    queues = pages = rounds = 0
    while monotonic() < deadline:
        if not (page := connection.call(STORE_MEASUREMENTS, options)):
            rounds = int(pages > 0)
            break
        queues += sum(row.queues for row in page)
        pages += 1
    return {"queues": queues, "pages": pages, "rounds": rounds, **stored}


def report_once(
    settings: Settings, connection: "StatementExecutor", report: Callable[[QueueCountsRow], None]
) -> Counts:
    """Does one bounded run and calls `report` with each queue's gauges. Raises the errors of calls."""
    deadline = monotonic() + MAX_RUN_SECONDS
    queues = 0
    store_minutes(settings, connection)
    while monotonic() < deadline and (page := connection.call(MEASURE_QUEUES, [QUEUES_PER_PAGE])):
        for row in page:
            report(row)
        queues += len(page)
    return {"queues": queues, "alerts": alert.run_once(settings, connection, FUNCTION_INTERVAL_MS).reported}


def store_minutes(settings: Settings, connection: "StatementExecutor") -> Counts:
    """Adds recent events to the queues' minutes, and logs events of the SQL interface that filters could not judge.

    `minutes` is 1, or 0 during the pause after the last addition. `unjudged` is the number of logged events.
    """
    options = (CALLS_AT_ONCE, QUEUES_PER_MINUTE, settings.queue_metrics_interval_ms)
    rows = connection.call(STORE_MINUTES, options)
    for row in rows:
        if row.unjudged_key is not None:
            log_unjudged("event", row.unjudged_key)
    return {"minutes": len(rows), "unjudged": sum(row.unjudged for row in rows)}
