"""Records the runs in queue.metrics_run, with the covered time and the results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import psycopg

from .address import open_connection
from .ranges import Handled, end_range
from .snapshot import Snapshot

Connection = psycopg.Connection[Any]

# The key of the advisory lock that lets only one run work at a time. Two runs that replace the same windows would
# violate the primary key. The number is the bytes of "metrics".
_LOCK_KEY: Final = 0x6D657472696373


# The current run holds the lock, so no other run works, and all unfinished runs were killed.
_END_KILLED_RUNS: Final = (
    "update queue.metrics_run set finished_at = clock_timestamp(), error = 'the process ended before the run'"
    " where finished_at is null"
)


@dataclass(slots=True)
class Run:
    """The current run and its row."""

    connection: Connection
    run_id: int
    zone: str
    rows_read: int = 0
    rows_written: int = 0
    handled: tuple[Handled, list[int]] | None = None

    def covers(self, start: datetime, end: datetime, seen: Snapshot, since: Handled | None) -> None:
        """Stores the run's time span and snapshot. The run handles rows that were recorded after `since`."""
        query = (
            "update queue.metrics_run set from_at = %s, to_at = %s, recorded_below = pg_snapshot_xmin(%s),"
            " recorded_from = %s, recorded_to = %s where run_id = %s"
        )
        before = None if since is None else since.snapshot.text
        self.connection.execute(query, (start, end, seen.text, before, seen.text, self.run_id))

    def handles(self, seen: Snapshot, changed: list[int]) -> None:
        """Prepares to move the end of the zone's range to this snapshot, if the run succeeds (`end_range`)."""
        self.handled = Handled(self.run_id, seen), changed

    def progress(self, *, read: int = 0, written: int = 0) -> None:
        """Adds numbers of rows to the run's counts of read and written rows."""
        self.rows_read += read
        self.rows_written += written
        query = "update queue.metrics_run set rows_read = %s, rows_written = %s where run_id = %s"
        self.connection.execute(query, (self.rows_read, self.rows_written, self.run_id))


@contextmanager
def record_run(address: str, mode: str, zone: str) -> Iterator[Run]:
    """Waits for other runs, and records a run, which ends at the end of the block. Stores the block's error with the
    run."""
    with open_connection(address) as connection:
        connection.execute("select pg_advisory_lock(%s)", (_LOCK_KEY,))
        connection.execute(_END_KILLED_RUNS)
        row = connection.execute(
            "insert into queue.metrics_run (mode, zone) values (%s, %s) returning run_id", (mode, zone)
        ).fetchone()
        assert row is not None
        run = Run(connection, row[0], zone)
        try:
            yield run
        except BaseException as error:
            _finish(run, describe_reason(error))
            raise
        _finish(run, None)


def is_interrupt(error: BaseException | None) -> bool:
    """Returns whether an error or one of its causes is an interrupt. A broken Spark call hides the interrupt."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def describe_reason(error: BaseException) -> str:
    """Returns the error in one line. The text of Spark's exception contains an executor's error from PostgreSQL."""
    if is_interrupt(error):
        return "interrupted"
    text = str(error)
    found = re.findall(r"^\s*((?:psycopg|adbc_driver_manager)\.\S+: .*)$", text, re.MULTILINE)
    return " ".join((found[0] if found else text).split())[:1000] or type(error).__name__


def _finish(run: Run, error: str | None) -> None:
    query = "update queue.metrics_run set finished_at = clock_timestamp(), error = %s where run_id = %s"
    with run.connection.transaction():
        run.connection.execute(query, (error, run.run_id))
        if error is None and run.handled is not None:
            end_range(run.connection, run.zone, *run.handled)
