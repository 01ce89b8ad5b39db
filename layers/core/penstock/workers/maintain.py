"""Cleans: acknowledged messages, what is past its retention, deleted queues, old deduplication ids and history,
old runs of schedules.

A run is bounded in time and goes on, next time, where it stopped.
"""

from time import monotonic
from typing import Any

import psycopg

from ..settings import Settings
from ..statements import (
    CLEAN_SCHEDULE_RUNS,
    MAINTAIN_INSTALLATION,
    MAINTAIN_QUEUE,
    NEXT_QUEUES,
    Statement,
)
from . import Counts

LONGEST_RUN_SECONDS = 1.5
QUEUES_A_LOOK = 100
ROWS_A_TABLE = 10_000


def run_once(settings: Settings, connection: "psycopg.Connection[Any]") -> Counts:
    """One bounded run on an autocommit connection. Raises psycopg.Error; what was done before stays done."""
    deadline = monotonic() + LONGEST_RUN_SECONDS
    queues = messages = 0
    with psycopg.RawCursor(connection) as cursor:
        removed = number(cursor, MAINTAIN_INSTALLATION, ROWS_A_TABLE, settings.queue_history_days)
        removed += number(cursor, CLEAN_SCHEDULE_RUNS, ROWS_A_TABLE, settings.queue_schedule_history_seconds)
        while monotonic() < deadline:
            due = cursor.execute(NEXT_QUEUES.text, ("maintain", QUEUES_A_LOOK)).fetchall()
            if not due:
                break
            for (queue_id,) in due:
                messages += number(cursor, MAINTAIN_QUEUE, queue_id)
                queues += 1
    return {"queues": queues, "messages": messages, "rows": removed}


def number(cursor: "psycopg.RawCursor[Any]", statement: Statement, *arguments: object) -> int:
    """The one number that a maintenance function returns."""
    row = cursor.execute(statement.text, arguments).fetchone()
    return int(row[0]) if row else 0
