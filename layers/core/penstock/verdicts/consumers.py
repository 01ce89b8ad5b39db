"""Estimates how many consumers are at work, and how many consumers a target lag needs.

By Little's law (J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9, 1961) the number of
messages in flight is the rate of completions times the time that each message takes. A consumer that takes one
message at a time has one message in flight while it is busy. The mean number of messages in flight is therefore the
number of busy consumers. Consumers that take ten messages at once have more in flight. The numbers then count
messages that are handled at once, and only their ratio is meaningful.
"""

from math import ceil
from typing import Final, NamedTuple

from .rates import Rates
from .series import Series

LEAST_DONE: Final = 10
"""The estimate needs this many completed messages in the time of the rates."""


class Consumers(NamedTuple):
    """The number of consumers, and the number needed. None means that the number is not known."""

    now: int | None = None
    needed: int | None = None


def estimate_consumers(series: Series, rates: Rates, backlog: int, target_lag_seconds: int) -> Consumers:
    """Returns the number of consumers, and the number that would keep the wait of a message within the target lag.

    The consumers must handle the arrivals and clear the backlog within the target lag. `now` is known only while
    messages wait, since idle consumers are invisible. The calculation uses the mean time of all deliveries for a
    message, because more consumers would not finish the work of repeated deliveries. Arrivals that become dead
    letters do not count.
    """
    in_flight = series.in_flight[-rates.minutes :]
    done = sum(series.left[-rates.minutes :])
    if done < LEAST_DONE or not any(in_flight):
        return Consumers()
    busy = sum(in_flight) / len(in_flight)
    delivered = max(done, sum(series.received[-rates.minutes :]))
    poisoned = rates.drain * sum(series.dead_lettered[-rates.minutes :]) / done
    each_seconds = busy / (rates.drain * delivered / done)
    needed = each_seconds * (max(0.0, rates.arrivals - poisoned) + backlog / target_lag_seconds)
    waits = all(series.visible[-rates.minutes :])
    return Consumers(max(1, round(busy)) if waits else None, max(1, ceil(needed - 1e-9)))
