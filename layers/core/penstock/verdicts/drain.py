"""When a backlog will be gone."""

from datetime import datetime
from itertools import combinations
from math import exp, sqrt
from statistics import median, pstdev
from typing import Final, NamedTuple

from .backlog import DRAIN_MINUTES
from .rates import steady_rate
from .series import MINUTE, Series
from .types import Emptying

STEP_MINUTES: Final = 5
HORIZON_MINUTES: Final = 24 * 60
TREND_MINUTES: Final = 120
"""The trend of arrivals is that of so many minutes: the median of the slopes between all pairs of five minutes."""
LEAST_TREND_MINUTES: Final = 60
FADING_MINUTES: Final = 240
"""A trend fades: after this time two thirds of its way are gone."""
LEAST_DOUBT: Final = 0.05
"""Rates are never known better than this."""


class Flow(NamedTuple):
    """Messages a minute: what comes now, how that changes a minute, and what consumers take away."""

    arrivals: float
    slope: float
    drain: float
    doubt: float


def flow_of(series: Series, since: int) -> Flow:
    """The flow since the minute with this index: at most a quarter of an hour, at least two minutes."""
    minutes = max(2, min(DRAIN_MINUTES, len(series) - since))
    sent, left = series.sent[-minutes:], series.left[-minutes:]
    arrivals = steady_rate(series.sent[-DRAIN_MINUTES:])
    drain = sum(left) / max(1, len(left))
    spread = sqrt((pstdev(left) ** 2 + _spread(sent) ** 2) / max(1, len(left)))
    return Flow(arrivals, slope_of(series), drain, 2 * spread + LEAST_DOUBT * (arrivals + drain))


def _spread(sent: list[int]) -> float:
    return sqrt(steady_rate(sent))


def slope_of(series: Series) -> float:
    """How the arrivals a minute change from minute to minute; 0 where less than an hour is known."""
    sent = series.sent[-TREND_MINUTES:]
    if len(sent) < LEAST_TREND_MINUTES:
        return 0.0
    ends = range(len(sent), STEP_MINUTES - 1, -STEP_MINUTES)
    steps = [sum(sent[end - STEP_MINUTES : end]) / STEP_MINUTES for end in ends][::-1]
    slopes = [(steps[j] - steps[i]) / (j - i) for i, j in combinations(range(len(steps)), 2)]
    return median(slopes) / STEP_MINUTES


def emptying(backlog: int, flow: Flow, now: datetime) -> Emptying | None:
    """When a backlog of so many messages will be gone; None for not within a day."""
    at = minutes_to_empty(backlog, flow, 0)
    if at is None:
        return None
    low = minutes_to_empty(backlog, flow, -flow.doubt)
    high = minutes_to_empty(backlog, flow, flow.doubt)
    return Emptying(
        now + at * MINUTE,
        now + (at if low is None else low) * MINUTE,
        None if high is None else now + high * MINUTE,
    )


def minutes_to_empty(backlog: float, flow: Flow, more: float) -> float | None:
    """Minutes until the backlog is gone, with so many more arrivals a minute than expected; None: not in a day."""
    rest = backlog
    for start in range(0, HORIZON_MINUTES, STEP_MINUTES):
        net = flow.drain - arrivals_at(flow, start + STEP_MINUTES / 2) - more
        if net > 0 and rest <= net * STEP_MINUTES:
            return start + rest / net
        rest = max(rest - net * STEP_MINUTES, 0.0)
    return None


def arrivals_at(flow: Flow, minutes: float) -> float:
    """The arrivals a minute that are expected so many minutes from now."""
    way = FADING_MINUTES * (1 - exp(-minutes / FADING_MINUTES))
    return max(0.0, flow.arrivals + flow.slope * way)


