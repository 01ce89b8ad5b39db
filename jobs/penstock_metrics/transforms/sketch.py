"""DDSketch (Masson, Rim, Lee 2019) on arrays: the bucket of a duration, and ranks and sums of runs of equal rows."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

GAMMA: Final = 1.02 / 0.98  # a relative error of 2 %
BELOW_ALL: Final = -(2**31)  # the bucket of 0
PERCENTILES: Final = (50, 90, 95, 99)


def find_bucket(us: Ints) -> Ints:
    """The bucket i with gamma^(i-1) < us <= gamma^i, of durations that are not negative."""
    index = np.ceil(np.log(np.maximum(us, 1)) / math.log(GAMMA)).astype(np.int64)
    return np.where(us > 0, index, BELOW_ALL)


def find_rank(counts: Ints, percent: int) -> Ints:
    """Nearest rank, as percentile_disc of SQL: the first of n values is 1."""
    return (counts * percent + 99) // 100


def starts_of_runs(*columns: Ints) -> Ints:
    """The rows that differ from the row before in at least one column; the first is 0, when there are rows."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    differs = np.zeros(len(columns[0]), np.bool_)
    differs[0] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


def measure_runs(starts: Ints, rows: int) -> Ints:
    """The lengths of runs that begin at `starts` and together have `rows` rows."""
    return np.diff(starts, append=rows)


def sum_runs(values: Ints, starts: Ints) -> Ints:
    """The sum of the values of each run."""
    return np.add.reduceat(values, starts) if len(starts) else np.zeros(0, np.int64)
