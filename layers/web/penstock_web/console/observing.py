"""Reads the queues of one page, with at most three database calls."""

from collections.abc import Sequence
from typing import Final

from penstock.effects import Operation
from penstock.management import verdicts
from penstock.management.verdicts import KEPT, QUEUES_PER_READ, RECENT, Observed

MAX_QUEUES: Final = QUEUES_PER_READ[RECENT]
MAX_LONG_QUEUES: Final = QUEUES_PER_READ[KEPT]


def observe(arns: Sequence[str], in_flight_limit: int) -> Operation[dict[str, Observed]]:
    """Returns the existing queues by ARN. Reads only the first 60 ARNs, and the complete history of five queues."""
    return (yield from verdicts.observe(arns[:MAX_QUEUES], in_flight_limit, histories=MAX_LONG_QUEUES))
