"""Detects whether a backlog grows or shrinks, and since when."""

from math import sqrt
from typing import Final

from .series import Series

LEAST_BACKLOG: Final = 10
"""The minimum number of messages in a backlog."""
BACKLOG_SECONDS: Final = 60
"""The minimum time that consumers need to process the messages of a backlog."""
TREND_MINUTES: Final = (2, 3, 5, 10, 15, 30, 60)
"""The windows for the trend. The trend comes from the shortest window in which the backlog changed by more than
chance."""
BACK_MINUTES: Final = 2
"""The number of minutes after the return of consumers in which the trend ignores changes before their return."""
SIGMAS: Final = 3
"""The multiple of the usual spread that a change beyond chance exceeds. The usual spread is the square root
of arrivals plus departures."""
NOISE_MINUTES: Final = 5
STANDING_SECONDS: Final = 300
"""The minimum processing time of a constant backlog that counts."""


def has_backlog(visible: int, drain_rate: float) -> bool:
    """Returns whether the number of visible messages is more than consumers normally have in progress. `drain_rate` is
    in messages a second."""
    return visible >= LEAST_BACKLOG and visible >= BACKLOG_SECONDS * drain_rate


def fit_trend(series: Series) -> int:
    """Returns 1 if the backlog grows, -1 if it shrinks, and 0 if it changed only by chance in the last hour.

    If consumers have just returned, the result is the trend since the return.
    """
    values = series.visible
    if are_consumers_back(series):
        full = series.received[-1] > 0
        events = series.sent_since + series.left_since + full * (series.sent[-1] + series.left[-1])
        change = series.now.visible - values[-1 - full]
        return 0 if abs(change) <= spread(events) else 1 if change > 0 else -1
    for minutes in TREND_MINUTES:
        if minutes >= len(values):
            break
        change = values[-1] - values[-1 - minutes]
        if abs(change) > estimate_chance(series, minutes):
            return 1 if change > 0 else -1
    return 0


def are_consumers_back(series: Series) -> bool:
    """Returns whether receives resumed less than BACK_MINUTES full minutes ago, after minutes without receives."""
    recent = series.received[-BACK_MINUTES:]
    if len(recent) < BACK_MINUTES or all(recent):
        return False
    return recent[-1] > 0 or (series.last_received_at is not None and series.last_received_at >= series.ends_at)


def estimate_chance(series: Series, minutes: int) -> float:
    """Returns how far the backlog of the given minutes moves by chance."""
    return spread(sum(series.sent[-minutes:]) + sum(series.left[-minutes:]))


def spread(events: int) -> float:
    """Returns how far a backlog moves by chance while the given number of messages arrive and leave."""
    return max(LEAST_BACKLOG / 2, SIGMAS * sqrt(events))


def start_of_growth(series: Series) -> int:
    """Returns the index of the minute in which the current growth began, after the lowest earlier backlog.

    The search goes back in time. The search stops where the backlog was higher by a fifth of its later growth, and by
    more than chance in five minutes.
    """
    noise = max(LEAST_BACKLOG, estimate_chance(series, NOISE_MINUTES))
    values = series.visible
    lowest = len(values) - 1
    top = floor = values[-1]
    for index in range(len(values) - 1, -1, -1):
        value = values[index]
        if value < floor:
            floor, lowest = value, index
        elif value - floor > max(noise, 0.2 * (top - floor)):
            break
    # The lowest backlog can last for several minutes. The growth began when the backlog last left its lowest value.
    edge = floor + max(LEAST_BACKLOG / 2, SIGMAS * sqrt(max(series.sent[lowest], 1)))
    return next((i for i in range(len(values) - 1, lowest - 1, -1) if values[i] <= edge), lowest) + 1


def start_of_draining(series: Series) -> int:
    """Returns the index of the minute after the peak of the current backlog.

    The search goes back in time. The search stops where the backlog was lower by a fifth of its later decrease, and by
    more than chance in five minutes.
    """
    noise = max(LEAST_BACKLOG, estimate_chance(series, NOISE_MINUTES))
    values = series.visible
    peak, place = values[-1], len(values) - 1
    for index in range(len(values) - 1, -1, -1):
        value = values[index]
        if value > peak:
            peak, place = value, index
        elif peak - value > max(noise, 0.2 * (peak - values[-1])):
            break
    return place + 1


def count_backlog_minutes(series: Series, drain_rate: float) -> int:
    """Returns the number of minutes in a row, up to the last minute, that ended with a backlog."""
    return next(
        (n for n, visible in enumerate(reversed(series.visible)) if not has_backlog(visible, drain_rate)), len(series)
    )
