"""Summarises the durations of each window and measure with a count, a sum, exact percentiles and a sketch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from .sketch import PERCENTILES, Ints, find_bucket, find_rank, find_run_starts, measure_runs, sum_runs

_SECOND: Final = 1_000_000
# A sum of microseconds can exceed 64 bits, so there are separate sums of whole seconds and remaining microseconds.
ADDED: Final = ("count", "seconds", "rest_us", "negative_count")
LISTS: Final = ("sketch_buckets", "sketch_counts")


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of different lengths in one array. List k is values[offsets[k]:offsets[k + 1]]."""

    offsets: Ints
    values: Ints

    def arrow(self, kind: pa.DataType) -> pa.ListArray:
        return pa.ListArray.from_arrays(self.offsets.astype(np.int32), pa.array(self.values, kind))


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary with one row for each of `codes`. `ordered` has the sorted durations of each row."""

    codes: Ints
    columns: Mapping[str, Ints]
    sketch: Mapping[str, Lists]
    ordered: Lists


def summarise(codes: Ints, us: Ints, negative: Ints) -> Summary:
    """Summarises the durations `us`, which are at least 0, by row. `codes` has the row of each duration.

    `negative` is 1 for a duration that was negative before.
    """
    order = np.lexsort((us, codes))
    row, value = codes[order], us[order]
    starts = find_run_starts(row)
    counts = measure_runs(starts, len(row))
    columns = {
        "count": counts,
        "seconds": sum_runs(value // _SECOND, starts),
        "rest_us": sum_runs(value % _SECOND, starts),
        "negative_count": sum_runs(negative[order], starts),
        "max_us": value[starts + counts - 1],
    }
    for percent in PERCENTILES:
        columns[f"p{percent}_us"] = value[starts + find_rank(counts, percent) - 1]
    offsets = np.append(starts, len(row))
    return Summary(row[starts], columns, _build_sketches(row, value, starts), Lists(offsets, value))


def _build_sketches(row: Ints, value: Ints, starts: Ints) -> dict[str, Lists]:
    """Returns the sketch of each row from sorted values, in which the values of a bucket are adjacent."""
    bucket = find_bucket(value)
    runs = find_run_starts(row, bucket)
    return sketch_lists(bucket[runs], measure_runs(runs, len(row)), np.searchsorted(runs, starts))


def sketch_lists(buckets: Ints, counts: Ints, starts: Ints) -> dict[str, Lists]:
    """Returns the columns of sketches. The sketch of row k begins at starts[k]."""
    offsets = np.append(starts, len(buckets))
    return dict(zip(LISTS, (Lists(offsets, buckets), Lists(offsets, counts)), strict=True))
