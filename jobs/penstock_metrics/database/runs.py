"""queue.metrics_run: the runs and what they covered; and from which time on a run has to compute windows again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg

from .address import open_connection

Connection = psycopg.Connection[Any]

# Key of the advisory lock under which one run works at a time: two that replace the same windows would violate the
# primary key. The bytes of "metrics".
_LOCK_KEY: Final = 0x6D657472696373
# A transaction may commit this long after a row's recorded_at; and MARGIN after a message's sent_at.
LATE: Final = timedelta(days=1)
MARGIN: Final = timedelta(hours=1)


# Who has the lock knows that no other run is under way.
_END_KILLED_RUNS: Final = (
    "update queue.metrics_run set finished_at = clock_timestamp(), error = 'the process ended before the run'"
    " where finished_at is null"
)


@dataclass(slots=True)
class Run:
    """A row of the table whose run is under way."""

    connection: Connection
    run_id: int
    rows_read: int = 0
    rows_written: int = 0

    def covers(self, start: datetime, end: datetime, below: int) -> None:
        """Stores the time that the run covers. `below`: rows of transactions from it on are left to the next run."""
        query = "update queue.metrics_run set from_at = %s, to_at = %s, recorded_below = %s::text::xid8"
        self.connection.execute(f"{query} where run_id = %s".encode(), (start, end, str(below), self.run_id))

    def progress(self, *, read: int = 0, written: int = 0) -> None:
        """Counts what has been read and written."""
        self.rows_read += read
        self.rows_written += written
        query = "update queue.metrics_run set rows_read = %s, rows_written = %s where run_id = %s"
        self.connection.execute(query, (self.rows_read, self.rows_written, self.run_id))


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run without error: it read, at `at`, the rows of all transactions below `below`."""

    below: int
    at: datetime


@contextmanager
def recorded_run(address: str, mode: str) -> Iterator[Run]:
    """Adds a run to the table; finishes it at the end of the block, with the block's error. Waits for other runs."""
    with open_connection(address) as connection:
        connection.execute("select pg_advisory_lock(%s)", (_LOCK_KEY,))
        connection.execute(_END_KILLED_RUNS)
        row = connection.execute(
            "insert into queue.metrics_run (mode) values (%s) returning run_id", (mode,)
        ).fetchone()
        assert row is not None
        run = Run(connection, row[0])
        try:
            yield run
        except BaseException as error:
            _finish(run, reason(error))
            raise
        _finish(run, None)


def last_run(connection: Connection) -> LastRun | None:
    """The newest run without error; None when there is none. `below` is 0 when it is a number of another cluster."""
    row = connection.execute(
        "select case when recorded_below <= pg_snapshot_xmax(pg_current_snapshot())"
        " then recorded_below::text::bigint else 0 end, to_at from queue.metrics_run"
        " where finished_at is not null and error is null and recorded_below is not null order by run_id desc limit 1"
    ).fetchone()
    return None if row is None else LastRun(*row)


def earliest_message(connection: Connection) -> datetime | None:
    """The first known time of a message, a schedule's run or a webhook; None when there is none."""
    row = connection.execute(
        "select least((select min(sent_at) from queue.finished_message), (select min(sent_at) from queue.live_message),"
        " (select min(fired_at) from queue.schedule_run), (select min(published_at) from queue.finished_webhook))"
    ).fetchone()
    return None if row is None else row[0]


def changed_since(connection: Connection, last: LastRun) -> datetime:
    """The time from which on windows may have changed, by the rows that were recorded since the last run."""
    query = f"select min(changed_at) from ({changes_of(last.at - LATE, last.below)}) c"
    row = connection.execute(query.encode()).fetchone()
    times: list[datetime] = [last.at - MARGIN, *(at for at in row or () if at is not None)]
    return min(times)


def changes_of(since: datetime, low: int, high: int | None = None) -> str:
    """SQL: for each row that a transaction in [low, high) recorded, changed_at, the first time that it concerns."""
    below = "" if high is None else f" and transaction < '{high}'::xid8"
    return (
        "select least(sent_at, first_received_at, finished_at) as changed_at from queue.finished_message"
        f" where recorded_at >= '{since.isoformat()}' and transaction >= '{low}'::xid8{below}"
    )


def is_interrupt(error: BaseException | None) -> bool:
    """Whether the process was told to stop: by this error, or by what led to it, as to a broken call of Spark's."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def reason(error: BaseException) -> str:
    """The error in one line. An executor's error from PostgreSQL is a line within the text of Spark's exception."""
    if is_interrupt(error):
        return "interrupted"
    text = str(error)
    found = re.findall(r"^\s*((?:psycopg|adbc_driver_manager)\.\S+: .*)$", text, re.MULTILINE)
    return " ".join((found[0] if found else text).split())[:1000] or type(error).__name__


def _finish(run: Run, error: str | None) -> None:
    query = "update queue.metrics_run set finished_at = clock_timestamp(), error = %s where run_id = %s"
    run.connection.execute(query, (error, run.run_id))
