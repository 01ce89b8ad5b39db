"""Implements one run, which finds the windows to compute, reads messages, computes the windows and writes changes.

    run of requested days               all windows of these days
    first run of the zone               all windows of the history
    later runs                          the windows since the first change, for queues with changes or messages

Runs of requested days do not move the end of the range (`database.ranges`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .database import ranges, runs
from .database.address import open_connection
from .database.forecasts import refresh_forecasts
from .database.ranges import Handled
from .database.read import SourceDatabase
from .database.runs import Run
from .database.snapshot import Snapshot, share_snapshot
from .database.tables import DELIVERIES, FINISHED, FIRES, LIVE, OPEN, Piece, list_history_pieces, list_live_pieces
from .database.write import WindowTable, write_open, write_windows
from .scope import INSTALLATION, Scope
from .span import to_datetime, to_micros
from .transforms import deltas, latency, results
from .transforms.columns import select_messages
from .transforms.windows import build_calendar

# The maximum by which a row's times can be later than its `recorded_at` after a clock change.
_CLOCKS: Final = timedelta(days=1)
# The run computes the windows around the last run again, because they had not ended, and because runs of schedules have
# no transaction.
_MARGIN: Final = timedelta(hours=1)
# The maximum number of queues that a query names. If a query names queues, PostgreSQL does not read other queues.
_NAMED_QUEUES: Final = 1000


@dataclass(frozen=True, slots=True)
class RequestedSpan:
    """The requested days of `zone`, from `start` to `end`. If both are None, the run computes changes."""

    zone: ZoneInfo
    start: datetime | None = None
    end: datetime | None = None

    @property
    def is_span(self) -> bool:
        return self.start is not None or self.end is not None


@dataclass(slots=True)
class Step:
    """Counts the rows of one part of a run for the progress report."""

    rows: int = 0


@dataclass(slots=True)
class Job:
    """The current run."""

    database: SourceDatabase
    run: Run
    report: Callable[[str], None]
    kept: list[DataFrame] = field(default_factory=list)

    def keep(self, rows: DataFrame) -> DataFrame:
        """Returns the same rows. Once Spark has computed the rows, it stores them in memory or on disk until
        `release`."""
        stored = rows.persist(StorageLevel.MEMORY_AND_DISK)
        self.kept.append(stored)
        return stored

    def checkpoint(self, rows: DataFrame) -> DataFrame:
        """Computes and stores the rows, and returns them, so that Spark does not repeat their plan at each use."""
        return rows.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)

    @contextmanager
    def step(self, what: str) -> Iterator[Step]:
        """Reports the start of a step, and its duration at the end."""
        step, began = Step(), time.monotonic()
        self.report(what)
        yield step
        self.report(f"{what}: rows: {step.rows:,}; {time.monotonic() - began:.1f} s")

    def release(self) -> None:
        for rows in self.kept:
            rows.unpersist()
        self.kept.clear()


@dataclass(frozen=True, slots=True)
class State:
    """The input of a run, which is the snapshot, the messages in the tables, and the time since which each queue's
    history is complete."""

    snapshot: Snapshot
    live: DataFrame
    kept_us: dict[int, int]


def compute(
    database: SourceDatabase, requested: RequestedSpan, mode: str = "once", report: Callable[[str], None] | None = None
) -> Run:
    """Computes windows and writes the changed windows. Returns the run with its counts of rows."""
    zone = requested.zone.key
    with runs.record_run(database.address, mode, zone) as run:
        job = Job(database, run, report or ignore_progress)
        try:
            database.start()
            with open_connection(database.address) as connection:
                last = ranges.last_range(connection, zone)
                ranges.begin_range(connection, zone, last)
            state = _state(job)
            if requested.is_span:
                scope = _plan_requested(job, requested, state)
            else:
                scope = _plan_changed(job, requested.zone, state, last)
            since = None if requested.is_span else last
            end = min(state.snapshot.at, to_datetime(scope.span.end_us))
            run.covers(to_datetime(scope.start_us), end, state.snapshot, since)
            job.report(f"queues: {len(scope.since_us):,}; from {to_datetime(scope.start_us):%Y-%m-%d %H:%M} UTC on")
            _compute(job, state, scope)
        finally:
            job.release()
    return run


def _state(job: Job) -> State:
    database = job.database
    with open_connection(database.address) as connection:
        pieces = list_live_pieces(connection)
    with share_snapshot(database.address) as snapshot:
        kept_us = ranges.find_kept_since(database.address, snapshot)
        messages = database.read({LIVE: pieces}, snapshot.exported).transform(select_messages)
        live = job.keep(messages.join(_read_queues(database, kept_us), "queue_id", "left_semi"))
        held = live.count()
    job.report(f"messages in the tables: {held:,}; queues with a history: {len(kept_us) - 1:,}")
    return State(snapshot, live, kept_us)


def _read_queues(database: SourceDatabase, ids: Iterable[int]) -> DataFrame:
    return F.broadcast(database.session.createDataFrame([(queue,) for queue in ids], "queue_id int"))


def _plan_requested(job: Job, requested: RequestedSpan, state: State) -> Scope:
    """Returns the scope of the requested days. Without a start, the scope begins at the first message."""
    end = requested.end or _read_now(state)
    start = requested.start or _find_earliest(job) or end
    return _build_scope(dict.fromkeys(state.kept_us, to_micros(min(start, end))), state, requested.zone, end)


def _find_earliest(job: Job) -> datetime | None:
    with open_connection(job.database.address) as connection:
        return ranges.find_earliest_message(connection)


def _read_now(state: State) -> datetime:
    return state.snapshot.at + timedelta(microseconds=1)


def _build_scope(first_us: dict[int, int], state: State, zone: ZoneInfo, end: datetime) -> Scope:
    return Scope.of(first_us, state.kept_us, end, state.snapshot.at, zone)


def _plan_changed(job: Job, zone: ZoneInfo, state: State, last: Handled | None) -> Scope:
    """Returns the scope of the windows since the first change. Stores the open messages."""
    with job.step("looking for changes") as step:
        now_us = state.snapshot.now_us
        open_now = job.checkpoint(state.live.transform(deltas.sum_contributions(now_us)))
        changes = _find_changes(job, zone.key, state, open_now, last)
        step.rows = len(changes)
        changed = [change.queue_id for change in changes if change.changed]
        _store_open(job, open_now, changed)
        job.run.handles(state.snapshot, changed)
    if last is None:
        first = _find_earliest(job)
        return _build_scope(
            dict.fromkeys(state.kept_us, to_micros(first or _read_now(state))), state, zone, _read_now(state)
        )
    around = to_micros(last.snapshot.at - _MARGIN)
    first_us = {
        change.queue_id: min(around, change.first_us or around)
        for change in changes
        if change.first_us is not None or change.is_open
    }
    with open_connection(job.database.address) as connection:
        delivery = ranges.find_earliest_delivery(connection, last.unhandled_condition(state.snapshot))
    first_us[INSTALLATION] = around if delivery is None else min(around, to_micros(delivery))
    return _build_scope(first_us, state, zone, _read_now(state))


def _find_changes(
    job: Job, zone: str, state: State, open_now: DataFrame, last: Handled | None
) -> Sequence[deltas.DepthChange]:
    """Returns the changes of each queue. If `last` is None, the result contains only open messages."""
    recorded, stored = ["false"], "false"
    if last is not None:
        with open_connection(job.database.address) as connection:
            pieces = list_history_pieces(connection, "queue.history", last.snapshot.at - ranges.LATE)
        recorded = [f"{piece.condition} and {last.unhandled_condition(state.snapshot)}" for piece in pieces]
        stored = f"zone = {_quote(zone)} and run_id <= {last.run_id}"
    new = job.database.read({FINISHED: recorded}).transform(select_messages)
    open_then = job.database.read({OPEN: [stored]}).transform(deltas.read_stored)
    return deltas.find_changed(new.transform(deltas.sum_contributions(state.snapshot.now_us)), open_now, open_then)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _store_open(job: Job, open_now: DataFrame, changed: list[int]) -> None:
    rows = open_now.join(_read_queues(job.database, changed), "queue_id", "left_semi")
    rows = rows.transform(deltas.list_lines(job.run.zone, job.run.run_id))
    write_open(rows.toLocalIterator(), job.database.address)


def _compute(job: Job, state: State, scope: Scope) -> None:
    snapshot, since = state.snapshot, to_datetime(scope.start_us) - _CLOCKS
    with open_connection(job.database.address) as connection:
        finished = [
            f"{piece.condition}{_build_queue_condition(scope, piece)} and {snapshot.visibility_condition}"
            for piece in list_history_pieces(connection, "queue.history", since)
        ]
        deliveries = [
            f"{piece.condition} and {snapshot.visibility_condition}"
            for piece in list_history_pieces(connection, "queue.outgoing_delivery_history", since)
        ]
    fires = [f"fired_at >= '{since.isoformat()}' and fired_at <= '{snapshot.at.isoformat()}'"]
    read = job.database.read({FINISHED: finished}).transform(select_messages).unionByName(state.live.drop("state"))
    asked = scope.frame(job.database.session)
    with job.step(f"reading the history in {len(finished)} pieces") as step:
        concerned = read.join(asked, "queue_id").where(_build_concern(scope))
        messages = job.keep(concerned.drop("since_us"))
        step.rows = messages.count()
    job.run.progress(read=step.rows)
    others = job.database.read({FIRES: fires, DELIVERIES: deliveries}).transform(latency.sum_installation)
    _write(job, state, scope, messages, others)


def _build_queue_condition(scope: Scope, piece: Piece) -> str:
    """Returns a condition for the queues that need rows as early as the piece's rows, or an empty text for more than
    _NAMED_QUEUES queues."""
    end_us = None if piece.high is None else to_micros(piece.high + _CLOCKS)
    queues = scope.queues_before(end_us)
    if len(queues) > _NAMED_QUEUES:
        return ""
    return f" and queue_id = any ('{{{','.join(map(str, queues))}}}')"


def _write(job: Job, state: State, scope: Scope, messages: DataFrame, others: DataFrame) -> None:
    session, address, zone = job.database.session, job.database.address, job.run.zone
    asked = scope.frame(session)
    inputs = results.ResultInputs(
        build_calendar(session, scope.span), scope.span, asked, job.checkpoint, job.run.rows_read
    )
    with job.step("counts and depths of windows") as step:
        rows = job.checkpoint(results.build_windows(messages, state.live, inputs))
        step.rows = write_windows(rows, WindowTable.of("metrics_window", zone, scope), address)
    job.run.progress(written=step.rows)
    with job.step("latencies of windows") as step:
        found = results.build_latencies(messages, others, rows, inputs)
        step.rows = write_windows(found, WindowTable.of("metrics_latency", zone, scope), address)
    job.run.progress(written=step.rows)
    if scope.span.end_us > state.snapshot.now_us:
        with job.step("forecasts") as step:
            open_now = state.live.where("finished_us is null")
            backlog = open_now.groupBy("queue_id").agg(F.count("*").alias("backlog"))
            step.rows = refresh_forecasts(job.database, state.snapshot.now_us, backlog)
        job.run.progress(written=step.rows)


def _build_concern(scope: Scope) -> Column:
    """Returns a condition for messages that were in a queue, arrived, were received or ended since the queue's time."""
    first = F.least("entered_us", "received_us", "finished_us")
    last = F.greatest("entered_us", "received_us", "finished_us", F.array_max("redelivered_us"))
    high = scope.span.bounds(3600)[1]
    return (first < high) & ((last >= F.col("since_us")) | F.col("finished_us").isNull())


def ignore_progress(text: str) -> None:
    """Reports nothing."""


def print_progress(text: str) -> None:
    """Writes progress to standard error."""
    print(f"{datetime.now().astimezone():%H:%M:%S} {text}", file=sys.stderr, flush=True)
