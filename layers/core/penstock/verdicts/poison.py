"""Detects poison messages, which consumers receive again and again but never delete."""

import math
from datetime import datetime, timedelta
from typing import Final

from .series import MINUTE, Series
from .types import Facts

POISON_MINUTES: Final = 10
"""The number of minutes that the rule examines."""
RECURRING_MINUTES: Final = 3
"""The number of examined minutes in which redeliveries must occur. Redeliveries in a single minute mean that a consumer
restarted."""
LEAST_REDELIVERIES: Final = 5
REDELIVERED_SHARE: Final = 0.3
"""The minimum fraction of receives that are redeliveries."""
DEAD_LETTERED_SHARE: Final = 0.005
"""The minimum fraction of departing messages that go to the dead-letter queue, in at least two of the examined
minutes."""
DEAD_LETTER_MINUTES: Final = 2
STUCK_SHARE: Final = 0.01
"""The minimum fraction of redeliveries while a message is stuck. Handlers that fail occasionally stay below this
fraction."""
STUCK_TIMEOUTS: Final = 4
"""The minimum age of a stuck message in visibility timeouts of its queue, because several attempts have failed by then.
A stuck message must also have been the oldest message for the minimum age, or be five times as old as the backlog
explains."""
MIN_STUCK: Final = timedelta(minutes=2)
MAX_STUCK: Final = timedelta(minutes=5)
"""The bounds of the minimum age."""
STUCK_FACTOR: Final = 5
DONE_SHARE: Final = 0.2
"""The fraction of first receives that must end in a delete. Below this fraction, the handlers are the cause, not some
messages."""


def is_poisoned(series: Series, facts: Facts, drain_rate: float, now: datetime) -> bool:
    """Returns whether redeliveries occur in several minutes, and are frequent, end as dead letters, or last long."""
    again = series.redelivered[-POISON_MINUTES:]
    dead = series.dead_lettered[-POISON_MINUTES:]
    if sum(1 for count in again if count) < RECURRING_MINUTES or sum(again) < LEAST_REDELIVERIES:
        return False
    received = sum(series.received[-POISON_MINUTES:])
    left = sum(series.left[-POISON_MINUTES:])
    if sum(again) >= REDELIVERED_SHARE * max(received, 1):
        return True
    if sum(1 for count in dead if count) >= DEAD_LETTER_MINUTES and sum(dead) >= DEAD_LETTERED_SHARE * left:
        return True
    return sum(again) >= STUCK_SHARE * received and is_stuck(series, facts, drain_rate, now)


def is_stuck(series: Series, facts: Facts, drain_rate: float, now: datetime) -> bool:
    """Returns whether the oldest message stays while other messages are deleted, or is much older than the backlog
    explains."""
    if series.now.oldest_at is None or drain_rate <= 0:
        return False
    age = now - series.now.oldest_at
    in_turn = timedelta(seconds=(series.now.visible + series.now.in_flight) / drain_rate)
    least = min(max(STUCK_TIMEOUTS * facts.visibility_timeout, MIN_STUCK), MAX_STUCK)
    minutes = math.ceil(least / MINUTE)
    before = series.oldest_at[-minutes] if len(series) >= minutes else None
    stays = before is not None and before == series.now.oldest_at
    return age > least and (stays or age > STUCK_FACTOR * in_turn)


def do_handlers_fail(series: Series) -> bool:
    """Returns whether consumers delete hardly any message after its first receive."""
    first = sum(series.received[-POISON_MINUTES:]) - sum(series.redelivered[-POISON_MINUTES:])
    done = sum(series.left[-POISON_MINUTES:]) - sum(series.dead_lettered[-POISON_MINUTES:])
    return first >= LEAST_REDELIVERIES and done < DONE_SHARE * first


def start_of_redeliveries(series: Series) -> int:
    """Returns the index of the first minute in a run of redeliveries with gaps of at most POISON_MINUTES."""
    first = len(series)
    for index in range(len(series) - 1, -1, -1):
        if series.redelivered[index]:
            first = index
        elif first - index > POISON_MINUTES:
            break
    return first
