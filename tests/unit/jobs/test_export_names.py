"""Names of exported files, and which days an export writes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.settings import Settings
from penstock_metrics.main import parser
from penstock_metrics.output import write
from penstock_metrics.output.datasets import DATASETS, LATENCIES, MESSAGES, WINDOWS
from penstock_metrics.output.days import Computed, Kept, replaceable
from penstock_metrics.output.iceberg import NoCatalogError
from penstock_metrics.output.options import exporter
from penstock_metrics.output.place import Note, Place, Slot, file_name, parse_slot
from penstock_metrics.output.write import KEY, WriteTask, make_key, writer

TODAY = date(2026, 3, 29)
A_DAY = "messages/day=2026-03-29/queue=orders"


def test_a_name_says_its_slot() -> None:
    name = file_name("windows", "2026-03-29", "orders.fifo", 3600, 2, "0f" * 16)
    assert name == f"windows/day=2026-03-29/queue=orders.fifo/3600-0002-{'0f' * 16}.parquet"
    assert parse_slot(name) == Slot("windows", TODAY, 3600)
    assert parse_slot("windows/day=2026-03-29/queue=orders/_60-0000-.parquet") is None


def test_days_of_runs_are_days_of_utc() -> None:
    start, end = datetime(2026, 3, 28, 23, 59, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC)
    assert list(Computed(1, start, end).days()) == [date(2026, 3, day) for day in (28, 29, 30)]
    assert list(Computed(0, None, None).days()) == []


def test_old_days_are_written_once() -> None:
    """Minutes of a day are kept for 30, hours for 360 days; days for ever."""
    days, kept = [date(2025, 3, 1), date(2026, 2, 1), TODAY], Kept(30, 7)
    there = {Slot(WINDOWS.name, day, part) for day in days for part in WINDOWS.parts}
    write_, leave = replaceable(WINDOWS, days, kept, TODAY, there)
    assert [(slot.day.year, slot.part) for slot in leave] == [(2025, 60), (2025, 3600), (2026, 60)]
    assert len(write_) == 6
    assert replaceable(WINDOWS, days, kept, TODAY, ())[1] == []
    assert replaceable(MESSAGES, days, kept, TODAY, {Slot("messages", days[1], 0)})[1] == [
        Slot("messages", days[1], 0)
    ]


def batches(groups: list[str], queue: str = "orders", size: int = 3) -> list[pa.RecordBatch]:
    """Messages of one day, each a group."""
    rows = [dict.fromkeys(MESSAGES.schema.names) | {"group_id": group} for group in groups]
    table = pa.Table.from_pylist(rows, MESSAGES.schema)
    keys = pa.array([make_key("2026-03-29", queue, 0)] * len(groups))
    made: list[pa.RecordBatch] = table.add_column(0, KEY, keys).to_batches(max_chunksize=size)
    return made


def test_large_days_are_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4 rows here, whatever the batches; replaced files are removed, except those of other programs."""
    monkeypatch.setattr(write, "ROWS", 4)
    place = Place.of(str(tmp_path))
    job = WriteTask(
        place.uri, "messages", MESSAGES.schema, frozenset([Slot("messages", TODAY, 0)]), keep_replaced=False
    )
    first = [*batches(list("abcdefghij")), *batches(["x"], "bills")]
    told = {name: rows for batch in writer(job)(iter(first)) for name, rows in batch.to_pydict().items()}
    assert told["rows"] == [1]
    (tmp_path / A_DAY / "_note.txt").write_text("mine")
    names = sorted(path.name for path in (tmp_path / A_DAY).glob("*.parquet"))
    assert [pq.read_metadata(tmp_path / A_DAY / name).num_rows for name in names] == [4, 4, 2]
    list(writer(job)(iter(batches(list("abcdz")))))
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
        (
            ["--parquet", "/tmp/x", "--iceberg", "nothing.penstock"],
            NoCatalogError,
            "PYICEBERG_CATALOG__NOTHING__URI",
        ),
    ],
)
def test_bad_options(options: list[str], error: type[Exception], text: str) -> None:
    """They end the job before it computes anything."""
    with pytest.raises(error, match=text):
        exporter(parser().parse_args(options), Settings.read({}))
