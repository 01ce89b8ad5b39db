"""Summarises the durations of a partition to whole minute and hour windows, and to pieces of other windows.

A partition has all durations of its hours. `pieces` merges the pieces of three kinds of windows:

    days
    hours of a busy queue, whose durations are in several partitions
    all windows of a partition that the job reads in chunks, so that no process has more than CHUNK durations

A piece with few durations contains the durations themselves. For a piece with many durations, the sketch shows the
buckets of the wanted ranks, and the job counts the durations in these buckets again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from penstock_metrics.span import DaySpan

from .columns import Batches
from .keys import DAY_SECONDS, LENGTHS, Coding, GroupNumbers, Windows, join_batches, read_column
from .sketch import PERCENTILES, Ints
from .summary import ADDED, Lists, Summary, summarise

FEW: Final = 1000  # The maximum number of durations in a piece, which take 8 kB.
# The maximum number of durations that the job summarises at once. With groups, these durations need about 150 MB of
# memory in a process.
CHUNK: Final = 500_000
MEASURED: Final = pa.schema(
    [
        ("queue_id", pa.int32()),
        ("group_id", pa.string()),
        ("measure", pa.int8()),
        ("at_us", pa.int64()),
        ("us", pa.int64()),
    ]
)
# The number of the part if several partitions have the durations of a queue's hour, and otherwise 0.
PARTED: Final = MEASURED.append(pa.field("part", pa.int32()))
KEY: Final = (
    ("window_seconds", pa.int32()),
    ("queue_id", pa.int32()),
    ("group_id", pa.string()),
    ("measure", pa.int8()),
    ("starts_us", pa.int64()),
    ("ends_us", pa.int64()),
)
_SINGLE: Final = (*ADDED, "max_us", *(f"p{percent}_us" for percent in PERCENTILES))
SUMMARY: Final = pa.schema(
    [
        *KEY,
        *((name, pa.int64()) for name in _SINGLE),
        ("sketch_buckets", pa.list_(pa.int32())),
        ("sketch_counts", pa.list_(pa.int64())),
        ("ordered", pa.list_(pa.int64())),  # All durations, if the piece has only few durations.
        ("whole", pa.bool_()),  # The row is a whole window.
    ]
)


@dataclass(frozen=True, slots=True)
class Durations:
    """The rows of a partition, each once for the queue and once for the group. `row` is the duration's index in
    `us`."""

    numbers: GroupNumbers
    row: Ints
    group: Ints
    measure: Ints
    at_us: Ints
    us: Ints

    @classmethod
    def of(cls, rows: pa.Table) -> Durations:
        numbers = GroupNumbers.of(rows)
        grouped = np.flatnonzero(numbers.group)
        every_row = np.arange(rows.num_rows)
        group = np.append(np.zeros(rows.num_rows, np.int64), numbers.group[grouped])
        columns = (read_column(rows, name) for name in ("measure", "at_us", "us"))
        return cls(numbers, np.append(every_row, grouped), group, *columns)

    def in_windows(self, windows: Windows) -> tuple[Coding, Ints, Ints]:
        """Returns the codes of the rows within windows, and their indexes in at_us and us."""
        number = windows.number(self.at_us)[self.row]
        inside = number >= 0
        row, coding = self.row[inside], Coding(self.numbers, windows)
        codes = coding.encode(self.numbers.queue[row], self.group[inside], self.measure[row], number[inside])
        return coding, codes, row


def build_summarizer(span: DaySpan, few: int = FEW, chunk: int = CHUNK) -> Callable[[Batches], Batches]:
    """Returns a function from a partition's batches of PARTED to batches of SUMMARY."""
    lengths = [Windows.of(span, seconds) for seconds in LENGTHS]

    def summarise_partition(batches: Batches) -> Batches:
        for rows, is_all in split_chunks(batches, PARTED, chunk):
            whole = is_all and not read_column(rows, "part").any()
            measured = Durations.of(rows)
            for windows in lengths:
                if windows.count:
                    yield from _summarise(measured, windows, few, whole=whole).to_batches()

    return summarise_partition


def split_chunks(batches: Batches, schema: pa.Schema, size: int) -> Iterator[tuple[pa.Table, bool]]:
    """Yields tables of about `size` rows. A flag with each table is true if the table has all rows."""
    held: list[pa.RecordBatch] = []
    is_first = True
    for batch in batches:
        if held and sum(batch.num_rows for batch in held) + batch.num_rows > size:
            yield join_batches(held, schema), False
            held, is_first = [], False
        held.append(batch)
    if held:
        yield join_batches(held, schema), is_first


def _summarise(measured: Durations, windows: Windows, few: int, *, whole: bool) -> pa.Table:
    coding, codes, row = measured.in_windows(windows)
    us = measured.us[row]
    summary = summarise(codes, np.maximum(us, 0), (us < 0).astype(np.int64))
    is_piece = windows.seconds == DAY_SECONDS or not whole
    kept = summary.columns["count"] <= (few if is_piece else 0)
    return to_arrow(coding, summary, ordered=_select_only(summary.ordered, kept), whole=not is_piece)


def to_arrow(coding: Coding, summary: Summary, ordered: pa.Array, *, whole: bool) -> pa.Table:
    """Returns a summary as a table of SUMMARY."""
    columns = {
        **coding.columns(summary.codes),
        **{name: pa.array(summary.columns[name]) for name in _SINGLE},
        "sketch_buckets": summary.sketch["sketch_buckets"].arrow(pa.int32()),
        "sketch_counts": summary.sketch["sketch_counts"].arrow(pa.int64()),
        "ordered": ordered,
        "whole": pa.repeat(whole, len(summary.codes)),
    }
    return pa.table(columns, SUMMARY)


def _select_only(lists: Lists, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Array:
    """Returns the lists, with null in place of lists without `kept`."""
    lengths = np.where(kept, np.diff(lists.offsets), 0)
    offsets = np.append(0, np.cumsum(lengths))
    values = lists.values[np.repeat(kept, np.diff(lists.offsets))]
    whole = Lists(offsets, values).arrow(pa.int64())
    return pa.ListArray.from_arrays(whole.offsets, whole.values, mask=pa.array(~kept))
