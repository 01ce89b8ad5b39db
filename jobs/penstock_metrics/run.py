"""One run: it finds the days to compute, reads messages, computes windows and writes them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .database import runs
from .database.address import open_connection
from .database.forecasts import refresh_forecasts
from .database.read import Database
from .database.runs import Run
from .database.snapshot import Snapshot, shared_snapshot
from .database.tables import FINISHED, FIRES, LIVE, WEBHOOKS, history_pieces, live_pieces
from .database.write import replace_windows
from .span import Span, moment
from .transforms import latency, results
from .transforms.columns import messages_of
from .transforms.windows import calendar

_CLOCKS: Final = timedelta(
    days=1
)  # a row's times may be this much later than its recording, when the clock was changed


@dataclass(frozen=True, slots=True)
class RequestedDays:
    """Days of `zone` to compute, from `start` to `end`; None: from the first change since the last run, up to now."""

    zone: ZoneInfo
    start: datetime | None = None
    end: datetime | None = None


@dataclass(slots=True)
class Step:
    """The number of rows of a part of a run, for the progress report."""

    rows: int = 0


@dataclass(slots=True)
class Job:
    """A run under way."""

    database: Database
    run: Run
    report: Callable[[str], None]
    kept: list[DataFrame] = field(default_factory=list)

    def keep(self, rows: DataFrame) -> DataFrame:
        """The rows, which Spark stores when it first computes them, in memory or on disk, until `release`."""
        stored = rows.persist(StorageLevel.MEMORY_AND_DISK)
        self.kept.append(stored)
        return stored

    def checkpoint(self, rows: DataFrame) -> DataFrame:
        """The rows, computed and stored without their plan, which Spark would plan again at each use."""
        return rows.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)

    @contextmanager
    def step(self, what: str) -> Iterator[Step]:
        """Reports that a step begins, and how long it took."""
        step, began = Step(), time.monotonic()
        self.report(what)
        yield step
        self.report(f"{what}: {step.rows:,} rows, {time.monotonic() - began:.1f} s")

    def release(self) -> None:
        for rows in self.kept:
            rows.unpersist()
        self.kept.clear()


def compute(
    database: Database,
    requested: RequestedDays,
    mode: str = "once",
    report: Callable[[str], None] | None = None,
) -> Run:
    """Computes and replaces the windows of the requested days. Returns the run, with its counts of rows."""
    with runs.recorded_run(database.address, mode) as run:
        job = Job(database, run, report or no_progress)
        try:
            database.start()
            with open_connection(database.address) as connection:
                pieces = live_pieces(connection)
            with shared_snapshot(database.address) as snapshot:
                live = job.keep(database.read({LIVE: pieces}, snapshot.exported).transform(messages_of))
                held = live.count()
            span = span_of(database.address, requested, snapshot)
            run.covers(moment(span.start_us), min(snapshot.at, moment(span.end_us)), snapshot.below)
            job.report(f"from {moment(span.start_us):%Y-%m-%d %H:%M} UTC on; {held:,} messages in the tables")
            _compute(job, snapshot, span, live)
        finally:
            job.release()
    return run


def span_of(address: str, requested: RequestedDays, snapshot: Snapshot) -> Span:
    """The requested days, else those whose windows may have changed since the last run."""
    with open_connection(address) as connection:
        start = requested.start
        if start is None:
            last = runs.last_run(connection)
            start = runs.changed_since(connection, last) if last else runs.earliest_message(connection)
    end = requested.end or snapshot.at + timedelta(microseconds=1)
    return Span.of(min(start or snapshot.at, end), end, snapshot.at, requested.zone)


def _compute(job: Job, snapshot: Snapshot, span: Span, live: DataFrame) -> None:
    since = moment(span.start_us) - _CLOCKS
    with open_connection(job.database.address) as connection:
        finished = [
            f"{piece} and {snapshot.visibility_condition}"
            for piece in history_pieces(connection, "queue.history", since)
        ]
        webhooks = [
            f"{piece} and {snapshot.visibility_condition}"
            for piece in history_pieces(connection, "queue.webhook_history", since)
        ]
    fires = [f"fired_at >= '{since.isoformat()}' and fired_at <= '{snapshot.at.isoformat()}'"]
    read = job.database.read({FINISHED: finished}).transform(messages_of).unionByName(live.drop("state"))
    with job.step(f"reading the history in {len(finished)} pieces") as step:
        messages = job.keep(read.where(_concerns(span)))
        step.rows = messages.count()
    job.run.progress(read=step.rows)
    others = job.database.read({FIRES: fires, WEBHOOKS: webhooks}).transform(latency.of_installation)
    _write(job, span, messages, live, others, snapshot)


def _write(
    job: Job, span: Span, messages: DataFrame, live: DataFrame, others: DataFrame, now: Snapshot
) -> None:
    inputs = results.ResultInputs(
        calendar(job.database.session, span), span, job.checkpoint, job.run.rows_read
    )
    address = job.database.address
    with job.step("counts and depths of windows") as step:
        rows = job.checkpoint(results.windows(messages, live, inputs))
        step.rows = replace_windows(rows, "metrics_window", span, address)
    job.run.progress(written=step.rows)
    with job.step("latencies of windows") as step:
        found = results.latencies(messages, others, results.groups_of(rows), inputs)
        step.rows = replace_windows(found, "metrics_latency", span, address)
    job.run.progress(written=step.rows)
    if span.end_us > now.now_us:
        with job.step("forecasts") as step:
            backlog = live.where("finished_us is null").groupBy("queue_id").agg(F.count("*").alias("backlog"))
            step.rows = refresh_forecasts(job.database, now.now_us, backlog)
        job.run.progress(written=step.rows)


def _concerns(span: Span) -> Column:
    """Condition: messages that were in a queue in the span, or came, were received or ended in it."""
    first = F.least("entered_us", "received_us", "finished_us")
    last = F.greatest("entered_us", "received_us", "finished_us", F.array_max("redelivered_us"))
    low, high = span.bounds(3600)
    return (first < high) & ((last >= low) | F.col("finished_us").isNull())


def no_progress(text: str) -> None:
    """Reports nothing."""


def print_progress(text: str) -> None:
    """Writes progress to standard error."""
    print(f"{datetime.now().astimezone():%H:%M:%S} {text}", file=sys.stderr, flush=True)
