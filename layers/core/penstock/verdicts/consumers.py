"""Estimates how many consumers are at work, and how many a target lag needs.

By Little's law (J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9, 1961) the number of
messages in flight is the rate of completions times the time that each message takes. A consumer that takes one message
at a time has one in flight while it is busy, so their mean number is the number of busy consumers. Consumers that take
ten at once have more. The numbers then count messages handled at once, and their ratio is significant.
"""

from math import ceil
from typing import Final, NamedTuple

from .rates import Rates
from .series import Series

LEAST_DONE: Final = 10
"""With fewer completed messages in the time of the rates, there is no estimate."""


class Consumers(NamedTuple):
    """The number of consumers, and the number needed. None means that it is not known."""

    now: int | None = None
    needed: int | None = None


def estimate_consumers(series: Series, rates: Rates, backlog: int, target_lag_seconds: int) -> Consumers:
    """Returns how many consumers there are, and how many keep the wait of a message within the target lag.

    The consumers must handle the arrivals and clear the backlog within the target lag. `now` is known only while
    messages wait, since idle consumers are invisible. A message takes the mean time of all deliveries, because
    repeated deliveries are no work that more consumers would finish. Arrivals that become dead letters do not count.
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
