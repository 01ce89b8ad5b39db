"""Writes a dataset's rows on executors, to one file for each day, queue and part, or to several files of ROWS rows.

A partition has all rows of a day and queue, sorted. The task writes the new files and then removes the replaced files,
so readers of the folder see both the new and the replaced files for milliseconds. If the files belong to Iceberg
tables, the replaced files stay until readers no longer need them. A repeated task writes the same files with the same
names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock_metrics.transforms.columns import Batches

from .place import Place, Slot, build_file_name, parse_slot

ROWS: Final = 250_000
KEY: Final = "key"
_SEPARATOR: Final = "/"  # The separator in a key. No day, queue name or number contains the separator.
WRITTEN: Final = pa.schema([("name", pa.string()), ("rows", pa.int64())])


@dataclass(frozen=True, slots=True)
class WriteTask:
    """The parameters of a task. If `keep_replaced` is set, the task does not remove replaced files."""

    uri: str
    dataset: str
    schema: pa.Schema
    slots: Collection[Slot]
    keep_replaced: bool


def build_writer(job: WriteTask) -> Callable[[Batches], Batches]:
    """Returns a function that writes sorted batches, whose first column is KEY, and yields batches of WRITTEN."""

    def write_partition(batches: Batches) -> Batches:
        place, open_folder = Place.of(job.uri), _Folder("", "")
        for key, rows in _split_runs(batches):
            day, queue, part = key.split(_SEPARATOR)
            if (day, queue) != (open_folder.day, open_folder.queue):
                yield from open_folder.close(place, job)
                open_folder = _Folder(day, queue)
            open_folder.add(place, job, int(part), rows.cast(job.schema))
        yield from open_folder.close(place, job)

    return write_partition


def build_key(day: str, queue: str, part: int) -> str:
    """Returns the key that rows of the same file share."""
    return _SEPARATOR.join((day, queue, str(part)))


def _split_runs(batches: Batches) -> Iterator[tuple[str, pa.Table]]:
    """Yields pairs (key, rows), with at most ROWS rows in a pair."""
    held, key = list[pa.RecordBatch](), ""
    for batch in batches:
        ends, start = pc.run_end_encode(batch[KEY]), 0
        rows = batch.select(batch.schema.names[1:])
        for name, end in zip(ends.values.to_pylist(), ends.run_ends.to_pylist(), strict=True):
            if held and name != key:
                yield key, pa.Table.from_batches(held)
                held = []
            key = name
            while start < end:
                taken = min(end - start, ROWS - sum(each.num_rows for each in held))
                held.append(rows.slice(start, taken))
                start += taken
                if sum(each.num_rows for each in held) == ROWS:
                    yield key, pa.Table.from_batches(held)
                    held = []
    if held:
        yield key, pa.Table.from_batches(held)


@dataclass(slots=True)
class _Folder:
    """The unfinished files of a day and queue."""

    day: str
    queue: str
    numbers: dict[int, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def add(self, place: Place, job: WriteTask, part: int, rows: pa.Table) -> None:
        number = self.numbers.get(part, 0)
        self.numbers[part] = number + 1
        contents = encode_parquet(rows)
        digest = hashlib.sha256(contents).hexdigest()[:32]
        name = build_file_name(job.dataset, self.day, self.queue, part, number, digest)
        if not place.exists(name):
            place.write(name, contents)
        self.files[name] = rows.num_rows

    def close(self, place: Place, job: WriteTask) -> Iterator[pa.RecordBatch]:
        """Removes replaced files and yields the current files."""
        if not self.files:
            return
        if not job.keep_replaced:
            folder = next(iter(self.files)).rpartition("/")[0]
            place.remove(
                name for name in place.folder(folder) if name not in self.files and parse_slot(name) in job.slots
            )
        yield pa.record_batch([list(self.files), list(self.files.values())], schema=WRITTEN)


def encode_parquet(rows: pa.Table) -> pa.Buffer:
    """Returns a Parquet file. The same version of pyarrow makes the same bytes from the same rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    return sink.getvalue()
