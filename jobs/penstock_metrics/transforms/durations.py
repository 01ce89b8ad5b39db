"""Durations of a partition, in windows: complete windows of a minute and an hour, and pieces of days.

A partition has all durations of its hours, so it makes windows of minutes and hours at once. `days` merges the pieces
of a day from all partitions. A piece with few durations includes them; for a piece with many, the sketch gives the
buckets of the wanted ranks, and the job reads again only the durations in these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from penstock_metrics.span import Span

from .columns import Batches
from .keys import DAY_SECONDS, Coding, GroupNumbers, Windows, column_of, table_of
from .sketch import PERCENTILES, Ints
from .summary import ADDED, Lists, Summary, summarise

FEW: Final = 1000  # durations that a piece of a day includes at most: 8 kB
MEASURED: Final = pa.schema(
    [
        ("queue_id", pa.int32()),
        ("group_id", pa.string()),
        ("measure", pa.int8()),
        ("at_us", pa.int64()),
        ("us", pa.int64()),
    ]
)
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
        ("ordered", pa.list_(pa.int64())),  # all durations, of a piece of a day with few
    ]
)


@dataclass(frozen=True, slots=True)
class Durations:
    """Rows of a partition, each once for its queue and once for its group. `row`: the index of its duration in `us`."""

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
        columns = (column_of(rows, name) for name in ("measure", "at_us", "us"))
        return cls(numbers, np.append(every_row, grouped), group, *columns)

    def in_windows(self, windows: Windows) -> tuple[Coding, Ints, Ints]:
        """The rows within windows: their codes, and their indexes in at_us and us."""
        number = windows.number(self.at_us)[self.row]
        inside = number >= 0
        row, coding = self.row[inside], Coding(self.numbers, windows)
        codes = coding.encode(self.numbers.queue[row], self.group[inside], self.measure[row], number[inside])
        return coding, codes, row


def summaries_of(span: Span, few: int = FEW) -> Callable[[Batches], Batches]:
    """The function from a partition's batches of MEASURED to batches of SUMMARY. `few`: as FEW."""
    lengths = [Windows.of(span, seconds) for seconds in (60, 3600, DAY_SECONDS)]

    def summarise_partition(batches: Batches) -> Batches:
        measured = Durations.of(table_of(list(batches), MEASURED))
        for windows in lengths:
            if windows.count:
                kept = few if windows.seconds == DAY_SECONDS else 0
                yield from _summaries(measured, windows, kept).to_batches()

    return summarise_partition


def _summaries(measured: Durations, windows: Windows, few: int) -> pa.Table:
    coding, codes, row = measured.in_windows(windows)
    us = measured.us[row]
    summary = summarise(codes, np.maximum(us, 0), (us < 0).astype(np.int64))
    kept = summary.columns["count"] <= few
    return arrow_of(coding, summary, ordered=_only(summary.ordered, kept))


def arrow_of(coding: Coding, summary: Summary, ordered: pa.Array) -> pa.Table:
    """A summary as a table of SUMMARY."""
    columns = {
        **coding.columns(summary.codes),
        **{name: pa.array(summary.columns[name]) for name in _SINGLE},
        "sketch_buckets": summary.sketch["sketch_buckets"].arrow(pa.int32()),
        "sketch_counts": summary.sketch["sketch_counts"].arrow(pa.int64()),
        "ordered": ordered,
    }
    return pa.table(columns, SUMMARY)


def _only(lists: Lists, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Array:
    """The lists with null for those that are not kept."""
    lengths = np.where(kept, np.diff(lists.offsets), 0)
    offsets = np.append(0, np.cumsum(lengths))
    values = lists.values[np.repeat(kept, np.diff(lists.offsets))]
    whole = Lists(offsets, values).arrow(pa.int64())
    return pa.ListArray.from_arrays(whole.offsets, whole.values, mask=pa.array(~kept))
