"""Predicts when a backlog will be gone. The prediction extrapolates arrivals, and assumes that consumers keep their
rate."""

from datetime import datetime
from math import sqrt
from statistics import pstdev
from typing import Final, NamedTuple

from .arrivals import Outlook, forecast_arrivals
from .rates import select_settled
from .series import MINUTE, Series
from .types import Emptying

STEP_MINUTES: Final = 5
HORIZON_MINUTES: Final = 24 * 60
LEAST_DOUBT: Final = 0.05
"""The minimum relative uncertainty of a rate."""


class ExpectedFlow(NamedTuple):
    """The expected arrivals, the completions, and the uncertainty of their difference, in messages per minute."""

    arrivals: Outlook
    drain: float
    doubt: float


def measure_flow(series: Series, since: int) -> ExpectedFlow:
    """Returns the flow. The measurement of completions starts at the minute with index `since`."""
    left = select_settled(series.left[-max(2, len(series) - since) :])
    drain = sum(left) / max(1, len(left))
    arrivals = forecast_arrivals(series)
    coming = max(0.0, arrivals(0))
    spread = sqrt((pstdev(left) ** 2 + coming) / max(1, len(left))) if left else 0.0
    return ExpectedFlow(arrivals, drain, 2 * spread + LEAST_DOUBT * (coming + drain))


def estimate_emptying(backlog: int, flow: ExpectedFlow, now: datetime) -> Emptying | None:
    """Returns when a backlog of `backlog` messages will be gone, or None if the backlog lasts longer than a day."""
    at = count_minutes_to_empty(backlog, flow, 0)
    if at is None:
        return None
    low = count_minutes_to_empty(backlog, flow, -flow.doubt)
    high = count_minutes_to_empty(backlog, flow, flow.doubt)
    return Emptying(
        now + at * MINUTE, now + (at if low is None else low) * MINUTE, None if high is None else now + high * MINUTE
    )


def count_minutes_to_empty(backlog: float, flow: ExpectedFlow, more: float) -> float | None:
    """Returns the number of minutes until the backlog is gone, with `more` additional arrivals per minute. Returns None
    for more than a day."""
    rest = backlog
    for start in range(0, HORIZON_MINUTES, STEP_MINUTES):
        net = flow.drain - max(0.0, flow.arrivals(start + STEP_MINUTES / 2)) - more
        if net > 0 and rest <= net * STEP_MINUTES:
            return start + rest / net
        rest = max(rest - net * STEP_MINUTES, 0.0)
    return None
