"""Sends batches in a thread with an event loop, while the worker's thread delivers to targets in the database."""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

from penstock.settings import Settings

from .batches import HTTP, Batch, BatchCarrier, Finished
from .destinations import DestinationBatches
from .functions import FunctionBatches
from .step import EventStep
from .subscriber import Result, Waiting
from .tokens import Tokens

MAX_BATCHES: Final = 50
"""The most batches that a process sends at the same time."""
MAX_BYTES: Final = 64 << 20
"""The most bytes of data of the batches that a process sends at the same time."""
STOP_SECONDS: Final = 0.3
"""The time for which `close` waits for open calls. The events of the others are sent again after their lease."""
_log = logging.getLogger(__name__)


class Sending:
    """The batches that a run sends. `changed` is set when a batch ends. The thread starts with the first batch.
    `tokens` are those of the process."""

    def __init__(self, settings: Settings, changed: threading.Event, tokens: Tokens) -> None:
        self._settings = settings
        self._changed = changed
        self._tokens = tokens
        self._open: dict[int, Batch] = {}
        self._finished: list[Finished] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._carriers: Mapping[str, BatchCarrier] = {}
        self.kinds: list[str] = ["lambda"] if settings.queue_lambda_endpoint else []
        """The carriers that this process has (queue.event_subscriber.carrier)."""
        if settings.queue_http_delivery_enabled and settings.queue_encryption_key:
            self.kinds.append(HTTP)

    @property
    def is_open(self) -> bool:
        return bool(self._open or self._finished)

    def exchange(self, step: EventStep, *, claims: bool) -> bool:
        """Stores what became of batches, and claims new ones if `claims` is set. Returns whether there were any. Raises
        psycopg.Error."""
        finished = self._finished[:]
        if finished:
            step.settle_batches(finished)
            del self._finished[: len(finished)]
        open_batches = list(self._open.values())
        limit = MAX_BATCHES - len(open_batches)
        free_bytes = MAX_BYTES - sum(batch.bytes for batch in open_batches)
        batches = []
        if claims and limit > 0 and free_bytes > 0:
            busy = Counter(batch.subscriber.subscriber_id for batch in open_batches)
            batches = step.claim_batches(self.kinds, busy, limit, free_bytes)
        for batch in batches:
            self._start(batch)
        return bool(finished or batches)

    def close(self) -> None:
        """Ends the thread. Open calls end without an outcome."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    # --- the thread --------------------------------------------------------------------------------------------------
    def _start(self, batch: Batch) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=[self._loop], name="event-batches", daemon=True)
            self._thread.start()
        self._open[id(batch)] = batch
        asyncio.run_coroutine_threadsafe(self._send(batch), self._loop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(self._end())
            loop.close()

    def _build_carriers(self) -> dict[str, BatchCarrier]:
        carriers: dict[str, BatchCarrier] = {"lambda": FunctionBatches(self._settings)}
        if HTTP in self.kinds:
            carriers[HTTP] = DestinationBatches(self._settings, self._tokens)
        return carriers

    async def _send(self, batch: Batch) -> None:
        if not self._carriers:
            self._carriers = self._build_carriers()
        results: list[Result]
        try:
            results = await self._carriers[batch.subscriber.carrier or ""].carry(batch)
        except Exception as error:  # noqa: BLE001 - the run waits for the end of every batch
            _log.exception("batch was not sent", exc_info=error, extra={"subscriber": batch.subscriber.arn})
            results = [Waiting.UNSENT] * len(batch.events)
        self._finished.append(Finished(batch, results))
        del self._open[id(batch)]
        self._changed.set()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for carrier in self._carriers.values():
            await carrier.close()
