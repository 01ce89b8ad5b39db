"""Measures how fast messages arrive and leave."""

from collections.abc import Sequence
from math import sqrt
from statistics import median
from typing import Final, NamedTuple

from .series import Series

RATE_MINUTES: Final = (5, 10, 15)
"""The windows for a rate. The shortest window with enough arrivals or departures gives the rate."""
ENOUGH_MESSAGES: Final = 100
"""The number of messages that makes a rate accurate to about a tenth, because a count's usual error is its square
root."""
MAX_BURSTS: Final = 2
"""The maximum number of ignored burst minutes in a quarter of an hour. More burst minutes count as the new rate."""


class Rates(NamedTuple):
    """Rates in messages a second over the last `minutes`."""

    minutes: int
    arrivals: float
    drain: float


def measure_rates(series: Series) -> Rates:
    minutes = next((n for n in RATE_MINUTES if sum_messages(series, n) >= ENOUGH_MESSAGES), RATE_MINUTES[-1])
    minutes = max(1, min(minutes, len(series)))
    seconds = 60 * minutes
    return Rates(minutes, sum(series.sent[-minutes:]) / seconds, sum(series.left[-minutes:]) / seconds)


def sum_messages(series: Series, minutes: int) -> int:
    """Returns the larger of arrivals and departures in the last minutes."""
    return max(sum(series.sent[-minutes:]), sum(series.left[-minutes:]))


LEVEL_MINUTES: Final = (5, 10, 15, 30, 60)
"""The windows for a steady rate. The longest window in which the rate changed only by chance gives the steady rate."""
SIGMAS: Final = 3


def select_settled(counts: Sequence[int], most: int = LEVEL_MINUTES[-1]) -> Sequence[int]:
    """Returns the last minutes whose counts changed only by chance. The result has at least five minutes, and at most
    `most`."""
    found = counts[-LEVEL_MINUTES[0] :]
    for minutes in LEVEL_MINUTES[1:]:
        earlier = counts[-minutes : -len(found)]
        if minutes > min(most, len(counts)) or not earlier:
            break
        mean = find_steady_rate(found)
        chance = SIGMAS * sqrt(max(mean, 1) * (1 / len(earlier) + 1 / len(found)))
        if abs(find_steady_rate(earlier) - mean) > chance:
            break
        found = counts[-minutes:]
    return found


def find_steady_rate(counts: Sequence[int]) -> float:
    """Returns the mean per minute without one or two bursts, because bursts do not predict the next minutes."""
    if not counts:
        return 0.0
    middle = median(counts)
    limit = middle + 6 * sqrt(middle) + 10
    usual = [count for count in counts if count <= limit]
    if len(counts) - len(usual) > MAX_BURSTS or not usual:
        usual = list(counts)
    return sum(usual) / len(usual)
