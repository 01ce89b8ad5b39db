"""Limits how many receives of one queue may be under way at once, so that other queues get connections too.

Receives of a queue share calls only if their visibility timeouts are equal. All other effects of a queue share one
call.
"""

import asyncio
from collections import deque

from penstock.aws.arn import ResolvedQueue


class QueueShares:
    """Allows at most `most` calls at a time for each queue. Other calls wait for their turn."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def start(self, queue: ResolvedQueue) -> None:
        """Returns when the queue has fewer calls under way than its share. The caller calls `end` afterwards."""
        queue_arn = queue.arn
        while self._running.get(queue_arn, 0) >= self._most:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(queue_arn, deque()).append(turn)
            await turn
        self._running[queue_arn] = self._running.get(queue_arn, 0) + 1

    def end(self, queue: ResolvedQueue) -> None:
        """Ends a call, so that the next one may start."""
        queue_arn = queue.arn
        self._running[queue_arn] -= 1
        if not self._running[queue_arn]:
            del self._running[queue_arn]
        waiting = self._waiting.get(queue_arn)
        if waiting is not None:
            waiting.popleft().set_result(None)
            if not waiting:
                del self._waiting[queue_arn]
