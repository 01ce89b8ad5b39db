"""Keeps a batch's messages invisible, beyond the queue's visibility timeout, while a URL handles the messages.

    received ──► renewed repeatedly while the request lasts ──► deleted, or visible after the timeout

Users choose a queue's timeout to suit the timeout of the queue's Lambda function. A URL has no timeout, and can take up
to MAX_HOLD_SECONDS. If the process dies, no renewal happens, and the messages soon become visible again.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from math import ceil
from types import TracebackType
from typing import Final, Self

from penstock.aws.named_queue import NamedQueue
from penstock.errors import AwsError
from penstock.postgres.statements.messages import ReceiptHandle, ReceivedRow
from penstock.sqs.visibility import change

from .service import PollService

MAX_HOLD_SECONDS: Final = 900.0
"""The maximum timeout of a Lambda function ("Timeout", AWS Lambda quotas). SQS would allow 12 hours."""
SHORTEST_RENEWAL_SECONDS: Final = 30
"""The minimum time for which a renewal keeps messages invisible, so that no message becomes visible too early if the
database is slow."""


class Hold:
    """A block during which the messages stay invisible. `seconds` is the queue's visibility timeout."""

    def __init__(self, queue: NamedQueue, rows: Sequence[ReceivedRow], seconds: float, service: PollService) -> None:
        self._queue = queue
        self._rows = list(rows)
        self._seconds = seconds
        self._service = service
        self._began = asyncio.get_running_loop().time()
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def seconds_left(self) -> float:
        """Returns how long a request can still take."""
        return MAX_HOLD_SECONDS - (asyncio.get_running_loop().time() - self._began)

    async def __aenter__(self) -> Self:
        self._task = asyncio.get_running_loop().create_task(self._renew())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        assert self._task is not None  # noqa: S101 - __aenter__ made it
        self._over.set()
        if kind is not None:
            self._task.cancel()
        else:
            await self._task

    def release(self, rows: Sequence[ReceivedRow]) -> None:
        """Stops renewing the timeouts of messages that the caller will delete."""
        done = {row.message_id for row in rows}
        self._rows = [row for row in self._rows if row.message_id not in done]

    async def _renew(self) -> None:
        """Renews the timeout. The first renewal happens after half of the timeout, or at once if the timeout is
        shorter than SHORTEST_RENEWAL_SECONDS."""
        renewal = max(SHORTEST_RENEWAL_SECONDS, ceil(self._seconds))
        pause = self._seconds / 2 if self._seconds >= SHORTEST_RENEWAL_SECONDS else 0.0
        is_renewed = False
        while not await self._is_over(pause) and self.seconds_left > 0:
            await self._change(min(renewal, ceil(self.seconds_left)))
            is_renewed, pause = True, renewal / 3
        if is_renewed:  # failed messages become visible at the time that their receive has set
            await self._change(ceil(self._seconds))

    async def _is_over(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()
        return self._over.is_set()

    async def _change(self, seconds: int) -> None:
        """Changes the messages' visibility timeout, except for messages that other consumers have received
        meanwhile.
        """
        if self._rows:
            handles = [ReceiptHandle._make(row.handle) for row in self._rows]
            with suppress(AwsError):  # the next renewal may succeed
                await self._service.run(change(self._queue, handles, [seconds] * len(handles)))
