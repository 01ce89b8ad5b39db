"""One run of the worker: claims, posts and settles, while endpoints answer."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from time import monotonic, time
from typing import Final

from penstock.observer import NO_OBSERVER, Observer
from penstock.settings import Settings
from penstock.trace_context import CURRENT, Tracer

from .endpoint import EndpointRefused, parse_endpoint
from .outcome import Outcome, answered, unanswered
from .request import EVENT, Delivery, read_secrets, request_bytes
from .sender import Sender
from .store import Claimed, Finished, Store
from .traces import begin_span, end_span

SNS_SECONDS: Final = 15.0
"""How long an endpoint of a topic may take, connecting included ("the connection will time out in 15 seconds")."""
WAIT_FOR_MORE_MS: Final = 60_000
"""A run waits for a webhook that is due within this time."""
OUTCOME_BATCH_SECONDS: Final = 0.01
"""Outcomes of so much time are written together."""
CLAIM_PAUSE_SECONDS: Final = 0.05
"""While requests are under way and nothing is due: pause between two claims."""
STOP_SECONDS: Final = 0.3
"""After a stop: for requests under way."""

_log = logging.getLogger(__name__)


class DeliveryRun:
    """In one event loop. `unwritten` holds finished attempts that are not in the database; it outlives the run."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        sender: Sender,
        counts: "Counter[str]",
        unwritten: list[Finished],
        observer: Observer = NO_OBSERVER,
        tracer: Tracer | None = None,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._store = store
        self._sender = sender
        self._counts = counts
        self._unwritten = unwritten
        self._observer = observer
        self._capacity = settings.queue_http_delivery_batch_size
        self._poll_seconds = settings.queue_http_delivery_poll_ms / 1000
        self._event_seconds = float(settings.queue_http_delivery_timeout_secs)
        self._tracer = tracer
        self._secrets = read_secrets(settings.webhook_signing_secret)
        self._under_way: set[asyncio.Task[None]] = set()
        self._busy: Counter[str] = Counter()
        self._signal = asyncio.Event()
        self._claim_after = float("-inf")

    def wake(self) -> None:
        """There may be something to do. Only in the run's own thread."""
        self._claim_after = float("-inf")
        self._signal.set()

    async def work(self, deadline: float, stopping: Callable[[], bool]) -> None:
        """Returns when nothing is due for a while, or soon after the deadline or a stop. Raises psycopg.Error.

        deadline: on the clock `monotonic`, for claims; an attempt under way is waited for.
        """
        try:
            while True:
                over = stopping() or monotonic() >= deadline
                await self._write_and_claim(claiming=not over)
                if stopping():
                    break
                if self._under_way:
                    await self._wait_for_outcomes()
                elif not self._unwritten and (over or not await self._wait_until_due(deadline)):
                    break
        finally:
            await self._finish(STOP_SECONDS if stopping() else SNS_SECONDS)

    # --- the database ------------------------------------------------------------------------------------------------
    async def _write_and_claim(self, claiming: bool) -> None:
        """Writes what has finished and claims as much as may go out, if there may be something to claim."""
        self._signal.clear()
        capacity = (
            self._capacity - len(self._under_way) if claiming and monotonic() >= self._claim_after else 0
        )
        if self._unwritten or capacity:
            for claimed in await asyncio.to_thread(self._settle_and_claim, capacity):
                self._start(claimed)
                capacity -= 1
            if capacity:
                self._claim_after = monotonic() + CLAIM_PAUSE_SECONDS

    def _settle_and_claim(self, capacity: int) -> list[Claimed]:
        """In a thread, so that requests go on. An outcome that could not be written stays in `unwritten`."""
        finished = self._unwritten[:]
        if finished:
            settled = self._store.settle(finished)
            self._counts.update(settled)
            self._observer.counted(settled)
            del self._unwritten[: len(finished)]
        return self._store.claim(capacity, dict(self._busy)) if capacity else []

    async def _wait_until_due(self, deadline: float) -> bool:
        """No request is under way: waits for the next webhook that is due soon. False when there is none."""
        wait_ms = await asyncio.to_thread(self._store.wait_ms)
        if wait_ms is None or wait_ms > WAIT_FOR_MORE_MS:
            return False
        await self._wait(min(wait_ms / 1000, self._poll_seconds, max(0.0, deadline - monotonic())))
        self._claim_after = float("-inf")
        return True

    # --- the endpoints -----------------------------------------------------------------------------------------------
    def _start(self, claimed: Claimed) -> None:
        self._busy[claimed.delivery.endpoint_key] += 1
        task = self.loop.create_task(self._attempt(claimed))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _attempt(self, claimed: Claimed) -> None:
        try:
            started = monotonic()
            outcome = await self._traced(claimed)
            self._observer.attempted(outcome.error is None, monotonic() - started)
            self._unwritten.append(Finished(claimed, outcome))
        finally:
            endpoint_key = claimed.delivery.endpoint_key
            self._busy[endpoint_key] -= 1
            if not self._busy[endpoint_key]:
                del self._busy[endpoint_key]
            if len(self._under_way) == 1 or len(self._unwritten) * 4 >= self._capacity:
                self._signal.set()

    async def _traced(self, claimed: Claimed) -> Outcome:
        """The outcome of an attempt, which is a span of its own if the publish was."""
        if self._tracer is None or claimed.trace is None:
            return await self._post(claimed.delivery)
        span = begin_span(self._tracer, claimed.trace, claimed.delivery)
        CURRENT.set(
            claimed.trace if span is None else span.context
        )  # of this task, which is the attempt's own
        outcome = await self._post(claimed.delivery)
        if span is not None:
            end_span(span, outcome)
        return outcome

    async def _post(self, delivery: Delivery) -> Outcome:
        seconds = self._event_seconds if delivery.kind == EVENT else SNS_SECONDS
        try:
            endpoint = parse_endpoint(delivery.endpoint)
            request = request_bytes(delivery, endpoint, self._secrets, int(time()))
            return answered(delivery, await self._sender.post(endpoint, request, seconds))
        except TimeoutError as error:
            return unanswered(delivery, TimeoutError(str(error) or f"no answer within {seconds:g} s"))
        except (EndpointRefused, OSError) as error:
            return unanswered(delivery, error)
        except Exception as error:  # noqa: BLE001 - one delivery must not end the run of the others
            _log.exception("webhook failed", exc_info=error, extra={"webhook": delivery.webhook_id})
            return unanswered(delivery, error)

    async def _wait_for_outcomes(self) -> None:
        """Until there is enough to write, or a moment has passed."""
        await self._wait(OUTCOME_BATCH_SECONDS if self._unwritten else CLAIM_PAUSE_SECONDS)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._signal.wait()

    async def _finish(self, seconds: float) -> None:
        """Waits for requests under way and writes outcomes; longer ones are abandoned, and due after their lease."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=seconds)
        for task in list(self._under_way):
            task.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way)
        if self._unwritten:
            await asyncio.to_thread(self._settle_and_claim, 0)
