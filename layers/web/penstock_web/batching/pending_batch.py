"""Collects effects for a shared call, and decides how many effects a call takes.

Calls have limits on entries, messages and bytes, because only short messages benefit from a shared call.
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from penstock.aws.named_queue import NamedQueue
from penstock.limits.message_lengths import MAX_RECEIVE, MessageLengths
from penstock.postgres.statement import Row

from .merge import Mergeable

# MAX_FLUSH_WEIGHT is a number of entries. The weight of an effect also grows by one for each KiB, so a call carries at
# most a MiB plus the bytes of the last request. The process holds the bytes of a call several times, and libpq keeps a
# buffer for the longest call of each connection.
MAX_FLUSH_WEIGHT = 1000
BYTES_PER_ENTRY = 1024
# Sends with at least this weight do not share a call with shorter sends. The number is Penstock's own choice.
LONG_WEIGHT = 64
# A batch stops collecting when its weight reaches ENOUGH_WEIGHT. If one call took all waiting entries, the service
# would be idle during the commit.
ENOUGH_WEIGHT = 60
# If IDLE_TURNS turns of the event loop bring no new effect, the batch assumes that no further effects are arriving.
IDLE_TURNS = 3

RowsFuture = asyncio.Future[Sequence[Row]]
"""Holds the rows of one request's effect. Only the request's operation knows the type of the rows."""


class PendingEffect(Struct, eq=False):
    """Holds one request's effect and the future of its rows.

    `weight` is the effect's share of a flush. `since` is the time when the wait began, on the monotonic clock.
    """

    effect: Mergeable
    future: RowsFuture
    weight: int
    since: float

    def limit(self, messages: int) -> None:
        """Lowers the message count of a receive to `messages`."""
        if self.weight > messages:
            self.effect = replace(self.effect, count=messages)
            self.weight = messages


class PendingBatch:
    """Collects effects that may share a call. The effects wait until the current call ends, because each of two
    concurrent calls would contain fewer effects.

    `queue` is the queue if the effects are receives, and otherwise None.
    """

    __slots__ = ("_lengths", "linger_seconds", "pending", "queue")

    def __init__(self, queue: NamedQueue | None, linger_seconds: float, lengths: MessageLengths) -> None:
        self.pending: deque[PendingEffect] = deque()
        self._lengths = lengths
        self.queue = queue
        self.linger_seconds = linger_seconds

    async def collect(self) -> None:
        """Waits for further effects until several consecutive turns of the event loop add no effect.

        The server reads requests one by one, even if they arrive together. Without this wait, the batch would flush a
        single request first. A turn of the event loop that adds no effect takes 10 µs. A database call takes several
        hundred microseconds.
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
        """Returns the weight of all waiting effects."""
        return sum(each.weight for each in self.pending)

    @property
    def receives_long_messages(self) -> bool:
        """Returns whether the messages are so long that one request can get fewer messages."""
        return self.queue is not None and self._lengths.estimate_most_for_one(self.queue) < MAX_RECEIVE

    def next_flush(self) -> list[PendingEffect]:
        """Returns the effects of the next flush. Omits effects of ended requests."""
        taken: list[PendingEffect] = []
        weight = 0
        max_weight = MAX_FLUSH_WEIGHT if self.queue is None else self._lengths.estimate_largest_receive(self.queue)
        while self.pending and weight < max_weight:
            each = self.pending.popleft()
            if not each.future.done():
                if self.queue is not None:
                    each.limit(self._lengths.estimate_most_for_one(self.queue))
                taken.append(each)
                weight += each.weight
        return taken
