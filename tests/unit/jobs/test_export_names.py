"""Tests the names of exported files, and the days that an export writes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.settings import Settings
from penstock_metrics.main import build_parser, parse_instant
from penstock_metrics.output import write
from penstock_metrics.output.datasets import DATASETS, LATENCIES, MESSAGES, WINDOWS
from penstock_metrics.output.days import Computed, Kept, find_replaceable
from penstock_metrics.output.iceberg import NoCatalogError
from penstock_metrics.output.options import build_exporter
from penstock_metrics.output.place import Note, Place, Slot, build_file_name, parse_slot
from penstock_metrics.output.write import KEY, WriteTask, build_key, build_writer
from penstock_metrics.scope import Scope
from penstock_metrics.span import HOUR, MINUTE, QUARTER, DaySpan, find_zone, to_datetime, to_micros

TODAY = date(2026, 3, 29)
A_DAY = "messages/day=2026-03-29/queue=orders"


def test_a_name_says_its_slot() -> None:
    name = build_file_name("windows", "2026-03-29", "orders.fifo", 3600, 2, "0f" * 16)
    assert name == f"windows/day=2026-03-29/queue=orders.fifo/3600-0002-{'0f' * 16}.parquet"
    assert parse_slot(name) == Slot("windows", TODAY, 3600)
    assert parse_slot("windows/day=2026-03-29/queue=orders/_60-0000-.parquet") is None


def test_days_of_runs_are_days_of_utc() -> None:
    start, end = datetime(2026, 3, 28, 23, 59, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC)
    assert list(Computed(1, start, end).days()) == [date(2026, 3, day) for day in (28, 29, 30)]
    assert list(Computed(0, None, None).days()) == []


def test_old_days_are_written_once() -> None:
    """Penstock keeps minutes for 30 days, hours for 360 days, and days forever."""
    days, kept = [date(2025, 3, 1), date(2026, 2, 1), TODAY], Kept(30, 7)
    there = {Slot(WINDOWS.name, day, part) for day in days for part in WINDOWS.parts}
    write_, leave = find_replaceable(WINDOWS, days, kept, TODAY, there)
    assert [(slot.day.year, slot.part) for slot in leave] == [(2025, 60), (2025, 3600), (2026, 60)]
    assert len(write_) == 6
    assert find_replaceable(WINDOWS, days, kept, TODAY, ())[1] == []
    assert find_replaceable(MESSAGES, days, kept, TODAY, {Slot("messages", days[1], 0)})[1] == [
        Slot("messages", days[1], 0)
    ]


def batches(groups: list[str], queue: str = "orders", size: int = 3) -> list[pa.RecordBatch]:
    """Returns the messages of one day, which all have different groups."""
    rows = [dict.fromkeys(MESSAGES.schema.names) | {"group_id": group} for group in groups]
    table = pa.Table.from_pylist(rows, MESSAGES.schema)
    keys = pa.array([build_key("2026-03-29", queue, 0)] * len(groups))
    made: list[pa.RecordBatch] = table.add_column(0, KEY, keys).to_batches(max_chunksize=size)
    return made


def test_large_days_are_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file has 4 rows in this test, regardless of the size of the batches. The export removes the files that it
    replaces, but not the files of other programs.
    """
    monkeypatch.setattr(write, "ROWS", 4)
    place = Place.of(str(tmp_path))
    job = WriteTask(
        place.uri, "messages", MESSAGES.schema, frozenset([Slot("messages", TODAY, 0)]), keep_replaced=False
    )
    first = [*batches(list("abcdefghij")), *batches(["x"], "bills")]
    told = {name: rows for batch in build_writer(job)(iter(first)) for name, rows in batch.to_pydict().items()}
    assert told["rows"] == [1]
    (tmp_path / A_DAY / "_note.txt").write_text("mine")
    names = sorted(path.name for path in (tmp_path / A_DAY).glob("*.parquet"))
    assert [pq.read_metadata(tmp_path / A_DAY / name).num_rows for name in names] == [4, 4, 2]
    list(build_writer(job)(iter(batches(list("abcdz")))))
    again = sorted(path.name for path in (tmp_path / A_DAY).iterdir())
    assert (again[0], len(again), again[-1]) == (names[0], 3, "_note.txt")
    groups = pq.read_table(tmp_path / "messages", filters=[("queue", "=", "orders")])["group_id"].to_pylist()
    assert sorted(groups) == list("abcdz")


def test_the_note_of_a_place(tmp_path: Path) -> None:
    place = Place.of(str(tmp_path / "new"))
    assert place.read_note() == Note()
    place.write_note(Note(7, {"a": 1.5}))
    assert place.read_note() == Note(7, {"a": 1.5})
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["_penstock.json"]


def test_no_column_has_a_body() -> None:
    names = {name for dataset in DATASETS for name in dataset.schema.names}
    assert not names & {"body", "attributes", "system"}
    assert {"day", "queue"}.isdisjoint(names)
    assert LATENCIES.table.columns.endswith(
        "sketch_buckets array<int>, sketch_counts array<bigint>, negative_count bigint"
    )


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (["--iceberg", "lake.penstock"], ValueError, "--iceberg needs --parquet"),
        (["--parquet", "/tmp/x", "--continuous"], ValueError, "does not go with --continuous"),
        (["--parquet", "what://x"], ValueError, "--parquet what://x"),
        (["--parquet", "/tmp/x", "--iceberg", "lake"], ValueError, "CATALOG.NAMESPACE"),
        (["--parquet", "/tmp/x", "--iceberg", "nothing.penstock"], NoCatalogError, "PYICEBERG_CATALOG__NOTHING__URI"),
    ],
)
def test_bad_options(options: list[str], error: type[Exception], text: str) -> None:
    """These options end the job before any computation."""
    with pytest.raises(error, match=text):
        build_exporter(build_parser().parse_args(options), Settings.read({}))


# --- scope -----------------------------------------------------------------------------------------------------------
# Tests from which time a run computes the windows of each queue.


BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 30, 12, tzinfo=UTC)


def us(text: str) -> int:
    return to_micros(datetime.fromisoformat(text))


def scope(first: dict[int, int], kept: dict[int, int], zone: ZoneInfo = BERLIN) -> Scope:
    return Scope.of(first, kept, NOW, NOW, zone)


def test_all_windows_around_the_first_change() -> None:
    """The longest window is the day of the change. The queue with the earliest change determines the span."""
    found = scope({1: us("2026-03-29T15:20Z"), 2: us("2026-03-30T11:59Z")}, {1: 0, 2: 0})
    assert found.since_us == {1: us("2026-03-29T00:00+01:00"), 2: us("2026-03-30T00:00+02:00")}
    assert found.start_us == found.span.start_us == us("2026-03-29T00:00+01:00")
    assert found.span.end_us == us("2026-03-31T00:00+02:00")


def test_an_hour_that_begins_before_its_day_does() -> None:
    found = scope({1: us("2026-03-29T18:45Z")}, {1: 0}, ZoneInfo("Asia/Kolkata"))
    assert found.since_us == {1: us("2026-03-29T18:00Z")}
    assert found.span.start_us <= us("2026-03-29T18:00Z")


def test_days_that_the_history_has_lost_are_left_out() -> None:
    """The span also omits queues without history and deleted queues."""
    kept = us("2026-03-30T05:00Z")
    found = scope({1: us("2026-03-01T00:00Z"), 2: us("2026-03-30T11:59Z"), 3: 0}, {1: kept, 2: 0})
    assert found.since_us == {1: kept, 2: us("2026-03-30T00:00+02:00")}


def test_the_queues_that_need_old_rows() -> None:
    found = scope({1: us("2026-03-29T15:20Z"), 2: us("2026-03-30T11:59Z")}, {1: 0, 2: 0})
    assert found.queues_before(us("2026-03-29T12:00Z")) == [1]
    assert found.queues_before(us("2026-03-30T12:00Z")) == found.queues_before(None) == [1, 2]


def test_nothing_to_compute() -> None:
    found = scope({}, {1: 0})
    assert (found.since_us, found.span.end_us - found.span.start_us) == ({}, 24 * HOUR)
    assert found.start_us == found.span.end_us


# --- span ------------------------------------------------------------------------------------------------------------
# Tests the days in a time zone and their windows.


NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)


def span(start: str, end: str, zone: str) -> DaySpan:
    return DaySpan.of(datetime.fromisoformat(start), datetime.fromisoformat(end), NOVEMBER, ZoneInfo(zone))


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", "2026-03-28", 24),
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("America/New_York", "2026-03-08", 23),
        ("America/New_York", "2026-11-01", 25),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
        ("Asia/Kolkata", "2026-03-29", 24),
        ("UTC", "2026-03-29", 24),
    ],
)
def test_a_day_is_as_long_as_in_its_zone(zone: str, day: str, hours: float) -> None:
    noon = datetime.fromisoformat(f"{day}T12:00:00").replace(tzinfo=ZoneInfo(zone))
    found = DaySpan.of(noon, noon, NOVEMBER, ZoneInfo(zone))
    assert found.end_us - found.start_us == hours * HOUR
    assert to_datetime(found.start_us).astimezone(ZoneInfo(zone)).strftime("%F %T") == f"{day} 00:00:00"


def test_a_span_is_made_of_whole_days_without_gaps() -> None:
    found = span("2026-03-28T23:30+00:00", "2026-03-31T00:00+02:00", "Europe/Berlin")
    starts = [to_datetime(day).astimezone(BERLIN).strftime("%F") for day in found.days]
    assert starts == ["2026-03-29", "2026-03-30", "2026-03-31"]
    assert [later - earlier for earlier, later in pairwise(found.days)] == [23 * HOUR, 24 * HOUR]


def test_the_slots_of_a_day_lie_in_it() -> None:
    found = span("2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00", "Europe/Berlin")
    slots = list(found.slots())
    assert found.slot_us == QUARTER
    assert len(slots) == 100
    assert all(start <= slot < end for slot, start, end in slots)


def test_hours_that_begin_before_the_day_does_are_computed_whole() -> None:
    found = span("2026-03-29T00:00+05:30", "2026-03-30T00:00+05:30", "Asia/Kolkata")
    low, high = found.bounds(3600)
    assert (found.start_us - low, high - found.end_us) == (30 * MINUTE, 30 * MINUTE)
    assert found.bounds(86400) == found.bounds(60) == (found.start_us, found.end_us)


def test_microseconds_are_exact() -> None:
    late = datetime(2261, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert to_datetime(to_micros(late)) == late


def test_a_time_without_offset_is_one_of_the_zone() -> None:
    assert parse_instant("2026-03-30", BERLIN) == datetime(2026, 3, 29, 22, tzinfo=UTC)
    assert parse_instant("2026-03-30T00:00Z", BERLIN) == datetime(2026, 3, 30, tzinfo=UTC)
    assert parse_instant(None, BERLIN) is None


@pytest.mark.parametrize("name", ["Europe/Nowhere", "", "../etc/passwd"])
def test_a_zone_that_there_is_not(name: str) -> None:
    with pytest.raises(ValueError, match="QUEUE_METRICS_TIMEZONE must be a time zone"):
        find_zone(name)
