"""Whether nobody receives although messages wait, and how long that is usual for the queue."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from .series import MINUTE, Series
from .types import Facts

STALL: Final = timedelta(seconds=90)
"""So long messages wait at least, and nobody receives, before a queue is stalled."""
STALL_WHILE_IN_FLIGHT: Final = timedelta(minutes=10)
"""The same where the messages in flight may explain it: all of a FIFO queue, and a queue that is not known yet."""
USUAL: Final = 2
"""A wait is unusual from twice the usual one on."""
WAITS_TO_KNOW: Final = 5
"""So many waits tell what is usual."""
USUAL_SHARE: Final = 0.8
"""Four of five waits are not longer than the usual one."""
BUSY_MINUTES_TO_KNOW: Final = 10
"""After so many minutes with receives it is known that consumers come back at once."""


class Waiting(NamedTuple):
    """Messages wait and nobody receives: since when, and how long that may last before it is a stall."""

    since: datetime
    patience: timedelta
    before_first_minute: bool


def waiting(series: Series, facts: Facts, now: datetime) -> Waiting | None:
    """None when nothing waits.

    The wait begins with the last receive; when there was none since messages came, with these: not before the oldest
    one in the queue, and not before the first of the minutes in a row that ended with messages.
    """
    if series.now.visible <= 0:
        return None
    run = 0
    for visible in reversed(series.visible):
        if visible <= 0:
            break
        run += 1
    first = len(series) - run
    bounds = [series.start_of(first)]
    if series.last_received_at is not None:
        bounds.append(series.last_received_at)
    if series.now.oldest_at is not None:
        bounds.append(series.now.oldest_at)
    since = min(max(bounds), now)
    reaches_back = first == 0 and len(series) > 0 and since <= series.start_of(0)
    return Waiting(since, patience(series, facts), reaches_back)


def patience(series: Series, facts: Facts) -> timedelta:
    """How long messages may wait before the queue is stalled."""
    usual = max(STALL, USUAL * usual_wait(series))
    if series.now.in_flight <= 0:
        return usual
    busy = sum(1 for received in series.received if received > 0)
    if facts.fifo or busy < BUSY_MINUTES_TO_KNOW:
        return max(usual, STALL_WHILE_IN_FLIGHT)
    return usual


def usual_wait(series: Series) -> timedelta:
    """How long messages usually wait until somebody receives: consumers may come once an hour.

    A wait is the number of minutes that ended with messages and had no receive, up to one that had; 0 for a receive
    from a queue that was empty. Minutes of continuous receiving are no waits.
    """
    waits: list[int] = []
    wait = 0
    empty = True
    for visible, received in zip(series.visible, series.received, strict=True):
        if received > 0:
            if wait or empty:
                waits.append(wait)
            wait = 0
        elif visible > 0:
            wait += 1
        empty = visible <= 0
        if empty:
            wait = 0
    if len(waits) < WAITS_TO_KNOW:
        return 0 * MINUTE
    return sorted(waits)[int(USUAL_SHARE * (len(waits) - 1))] * MINUTE
