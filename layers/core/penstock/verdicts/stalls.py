"""Whether nobody receives although messages wait, and how long that is usual for the queue."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from .series import MINUTE, Series
from .types import Facts

STALL: Final = timedelta(seconds=90)
"""So long messages wait at least, and nobody receives, before a queue is stalled."""
STALL_WHILE_IN_FLIGHT: Final = timedelta(minutes=10)
"""The same where the messages in flight may explain it: their group waits for them in a FIFO queue, and in a queue from
which nobody received in the hour before it is not known how long handling takes."""
RECEIVES_MISSED: Final = 7
"""While messages are in flight all consumers may be busy: so many receives of the hour before must be missing. Of
independent ones seven are missing by chance once in a thousand times."""
LONGEST_PATIENCE: Final = timedelta(minutes=30)
"""Longer than this, messages in flight explain nothing."""
USUAL: Final = 1.5
"""A wait is unusual from so many times the usual one on."""
USUAL_WAITS: Final = 5
"""A wait is usual when so many in the minutes, up to 25 hours, were as long: consumers may come once an hour."""
BEFORE_MINUTES: Final = 60


class Waiting(NamedTuple):
    """Messages wait and nobody receives: since when, and how long that may last before it is a stall."""

    since: datetime
    patience: timedelta
    before_first_minute: bool


def waiting(series: Series, facts: Facts, now: datetime) -> Waiting | None:
    """None when nothing waits, and when it has not been measured since the last receive that something does.

    The wait begins with the last receive; when there was none since messages came, with these: not before the oldest
    one in the queue, and not before the first of the minutes in a row that ended with messages. Without any minute
    nothing has changed for as long as was looked back: then it began with the oldest message.
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
        return Waiting(series.now.oldest_at or now, patience(series, facts), before_first_minute=True)
    bounds = [series.find_start(first)]
    if series.last_received_at is not None:
        if series.measured_at is None or series.measured_at < series.last_received_at:
            return None
        bounds.append(series.last_received_at)
    if series.now.oldest_at is not None:
        bounds.append(series.now.oldest_at)
    since = min(max(bounds), now)
    return Waiting(since, patience(series, facts), first == 0 and since <= series.find_start(0))


def patience(series: Series, facts: Facts) -> timedelta:
    """How long messages may wait before the queue is stalled."""
    usual = max(STALL, USUAL * usual_wait(series))
    if series.now.in_flight <= 0:
        return usual
    busy = busy_patience(series)
    return max(usual, STALL_WHILE_IN_FLIGHT, busy) if facts.fifo else max(usual, busy)


def busy_patience(series: Series) -> timedelta:
    """How long consumers that handle messages may take until one of them receives again."""
    end = len(series)
    while end > 0 and series.received[end - 1] == 0:
        end -= 1
    received = sum(series.received[max(0, end - BEFORE_MINUTES) : end])
    if not received:
        return STALL_WHILE_IN_FLIGHT
    minutes = min(end, BEFORE_MINUTES)
    return min(RECEIVES_MISSED * minutes * MINUTE / received, LONGEST_PATIENCE)


def usual_wait(series: Series) -> timedelta:
    """How long messages may usually wait until somebody receives.

    A wait is the number of minutes in a row that ended with messages and had no receive, up to one that had.
    """
    waits: list[int] = []
    wait = 0
    for visible, received in zip(series.visible, series.received, strict=True):
        if received > 0:
            waits.append(wait)
        wait = wait + 1 if visible > 0 and not received else 0
    return sorted(waits, reverse=True)[USUAL_WAITS - 1] * MINUTE if len(waits) >= USUAL_WAITS else 0 * MINUTE
