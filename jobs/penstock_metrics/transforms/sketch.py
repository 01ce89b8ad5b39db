"""Implements DDSketch (Masson, Rim, Lee 2019) on arrays, with buckets of durations, ranks, and sums of equal rows."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

GAMMA: Final = 1.02 / 0.98  # The relative error is 2 %.
BELOW_ALL: Final = -(2**31)  # The bucket of 0.
PERCENTILES: Final = (50, 90, 95, 99)


def find_bucket(us: Ints) -> Ints:
    """Returns the bucket i with gamma^(i-1) < us <= gamma^i for each duration of at least 0."""
    index = np.ceil(np.log(np.maximum(us, 1)) / math.log(GAMMA)).astype(np.int64)
    return np.where(us > 0, index, BELOW_ALL)


def find_rank(counts: Ints, percent: int) -> Ints:
    """Returns the nearest rank, as in SQL's percentile_disc. The first of n values has rank 1."""
    return (counts * percent + 99) // 100


def find_run_starts(*columns: Ints) -> Ints:
    """Returns the indexes of row 0, if it exists, and of the rows that differ from the previous row in a column."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    differs = np.zeros(len(columns[0]), np.bool_)
    differs[0] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


def measure_runs(starts: Ints, rows: int) -> Ints:
    """Returns the lengths of the runs that begin at `starts`. The runs have `rows` rows together."""
    return np.diff(starts, append=rows)


def sum_runs(values: Ints, starts: Ints) -> Ints:
    """Returns the sum of the values of each run."""
    return np.add.reduceat(values, starts) if len(starts) else np.zeros(0, np.int64)
