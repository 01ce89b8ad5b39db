"""Whether some messages are received again and again and never done."""

from datetime import datetime, timedelta
from typing import Final

from .series import MINUTE, Series

POISON_MINUTES: Final = 10
"""So far back the rule looks."""
RECURRING_MINUTES: Final = 3
"""In so many of these minutes messages came again: once is a consumer that was restarted."""
LEAST_REDELIVERIES: Final = 5
REDELIVERED_SHARE: Final = 0.3
"""So much of what is received has been received before."""
DEAD_LETTERED_SHARE: Final = 0.005
"""Or so much of what leaves goes to the dead-letter queue, in at least two of the minutes."""
DEAD_LETTER_MINUTES: Final = 2
STUCK_SHARE: Final = 0.01
"""Or so much of it, and a message is stuck: where handlers fail now and then it is less."""
STUCK: Final = timedelta(minutes=5)
"""It is, when the oldest message is older than this, and either it has been the oldest for so long while others were
done, or what is sent now would be done in a fifth of the time."""
STUCK_FACTOR: Final = 5
DONE_SHARE: Final = 0.2
"""When less than this part of what is received for the first time is done, all handlers fail, and not some messages."""


def is_poisoned(series: Series, drain_rate: float, now: datetime) -> bool:
    """Whether messages come again in several minutes, and make up much, end as dead letters or stay for long."""
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
    return sum(again) >= STUCK_SHARE * received and is_stuck(series, drain_rate, now)


def is_stuck(series: Series, drain_rate: float, now: datetime) -> bool:
    """Whether the oldest message stays while others pass, or is much older than the backlog explains."""
    if series.now.oldest_at is None or drain_rate <= 0:
        return False
    age = now - series.now.oldest_at
    in_turn = timedelta(seconds=(series.now.visible + series.now.in_flight) / drain_rate)
    minutes = STUCK // MINUTE
    before = series.oldest_at[-minutes] if len(series) >= minutes else None
    stays = before is not None and before == series.now.oldest_at
    return age > STUCK and (stays or age > STUCK_FACTOR * in_turn)


def handlers_fail(series: Series) -> bool:
    """Whether hardly any of the messages that are received for the first time are done."""
    first = sum(series.received[-POISON_MINUTES:]) - sum(series.redelivered[-POISON_MINUTES:])
    done = sum(series.left[-POISON_MINUTES:]) - sum(series.dead_lettered[-POISON_MINUTES:])
    return first >= LEAST_REDELIVERIES and done < DONE_SHARE * first


def start_of_redeliveries(series: Series) -> int:
    """The index of the first of the minutes with redeliveries that follow each other within POISON_MINUTES."""
    first = len(series)
    for index in range(len(series) - 1, -1, -1):
        if series.redelivered[index]:
            first = index
        elif first - index > POISON_MINUTES:
            break
    return first
