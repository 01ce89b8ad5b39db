"""Predicts arrivals from a daily wave, a fading trend, or the current rate."""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import cos, exp, pi, sin, sqrt
from statistics import median
from typing import Final, TypeAlias

from .rates import find_steady_rate, select_settled
from .series import Series

LEVEL_MINUTES: Final = 15
STEP_MINUTES: Final = 5
TREND_MINUTES: Final = 60
"""The length of a span. Arrivals have a trend if they changed in one direction in two consecutive spans."""
SLOPE_SIGMAS: Final = 1.5
"""The factor by which the changes in both spans must exceed chance. Random changes reach this factor once in a hundred
times."""
FADING_MINUTES: Final = 240
"""The time after which two thirds of a fading trend's change have happened."""
WAVE_MINUTES: Final = 6 * 60
"""The minimum number of minutes that the search for a daily wave needs."""
WAVE_STEP: Final = 15
WAVE_FIT: Final = 0.9
"""The fraction of the variance of arrivals that a wave must explain."""
DAY_MINUTES: Final = 24 * 60

Outlook: TypeAlias = Callable[[float], float]
"""Returns the expected arrivals per minute at a number of minutes from now."""


def forecast_arrivals(series: Series) -> Outlook:
    if wave := fit_daily_wave(series.sent):
        return wave
    slope = measure_slope(series.sent)
    if slope:
        return project_trend(find_steady_rate(series.sent[-LEVEL_MINUTES:]), slope)
    level = find_steady_rate(select_settled(series.sent))
    return lambda _minutes: level


def project_trend(level: float, slope: float) -> Outlook:
    """Returns the level of arrivals at the middle of the last quarter of an hour, and the level's change per minute.
    The change fades."""

    def arrivals(minutes: float) -> float:
        return level + slope * (LEVEL_MINUTES / 2 + FADING_MINUTES * (1 - exp(-minutes / FADING_MINUTES)))

    return arrivals


def measure_slope(sent: Sequence[int]) -> float:
    """Returns the change of arrivals per minute, or 0 if the series has less than two hours.

    The change is the smaller of the last hour's slope and the previous hour's slope. A single step or a recent change
    therefore does not count as a trend.
    """
    if len(sent) < 2 * TREND_MINUTES:
        return 0.0
    before, last = (
        compute_median_slope(sent[-2 * TREND_MINUTES : -TREND_MINUTES]),
        compute_median_slope(sent[-TREND_MINUTES:]),
    )
    slope = min(before, last, key=abs) if before * last > 0 else 0.0
    chance = sqrt(12 * sum(sent[-TREND_MINUTES:]) / TREND_MINUTES**4)  # the standard error of a slope through counts
    if abs(slope) < SLOPE_SIGMAS * chance or len(select_settled(sent, LEVEL_MINUTES)) < LEVEL_MINUTES:
        return 0.0
    return slope


def compute_median_slope(counts: Sequence[int]) -> float:
    """Returns the median of the slopes, per minute, between all pairs of five minutes (Theil and Sen)."""
    steps = compute_means(counts, STEP_MINUTES)
    slopes = [(steps[j] - steps[i]) / (j - i) for i, j in combinations(range(len(steps)), 2)]
    return median(slopes) / STEP_MINUTES


def compute_means(counts: Sequence[int], step: int) -> list[float]:
    """Returns the mean of each step of `minutes` minutes. The last step ends with the last minute."""
    first = len(counts) % step
    return [sum(counts[i : i + step]) / step for i in range(first, len(counts), step)]


def fit_daily_wave(sent: Sequence[int]) -> Outlook | None:
    """Fits a sine wave of 24 hours to the arrivals by least squares (a cosinor). Returns None if the wave does not
    fit.

    The prediction shifts the wave to the current value, on the assumption that the current error persists.
    """
    if len(sent) < WAVE_MINUTES:
        return None
    values = compute_means(sent, WAVE_STEP)
    angles = [2 * pi * (i - len(values) + 0.5) * WAVE_STEP / DAY_MINUTES for i in range(len(values))]
    rows = [(1.0, cos(angle), sin(angle)) for angle in angles]
    solved = fit_least_squares(rows, values)
    if solved is None:
        return None
    base, even, odd = solved
    mean = sum(values) / len(values)
    total = sum((value - mean) ** 2 for value in values)
    missed = sum((value - base - even * row[1] - odd * row[2]) ** 2 for value, row in zip(values, rows, strict=True))
    if total <= 0 or 1 - missed / total < WAVE_FIT:
        return None

    def arrivals(minutes: float) -> float:
        angle = 2 * pi * minutes / DAY_MINUTES
        return base + even * cos(angle) + odd * sin(angle)

    return arrivals


Triple: TypeAlias = tuple[float, float, float]


def fit_least_squares(rows: Sequence[Triple], values: Sequence[float]) -> Triple | None:
    """Returns the three factors that fit the rows to the values best, or None if the factors are not unique."""
    matrix = [[sum(row[i] * row[j] for row in rows) for j in range(3)] for i in range(3)]
    right = [sum(row[i] * value for row, value in zip(rows, values, strict=True)) for i in range(3)]
    whole = compute_determinant(matrix)
    if abs(whole) < 1e-6:
        return None
    found = [
        compute_determinant([[right[i] if j == k else matrix[i][j] for j in range(3)] for i in range(3)]) / whole
        for k in range(3)
    ]
    return found[0], found[1], found[2]


def compute_determinant(m: Sequence[Sequence[float]]) -> float:
    """Returns the determinant of a matrix of three rows."""
    return (
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    )
