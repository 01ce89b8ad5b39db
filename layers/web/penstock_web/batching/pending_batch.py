"""A lane of the batcher: those who wait for a call that they may share, and how much one call takes.

Its bounds are entries, messages and bytes: many short messages pay by sharing a call, long ones do not.
"""

import asyncio
from collections import deque
from collections.abc import Hashable

from msgspec.structs import replace

from penstock.effects import Row, Take, Transact
from penstock.postgres.statements import PUBLISH_MESSAGES, SEND_MESSAGES

from .lengths import Lengths
from .merge import LARGEST_TAKE, Mergeable

# Entries; a send or publication counts one more for each KiB, so that a call carries a MiB and the last caller's. It is
# in memory several times, and libpq keeps a buffer of the longest one that a connection has sent.
MAX_FLUSH_WEIGHT = 1000
BYTES_PER_ENTRY = 1024
# By weight. So much at the door is enough: with all of it in one call, nobody would work while that commits.
ENOUGH_WEIGHT = 60
# Turns of the event loop that bring nobody, after which nobody else is at the door.
IDLE_TURNS = 3

RowsFuture = asyncio.Future[list[Row]]


class Entry:
    """One caller's effect and the answer that it waits for."""

    __slots__ = ("effect", "future", "weight")

    def __init__(self, effect: Mergeable, future: RowsFuture) -> None:
        self.effect = effect
        self.future = future
        self.weight = weight_of(effect)

    def limit(self, messages: int) -> None:
        """It is a receive, and asks for fewer if it asked for more."""
        if self.weight > messages:
            self.effect = replace(self.effect, count=messages)
            self.weight = messages


class PendingBatch:
    """Effects that may share a call, and wait for the one that is under way: with two, each would carry fewer."""

    __slots__ = ("_lengths", "_queue_arn", "linger_seconds", "pending")

    def __init__(self, effect: Mergeable, linger_seconds: float, lengths: Lengths) -> None:
        self.pending: deque[Entry] = deque()
        self._lengths = lengths
        self._queue_arn = effect.queue_arn if isinstance(effect, Take) else None
        self.linger_seconds = linger_seconds if effect.statement is SEND_MESSAGES else 0.0

    async def collect(self) -> None:
        """Waits for those who are at the door already: until a few turns of the event loop bring nobody.

        Requests that came together are read one by one, and the first of them would go alone. A turn that finds
        nobody costs 10 µs, a call several hundred.
        """
        if self.linger_seconds:
            await asyncio.sleep(self.linger_seconds)
        idle_turns = 0
        while idle_turns < IDLE_TURNS and self.weight < ENOUGH_WEIGHT:
            count = len(self.pending)
            await asyncio.sleep(0)
            idle_turns = idle_turns + 1 if len(self.pending) == count else 0

    @property
    def weight(self) -> int:
        """Of all who wait."""
        return sum(entry.weight for entry in self.pending)

    @property
    def receives_long_messages(self) -> bool:
        """Whether it receives messages of which one caller can have too many."""
        return self._queue_arn is not None and self._lengths.most_for_one(self._queue_arn) < LARGEST_TAKE

    def next_flush(self) -> list[Entry]:
        """The entries of the next flush, without those whose caller is gone."""
        entries: list[Entry] = []
        weight = 0
        max_weight = (
            MAX_FLUSH_WEIGHT if self._queue_arn is None else self._lengths.largest_take(self._queue_arn)
        )
        while self.pending and weight < max_weight:
            entry = self.pending.popleft()
            if not entry.future.done():
                if self._queue_arn is not None:
                    entry.limit(self._lengths.most_for_one(self._queue_arn))
                entries.append(entry)
                weight += entry.weight
        return entries


def weight_of(effect: Mergeable) -> int:
    """How much of a flush an effect fills."""
    if isinstance(effect, Take):
        return effect.count
    if isinstance(effect, Transact):
        return len(effect) + int(sum(effect.messages[3])) // BYTES_PER_ENTRY
    if effect.statement is SEND_MESSAGES:
        return len(effect) + int(sum(effect.columns[3])) // BYTES_PER_ENTRY
    if effect.statement is PUBLISH_MESSAGES:
        # Each message is there twice, as it is and in its envelope; its row has the size of the whole request.
        return len(effect) + 2 * int(effect.columns[9][0]) // BYTES_PER_ENTRY
    return len(effect)


def batch_key(effect: Mergeable) -> Hashable:
    """Effects with equal keys may share a call."""
    if isinstance(effect, Take):
        # Of a FIFO queue SQL keeps the shares of callers apart, which must then be equally large.
        share = effect.count if effect.is_fifo else None
        return effect.statement, effect.queue_arn, effect.visibility_seconds, share
    return effect.statement, effect.options, effect.lane
