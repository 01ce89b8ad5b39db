"""Limits how much one queue, or another transaction's lock, delays other requests.

Receives from one queue use only a share of the connections, because receives with different visibility timeouts need
separate calls. All other effects of one queue share a call.

A call waits for a lock at most for the role's `lock_timeout`. If the wait times out, the batcher remembers the lock's
key for a while. Effects that need the remembered key go into separate batches, and do not delay other effects.
"""

import asyncio
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from penstock.aws.named_queue import NamedQueue
from penstock.effects import BatchCall
from penstock.postgres.statements.messages import ReceiptHandle, SendEntry
from penstock_web.database.calls import ExecuteStatement

from .merge import Mergeable

# After REMEMBER_SECONDS, the batcher assumes that the lock has been released. The next call that needs the lock waits
# again, and delays all effects in that call. Within REMEMBER_SECONDS, the batcher must be able to try every locked key
# again. Each try takes a second on a quarter of the connections: on two connections, 120 keys. A successful call makes
# the batcher forget the key.
REMEMBER_SECONDS = 60.0
MAX_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class Contention:
    """Holds functions and limits for calls that wait for locks or that could occupy every connection.

    `execute_hurriedly` makes calls that wait only briefly for locks. `execute_waiting` makes calls that will probably
    wait for a lock, and uses few connections. `queue_share` is the maximum number of concurrent receives from one
    queue.
    """

    execute_hurriedly: ExecuteStatement
    execute_waiting: ExecuteStatement
    queue_share: int = 5


class QueueShares:
    """Allows each queue at most `most` calls at a time. Further calls wait."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def start(self, queue: NamedQueue) -> None:
        """Waits until the queue has fewer running calls than `most`. Calls begin in the order in which they arrived.
        After the call, the caller must call `end`.
        """
        queue_arn = queue.arn
        if self._running.get(queue_arn, 0) < self._most:
            self._running[queue_arn] = self._running.get(queue_arn, 0) + 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(queue_arn, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # `end` has already given this call the place of an ended call.
                self.end(queue)
            raise

    def end(self, queue: NamedQueue) -> None:
        """Ends a call. The call that has waited longest starts."""
        queue_arn = queue.arn
        waiting = self._waiting.get(queue_arn)
        while waiting:
            turn = waiting.popleft()
            if not waiting:
                del self._waiting[queue_arn]
            if not turn.done():  # The future is done if the task of the waiting call was cancelled.
                turn.set_result(None)
                return
        self._running[queue_arn] -= 1
        if not self._running[queue_arn]:
            del self._running[queue_arn]


class LockedKeys:
    """Remembers the locked keys: message groups of FIFO queues, leases, and messages of FIFO queues."""

    def __init__(self) -> None:
        self._until: dict[Hashable, float] = {}

    def __bool__(self) -> bool:
        return bool(self._until)

    def find(self, effect: Mergeable) -> Hashable | None:
        """Returns the first locked key that an effect needs."""
        now = asyncio.get_running_loop().time()
        for key in list_keys(effect):
            until = self._until.get(key)
            if until is not None:
                if until > now:
                    return key
                del self._until[key]
        return None

    def add(self, effect: Mergeable) -> Hashable | None:
        """Adds the keys of an effect that timed out on a lock. The timeout does not show which key was locked. Returns
        the first key."""
        now = asyncio.get_running_loop().time()
        if len(self._until) >= MAX_KEYS:
            self._until = {key: until for key, until in self._until.items() if until > now}
        keys = list(list_keys(effect))
        if len(self._until) + len(keys) <= MAX_KEYS:
            self._until.update(dict.fromkeys(keys, now + REMEMBER_SECONDS))
        return keys[0] if keys else None

    def remove(self, effects: Iterable[Mergeable]) -> None:
        """Forgets the keys of effects that succeeded."""
        if self._until:
            for effect in effects:
                for key in list_keys(effect):
                    self._until.pop(key, None)


def list_keys(effect: Mergeable) -> Iterator[Hashable]:
    """Yields the keys of the locks that an effect needs. The key of a send to a FIFO queue is
    (queue, group). The key of a handle is (queue, shard, lease), and in a FIFO queue (queue, shard, message), because
    a handle does not contain the group.
    """
    if not isinstance(effect, BatchCall):
        return
    if effect.statement.stores_messages and effect.merge_key:
        for message in cast("Sequence[SendEntry]", effect.entries):
            yield message.queue_arn, message.group_id
    elif effect.statement.takes_handles:
        for handle in cast("Sequence[ReceiptHandle]", effect.entries):
            yield handle.queue_id, handle.shard, handle.pos or handle.id
