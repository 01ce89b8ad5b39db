"""Merges the pieces of windows by addition of their sums and sketches. If a window has many durations, the sketch ranks
them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock_metrics.span import DaySpan

from .columns import Batches
from .durations import CHUNK, MEASURED, SUMMARY, Durations, split_chunks, to_arrow
from .keys import LENGTHS, Coding, GroupNumbers, Windows, join_batches, read_column, to_integers
from .sketch import PERCENTILES, Ints, find_bucket, find_rank, find_run_starts, measure_runs, sum_runs
from .summary import ADDED, LISTS, Lists, Summary, sketch_lists, summarise

# A window with too many durations has rank_buckets and rank_places. For a place p, the wanted rank is the p-th smallest
# duration in the rank's bucket.
MERGED: Final = pa.schema(
    [
        *(field for field in SUMMARY if field.name not in ("ordered", "whole")),
        ("rank_buckets", pa.list_(pa.int32())),
        ("rank_places", pa.list_(pa.int64())),
    ]
)
WANTED: Final = pa.schema(
    [
        ("window_seconds", pa.int32()),
        ("queue_id", pa.int32()),
        ("group_id", pa.string()),
        ("measure", pa.int8()),
        ("starts_us", pa.int64()),
        ("bucket", pa.int32()),
    ]
)
# The columns of the numbers of equal durations in wanted buckets.
FOUND: Final = pa.schema([*WANTED, ("us", pa.int64()), ("number", pa.int64())])


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces in the order of their windows. `starts` lists the first row of each window."""

    rows: pa.Table
    codes: Ints
    starts: Ints

    def sums(self, name: str) -> Ints:
        return sum_runs(read_column(self.rows, name), self.starts)

    def flat(self, name: str) -> tuple[Ints, Ints]:
        """Returns the elements of all lists and the window of each element."""
        lists = self.rows[name].combine_chunks()
        return np.repeat(self.codes, to_integers(pc.fill_null(pc.list_value_length(lists), 0))), to_integers(
            lists.flatten()
        )


def merge_pieces(span: DaySpan) -> Callable[[Batches], Batches]:
    """Returns a function from a partition's pieces (SUMMARY) to batches of MERGED. The partition has all pieces of its
    windows."""
    lengths = [Windows.of(span, seconds) for seconds in LENGTHS]

    def merge_partition(batches: Batches) -> Batches:
        rows = join_batches(list(batches), SUMMARY)
        for windows in lengths:
            pieces = rows.filter(pc.equal(rows["window_seconds"], windows.seconds))
            if pieces.num_rows:
                yield from _merge(pieces, windows).to_batches()

    return merge_partition


def _merge(rows: pa.Table, windows: Windows) -> pa.Table:
    numbers = GroupNumbers.of(rows)
    coding = Coding(numbers, windows)
    window = windows.number(read_column(rows, "starts_us"))
    codes = coding.encode(numbers.queue, numbers.group, read_column(rows, "measure"), window)
    order = np.argsort(codes, kind="stable")
    pieces = Pieces(rows.take(pa.array(order)), codes[order], find_run_starts(codes[order]))
    many = pieces.rows["ordered"].is_null().combine_chunks()
    is_many = sum_runs(to_integers(many.cast(pa.int8())), pieces.starts) > 0
    summary, ranks = _add(pieces), _Ranks.none(len(pieces.starts))
    ranks = _Ranks.of(summary, is_many) if is_many.any() else ranks
    summary = replace(summary, columns={**summary.columns, **_compute_percentiles(pieces, is_many)})
    unordered = pa.nulls(len(is_many), pa.list_(pa.int64()))
    table = to_arrow(coding, summary, unordered, whole=True).drop_columns(["ordered", "whole"])
    return table.append_column(MERGED.field("rank_buckets"), ranks.buckets).append_column(
        MERGED.field("rank_places"), ranks.places
    )


def _add(pieces: Pieces) -> Summary:
    """Returns the summary of each window with sums and sketches, and with 0 for percentiles."""
    greatest = np.maximum.reduceat(read_column(pieces.rows, "max_us"), pieces.starts)
    nothing = np.zeros(len(pieces.starts), np.int64)
    columns = {name: pieces.sums(name) for name in ADDED} | {"max_us": greatest}
    columns |= {f"p{percent}_us": nothing for percent in PERCENTILES}
    window, bucket = pieces.flat("sketch_buckets")
    count = pieces.flat("sketch_counts")[1]
    order = np.lexsort((bucket, window))
    window, bucket = window[order], bucket[order]
    runs = find_run_starts(window, bucket)
    codes = pieces.codes[pieces.starts]
    starts = np.searchsorted(window[runs], codes)
    sketch = sketch_lists(bucket[runs], sum_runs(count[order], runs), starts)
    return Summary(codes, columns, sketch, Lists(np.zeros(len(codes) + 1, np.int64), nothing[:0]))


def _compute_percentiles(pieces: Pieces, is_many: np.ndarray) -> dict[str, Ints]:
    """Returns the percentiles of windows whose pieces contain all durations, and 0 for other windows."""
    window, us = pieces.flat("ordered")
    few = pieces.codes[pieces.starts][~is_many]
    known = np.isin(window, few)
    summary = summarise(window[known], us[known], np.zeros(int(known.sum()), np.int64))
    found = {}
    for name in (f"p{percent}_us" for percent in PERCENTILES):
        found[name] = np.zeros(len(is_many), np.int64)
        found[name][~is_many] = summary.columns[name]
    return found


@dataclass(frozen=True, slots=True)
class _Ranks:
    buckets: pa.Array
    places: pa.Array

    @classmethod
    def none(cls, rows: int) -> _Ranks:
        return cls(pa.nulls(rows, pa.list_(pa.int32())), pa.nulls(rows, pa.list_(pa.int64())))

    @classmethod
    def of(cls, summary: Summary, wanted: np.ndarray) -> _Ranks:
        """Returns the buckets and places of the PERCENTILES of wanted windows, and null for other windows."""
        buckets: list[list[int] | None] = [None] * len(wanted)
        places = list(buckets)
        for window in np.flatnonzero(wanted).tolist():
            bucket, count = (_list(summary.sketch[name], window) for name in LISTS)
            up_to = np.cumsum(count)
            ranks = np.asarray([find_rank(up_to[-1], percent) for percent in PERCENTILES])
            at = np.searchsorted(up_to, ranks)
            buckets[window] = bucket[at].tolist()
            places[window] = (ranks - (up_to - count)[at]).tolist()
        return cls(pa.array(buckets, pa.list_(pa.int32())), pa.array(places, pa.list_(pa.int64())))


def _list(lists: Lists, number: int) -> Ints:
    return lists.values[lists.offsets[number] : lists.offsets[number + 1]]


def find_candidates(span: DaySpan, wanted: pa.Table, chunk: int = CHUNK) -> Callable[[Batches], Batches]:
    """Returns a function from batches of MEASURED to batches of FOUND.

    The function counts the durations in the buckets of `wanted` (WANTED) by value.
    """
    lengths = [
        (Windows.of(span, seconds), wanted.filter(pc.equal(wanted["window_seconds"], seconds))) for seconds in LENGTHS
    ]

    def filter_partition(batches: Batches) -> Batches:
        for rows, _ in split_chunks(batches, MEASURED, chunk):
            for windows, buckets in lengths:
                near = rows.filter(pc.is_in(rows["queue_id"], buckets["queue_id"].combine_chunks()))
                if near.num_rows:
                    yield from _build_found(near, windows, buckets).to_batches()

    return filter_partition


def _build_found(rows: pa.Table, windows: Windows, wanted: pa.Table) -> pa.Table:
    measured = Durations.of(rows)
    coding, codes, row = measured.in_windows(windows)
    us = np.maximum(measured.us[row], 0)
    bucket = find_bucket(us)
    near = _WantedBuckets.of(coding, wanted).contains(codes, bucket)
    codes, bucket, us = codes[near], bucket[near], us[near]
    order = np.lexsort((us, codes))
    codes, bucket, us = codes[order], bucket[order], us[order]
    starts = find_run_starts(codes, us)
    key = coding.columns(codes[starts])
    found = {
        **{name: key[name] for name in WANTED.names[:-1]},
        "bucket": pa.array(bucket[starts], pa.int32()),
        "us": pa.array(us[starts]),
        "number": pa.array(measure_runs(starts, len(us))),
    }
    return pa.table(found, FOUND)


@dataclass(frozen=True, slots=True)
class _WantedBuckets:
    """Holds the buckets that a partition needs. A number stands for a pair of code and bucket."""

    pairs: Ints

    @staticmethod
    def _pair(codes: Ints, bucket: Ints) -> Ints:
        """Returns the numbers that stand for pairs of code and bucket. Positive 64-bit durations have buckets in (-1,
        1092], and the duration 0 has BELOW_ALL."""
        return codes * 2048 + np.maximum(bucket, -1) + 1

    @classmethod
    def of(cls, coding: Coding, wanted: pa.Table) -> _WantedBuckets:
        numbers = coding.numbers
        queue = pc.index_in(wanted["queue_id"], pa.array(numbers.queue_ids, pa.int32()))
        group = pc.index_in(wanted["group_id"], numbers.group_ids)
        here = pc.and_(pc.is_valid(queue), pc.is_valid(group))
        columns = (queue, group, *(wanted[name] for name in ("measure", "starts_us", "bucket")))
        queue, group, measure, starts, bucket = (
            to_integers(column.filter(here).combine_chunks()) for column in columns
        )
        codes = coding.encode(queue, group, measure, coding.windows.number(starts))
        return cls(cls._pair(codes, bucket))

    def contains(self, codes: Ints, bucket: Ints) -> np.ndarray:
        return np.isin(self._pair(codes, bucket), self.pairs)
