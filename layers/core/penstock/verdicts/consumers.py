"""Estimates how many consumers are at work, and how many consumers a target lag needs.

By Little's law (J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9, 1961) the number of
messages in flight is the rate of completions times the time of each message. A consumer that takes one message at a
time has one message in flight while it is busy. The mean number of messages in flight is therefore the number of busy
consumers. Consumers that take ten messages at once have more messages in flight. For such consumers, the numbers count
concurrently handled messages, and only the ratio of the numbers is meaningful.
"""

from math import ceil
from typing import Final, NamedTuple

from .rates import Rates
from .series import Series

LEAST_DONE: Final = 10
"""The minimum number of completed messages, in the time of the rates, that the estimate needs."""


class Consumers(NamedTuple):
    """The number of consumers, and the number of consumers that the queue needs. None means unknown."""

    now: int | None = None
    needed: int | None = None


def estimate_consumers(series: Series, rates: Rates, backlog: int, target_lag_seconds: int) -> Consumers:
    """Returns the number of consumers, and the number of consumers that would keep a message's wait within the target
    lag.

    The consumers must handle the arrivals and clear the backlog within the target lag. `now` is None while no messages
    wait, because the counts do not show idle consumers. A failed message stays in flight until its visibility timeout
    ends, although no consumer works on it. Therefore minutes with failed messages do not count. Both numbers are
    unknown if all minutes have failed messages. Arrivals that become dead letters do not count.
    """
    minutes = find_minutes_without_failures(series, rates.minutes)
    done = sum(series.left[index] for index in minutes)
    in_flight = sum(series.in_flight[index] for index in minutes)
    if done < LEAST_DONE or not in_flight:
        return Consumers()
    each_seconds = 60 * in_flight / done
    left = sum(series.left[-rates.minutes :])
    poisoned = rates.drain * sum(series.dead_lettered[-rates.minutes :]) / left
    needed = each_seconds * (max(0.0, rates.arrivals - poisoned) + backlog / target_lag_seconds)
    waits = all(series.visible[-rates.minutes :])
    busy = in_flight / len(minutes)
    return Consumers(max(1, round(busy)) if waits else None, max(1, ceil(needed - 1e-9)))


def find_minutes_without_failures(series: Series, minutes: int) -> list[int]:
    """Returns the indices of the last minutes without failures. In a minute without failures and in the next minute, no
    message was redelivered or became a dead letter. A redelivered message had waited for the end of its visibility
    timeout."""
    failed = [again + dead > 0 for again, dead in zip(series.redelivered, series.dead_lettered, strict=True)]
    first = max(0, len(failed) - minutes)
    return [index for index in range(first, len(failed)) if not any(failed[index : index + 2])]
