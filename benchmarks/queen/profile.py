"""Defines the parameters of the application mode, and what happens to each message."""

import random
from dataclasses import dataclass
from enum import Enum
from zlib import crc32

PARTS = 100_000


class Fate(Enum):
    """Derives a message's fate from the message's session and number, so that producer, consumer and audit compute the
    same fate.
    """

    PLAIN = "plain"
    POISON = "poison"  # always fails
    TRANSIENT = "transient"  # fails once
    FORWARD = "forward"  # The first group acknowledges the message, and sends it on to stage 2 in the same transaction.


@dataclass(frozen=True, slots=True)
class Profile:
    """Holds the parameters of a run. The defaults are Queen's, except for the rate, the number of connections and the
    duration, which suit two cores that the load generator also uses.

    If `groups` is "fifo", the topic and queues are FIFO, a session is a message group, and the audit checks the order.
    If `groups` is "fair", the topic and queues are standard, and a session is a group of a fair queue. If `rate` is 0,
    the rate is `over_rate` times the consumption in the last seconds.
    """

    seconds: float = 600.0
    rate: float = 0.0
    over_rate: float = 1.1
    first_rate: float = 1_000.0
    producers: int = 16
    consumers: int = 60  # in each of the two groups
    stage2_consumers: int = 8
    sessions: int = 5_000
    skew: float = 1.1
    groups: str = "fifo"
    handler_seconds: float = 0.020
    jitter: float = 0.5
    slow_part: float = 0.01
    slow_seconds: float = 0.200
    transient_part: float = 0.01
    poison_part: float = 0.001
    retry_limit: int = 5
    acks_a_call: int = 10
    forward_part: float = 0.05
    payload_bytes: tuple[int, int] = (256, 2_048)
    lease_seconds: int = 30
    drain_seconds: float = 900.0

    def fate(self, session: int, number: int) -> Fate:
        draw = crc32(b"%d:%d" % (session, number)) % PARTS / PARTS
        for fate, part in (
            (Fate.POISON, self.poison_part),
            (Fate.TRANSIENT, self.transient_part),
            (Fate.FORWARD, self.forward_part),
        ):
            if draw < part:
                return fate
            draw -= part
        return Fate.PLAIN

    def handling_seconds(self, rng: random.Random) -> float:
        """Returns how long the handler of one message takes."""
        if rng.random() < self.slow_part:
            return self.slow_seconds
        return self.handler_seconds * rng.uniform(1 - self.jitter, 1 + self.jitter)
