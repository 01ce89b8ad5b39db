"""Writes the days that changed since the last export, registers their files, and then removes the replaced files.

The export writes its note last. After an interrupted export, the next export writes the same days again, finds equal
files, and removes the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import psycopg
from pyspark.sql import functions as F

from penstock_metrics.database.address import open_connection
from penstock_metrics.database.read import SourceDatabase
from penstock_metrics.database.tables import list_history_pieces
from penstock_metrics.transforms.columns import map_batches

from .datasets import DATASETS, MESSAGES, Dataset
from .days import Kept, find_computed, find_replaceable
from .place import Note, Place, Slot
from .write import KEY, WRITTEN, WriteTask, build_writer

# The key of the advisory lock that lets only one export work at a time. The number is the bytes of "exports".
_LOCK_KEY: Final = 0x6578706F727473
# The maximum by which a row's times can be later than its `recorded_at` after a clock change.
_CLOCKS: Final = timedelta(days=1)
UNUSED_SECONDS: Final = 3600.0  # How long readers of an Iceberg table may need a replaced file.


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """The place of the files. If `register` is not None, it makes the Iceberg tables consist of exactly the given
    files."""

    place: Place
    register: Callable[[Mapping[str, Collection[str]]], None] | None = None


@dataclass(slots=True)
class Exported:
    """The result of an export. `left` lists the days beyond the retention period, whose files stay unchanged."""

    files: int = 0
    rows: int = 0
    left: Sequence[Slot] = ()


def export(database: SourceDatabase, target: ExportTarget, kept: Kept, report: Callable[[str], None]) -> Exported:
    """Exports the results of the runs since the last export, or of all runs at the first export. Waits for a concurrent
    export."""
    with _turn(database.address) as connection:
        note = target.place.read_note()
        computed = find_computed(connection, note.run_id)
        days, done = list(computed.days()), Exported()
        today = datetime.now(UTC).date()
        written: dict[str, Collection[str]] = {}
        unused = list[str]()
        for dataset in DATASETS:
            there = list(target.place.names(dataset.name, days))
            slots, left = find_replaceable(dataset, days, kept, today, {slot for slot, _ in there})
            rows = _write(database, connection, target, dataset, slots)
            report(f"{dataset.name}: days: {len(days)}; files: {len(rows):,}; rows: {sum(rows.values()):,}")
            unused += [name for slot, name in there if slot in slots and name not in rows]
            done = Exported(done.files + len(rows), done.rows + sum(rows.values()), [*done.left, *left])
            written[dataset.name] = rows
        _finish(target, Note(computed.run_id, note.unused), written, unused)
    if done.left:
        oldest, newest = min(slot.day for slot in done.left), max(slot.day for slot in done.left)
        report(f"not replaced, as rows of these days may be gone: {oldest} to {newest}")
    return done


def _finish(target: ExportTarget, note: Note, written: Mapping[str, Collection[str]], unused: Sequence[str]) -> None:
    place, now = target.place, time.time()
    names = {name for each in written.values() for name in each}
    waiting = {name: since for name, since in note.unused.items() if name not in names}
    waiting |= {name: now for name in unused if name not in waiting}
    if target.register is None:
        place.remove(waiting)
        place.write_note(Note(note.run_id))
        return
    target.register(
        {dataset.name: {name for _, name in place.names(dataset.name)} - waiting.keys() for dataset in DATASETS}
    )
    over = [name for name, since in waiting.items() if since <= now - UNUSED_SECONDS]
    place.remove(over)
    place.write_note(Note(note.run_id, {name: waiting[name] for name in waiting.keys() - over}))


@contextmanager
def _turn(address: str) -> Iterator[psycopg.Connection[Any]]:
    with open_connection(address) as connection:
        connection.execute("select pg_advisory_lock(%s)", (_LOCK_KEY,))
        yield connection


def _write(
    database: SourceDatabase,
    connection: psycopg.Connection[Any],
    target: ExportTarget,
    dataset: Dataset,
    slots: Sequence[Slot],
) -> dict[str, int]:
    """Writes the files of the given slots. Returns the names of the files and the numbers of rows."""
    if not slots:
        return {}
    pieces = list(_list_pieces(connection, dataset, slots)) or ["false"]
    part = F.lit(dataset.parts[0]) if dataset.part is None else F.col(dataset.part)
    day = F.date_format(dataset.time, "yyyy-MM-dd")
    keyed = database.read({dataset.table: pieces}).select(
        F.concat_ws("/", day, "queue_name", part.cast("string")).alias(KEY), *dataset.columns
    )
    folder = F.substring_index(KEY, "/", 2)
    rows = keyed.repartition(folder).sortWithinPartitions(KEY, *dataset.order)
    job = WriteTask(target.place.uri, dataset.name, dataset.schema, frozenset(slots), target.register is not None)
    found = map_batches(rows, build_writer(job), WRITTEN).collect()
    return {row["name"]: row["rows"] for row in found}


def _list_pieces(connection: psycopg.Connection[Any], dataset: Dataset, slots: Sequence[Slot]) -> Iterator[str]:
    """Yields conditions that each select about ten thousand rows, which are an hour of minute windows or a day of other
    rows."""
    if dataset is MESSAGES:
        days = sorted({slot.day for slot in slots})
        inside = " or ".join(f"({_build_condition(dataset.time, *stretch)})" for stretch in _list_stretches(days))
        for piece in list_history_pieces(connection, "queue.history", _find_day(days[0])[0] - _CLOCKS):
            yield f"{piece.condition} and ({inside})"
        return
    for seconds, start, end in _find_spans_with_rows(connection, dataset, list(map(_read_span, slots))):
        yield f"t.window_seconds = {seconds} and {_build_condition('t.starts_at', start, end)}"


def _read_span(slot: Slot) -> tuple[int, datetime, datetime]:
    """Returns the tuple (window_seconds, start, end) of a slot."""
    return slot.part, *_find_day(slot.day)


def _find_spans_with_rows(
    connection: psycopg.Connection[Any], dataset: Dataset, spans: Sequence[tuple[int, datetime, datetime]]
) -> Sequence[tuple[int, datetime, datetime]]:
    """Returns the parts of the spans that have stored windows. The parts are hours for minute windows, and days for
    other windows."""
    rows = connection.execute(
        "select a.seconds, s.at, s.at + s.step from unnest(%s::int[], %s::timestamptz[], %s::timestamptz[])"
        " as a(seconds, low, high)"
        " cross join lateral (select make_interval(hours => case when a.seconds = 60 then 1 else 24 end) as step) x"
        " cross join lateral (select g as at, x.step from generate_series(a.low, a.high - x.step, x.step) g) s"
        f" where exists (select from {dataset.source} t where t.window_seconds = a.seconds and t.starts_at >= s.at"
        " and t.starts_at < s.at + s.step) order by 1, 2".encode(),
        list(map(list, zip(*spans, strict=True))),
    ).fetchall()
    return [(seconds, start, end) for seconds, start, end in rows]


def _list_stretches(days: Sequence[date]) -> Iterator[tuple[datetime, datetime]]:
    """Yields the start and the end of each run of consecutive days."""
    starts = [day for day in days if day - timedelta(days=1) not in days]
    ends = [day for day in days if day + timedelta(days=1) not in days]
    yield from ((_find_day(first)[0], _find_day(last)[1]) for first, last in zip(starts, ends, strict=True))


def _build_condition(column: str, start: datetime, end: datetime) -> str:
    return f"{column} >= '{start.isoformat()}' and {column} < '{end.isoformat()}'"


def _find_day(day: date) -> tuple[datetime, datetime]:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return start, start + timedelta(days=1)
