"""Cleans: acknowledged messages, what is past its retention, deleted queues, old deduplication ids and history,
old runs of schedules.

A run is bounded in time and goes on, next time, where it stopped.
"""

from time import monotonic
from typing import TYPE_CHECKING

from ..settings import Settings
from ..statements import (
    CLEAN_SCHEDULE_RUNS,
    MAINTAIN_INSTALLATION,
    MAINTAIN_QUEUE,
    NEXT_QUEUES,
    Statement,
)
from . import Counts

if TYPE_CHECKING:
    from ..drivers import Calls

LONGEST_RUN_SECONDS = 1.5
QUEUES_A_LOOK = 100
ROWS_A_TABLE = 10_000


def run_once(settings: Settings, connection: "Calls") -> Counts:
    """One bounded run; each call is a transaction. Raises what calls raise; what was done before stays done."""
    deadline = monotonic() + LONGEST_RUN_SECONDS
    queues = messages = 0
    removed = number(connection, MAINTAIN_INSTALLATION, ROWS_A_TABLE, settings.queue_history_days)
    removed += number(connection, CLEAN_SCHEDULE_RUNS, ROWS_A_TABLE, settings.queue_schedule_history_seconds)
    while monotonic() < deadline and (due := connection.call(NEXT_QUEUES, ["maintain", QUEUES_A_LOOK])):
        for (queue_id,) in due:
            messages += number(connection, MAINTAIN_QUEUE, queue_id)
            queues += 1
    return {"queues": queues, "messages": messages, "rows": removed}


def number(connection: "Calls", statement: Statement, *arguments: object) -> int:
    """The one number that a maintenance function returns."""
    rows = connection.call(statement, arguments)
    return int(rows[0][0] or 0) if rows else 0
