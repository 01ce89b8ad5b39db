"""Estimates how many consumers are at work, and how many a target lag needs.

By Little's law (J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9, 1961) the messages
in flight are the rate at which they are done times the time that each takes. A consumer that takes one message at a
time has one in flight while it is busy, so their mean number is that of busy consumers. Consumers that take ten at once
have more: then the numbers are those of messages handled at once, and their ratio is what counts.
"""

from math import ceil
from typing import Final, NamedTuple

from .rates import Rates
from .series import Series

LEAST_DONE: Final = 10
"""With fewer messages done in the time of the rates nothing is said."""


class Consumers(NamedTuple):
    """None: not known."""

    now: int | None = None
    needed: int | None = None


def estimate_consumers(series: Series, rates: Rates, backlog: int, target_lag_seconds: int) -> Consumers:
    """Returns how many consumers there are, and how many keep the wait of a message within the target lag.

    They must handle the arrivals and clear the backlog within the target lag. `now` is known only while messages wait:
    otherwise idle consumers are invisible.
    """
    in_flight = series.in_flight[-rates.minutes :]
    done = sum(series.left[-rates.minutes :])
    if done < LEAST_DONE or not any(in_flight):
        return Consumers()
    busy = sum(in_flight) / len(in_flight)
    each_seconds = busy / rates.drain
    needed = each_seconds * (rates.arrivals + backlog / target_lag_seconds)
    waits = all(series.visible[-rates.minutes :])
    return Consumers(max(1, round(busy)) if waits else None, max(1, ceil(needed - 1e-9)))
