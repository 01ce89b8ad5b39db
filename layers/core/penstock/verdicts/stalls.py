"""Detects stalls, in which messages wait, but no consumer receives for longer than is usual for the queue."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from .series import MINUTE, Series
from .types import Facts

STALL: Final = timedelta(seconds=90)
"""The minimum wait without a receive before a queue counts as stalled."""
STALL_WHILE_IN_FLIGHT: Final = timedelta(minutes=10)
"""The minimum wait if messages in flight can explain the wait. In a FIFO queue, messages in flight block their groups.
The handling time is unknown if the previous hour has no receive."""
RECEIVES_MISSED: Final = 7
"""The number of receives that must be missing, compared with the hour before, while messages are in flight.

While messages are in flight, all consumers may be busy. Seven independent receives are missing by chance only once in a
thousand times.
"""
MAX_PATIENCE: Final = timedelta(minutes=30)
"""The longest wait that messages in flight can explain."""
USUAL: Final = 1.5
"""The multiple of the usual wait from which a wait counts as unusual."""
USUAL_WAITS: Final = 5
"""The number of earlier waits that must be as long as a usual wait. The known minutes cover up to 25 hours, because
consumers can run hourly."""
BEFORE_MINUTES: Final = 60


class Waiting(NamedTuple):
    """The time when messages began to wait for a receive, and the time after which the messages count as stalled."""

    since: datetime
    patience: timedelta
    before_first_minute: bool


def find_waiting(series: Series, facts: Facts, now: datetime) -> Waiting | None:
    """Returns None if no message waits, or if the queue has not been measured since the last receive.

    The wait begins with the last receive, or with the arrival of the messages if no receive has happened since. The
    wait never begins before the arrival of the oldest message, or before the first of the last consecutive minutes that
    ended with messages. Without minutes, the queue had no activity in the whole period, so the wait begins with the
    arrival of the oldest message.
    """
    if series.now.visible <= 0:
        return None
    run = 0
    for visible in reversed(series.visible):
        if visible <= 0:
            break
        run += 1
    first = len(series) - run
    if not len(series):
        return Waiting(series.now.oldest_at or now, compute_patience(series, facts), before_first_minute=True)
    bounds = [series.find_start(first)]
    if series.last_received_at is not None:
        if series.measured_at is None or series.measured_at < series.last_received_at:
            return None
        bounds.append(series.last_received_at)
    if series.now.oldest_at is not None:
        bounds.append(series.now.oldest_at)
    since = min(max(bounds), now)
    return Waiting(since, compute_patience(series, facts), first == 0 and since <= series.find_start(0))


def compute_patience(series: Series, facts: Facts) -> timedelta:
    """Returns how long messages can wait before the queue is stalled."""
    usual = max(STALL, USUAL * find_usual_wait(series))
    if series.now.in_flight <= 0:
        return usual
    busy = compute_busy_patience(series)
    return max(usual, STALL_WHILE_IN_FLIGHT, busy) if facts.fifo else max(usual, busy)


def compute_busy_patience(series: Series) -> timedelta:
    """Returns how long a busy consumer can take until its next receive."""
    end = len(series)
    while end > 0 and series.received[end - 1] == 0:
        end -= 1
    received = sum(series.received[max(0, end - BEFORE_MINUTES) : end])
    if not received:
        return STALL_WHILE_IN_FLIGHT
    minutes = min(end, BEFORE_MINUTES)
    return min(RECEIVES_MISSED * minutes * MINUTE / received, MAX_PATIENCE)


def find_usual_wait(series: Series) -> timedelta:
    """Returns how long messages usually wait for a receive.

    A wait is a run of minutes that ended with messages and had no receive. The next minute with a receive ends the
    wait.
    """
    waits: list[int] = []
    wait = 0
    for visible, received in zip(series.visible, series.received, strict=True):
        if received > 0:
            waits.append(wait)
        wait = wait + 1 if visible > 0 and not received else 0
    return sorted(waits, reverse=True)[USUAL_WAITS - 1] * MINUTE if len(waits) >= USUAL_WAITS else 0 * MINUTE
