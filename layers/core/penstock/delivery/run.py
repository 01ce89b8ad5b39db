"""One run of the delivery worker. A run claims deliveries, sends the deliveries through carriers, and writes their
outcomes while other requests are open."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Final

from penstock.observing.observer import NO_OBSERVER, Observer
from penstock.observing.trace_context import CURRENT_TRACE, Span, TraceContext, Tracer, Value
from penstock.settings import Settings

from .carrier import ATTEMPT_SECONDS, Carrier
from .delivery import EVENT, Delivery
from .outcome import Claimed, Finished, Outcome
from .store import DeliveryStore
from .warnings import log_unknown_kind

WAIT_FOR_MORE_MS: Final = 60_000
"""A run waits if a delivery is due within this time, and otherwise ends."""
OUTCOME_BATCH_SECONDS: Final = 0.01
"""The time for which the run collects outcomes before it writes all collected outcomes in one call."""
CLAIM_PAUSE_SECONDS: Final = 0.05
"""The pause between two claims while requests are open and no delivery is due."""
STOP_SECONDS: Final = 0.3
"""The time for which a run waits for open requests after a stop."""


class DeliveryRun:
    """A run in one event loop.

    `carriers` has the carrier of each kind of delivery. For a delivery of another kind, the run logs an error and
    counts a failed attempt. A worker that knows the kind can send the delivery after the lease. `unwritten` contains
    finished attempts whose outcomes are not in the database. The caller passes `unwritten` to the next run.
    """

    def __init__(
        self,
        settings: Settings,
        store: DeliveryStore,
        carriers: Mapping[str, Carrier],
        counts: "Counter[str]",
        unwritten: list[Finished],
        observer: Observer = NO_OBSERVER,
        tracer: Tracer | None = None,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._store = store
        self._carriers = carriers
        self._counts = counts
        self._unwritten = unwritten
        self._observer = observer
        self._capacity = settings.queue_http_delivery_batch_size
        self._poll_seconds = settings.queue_http_delivery_poll_ms / 1000
        self._tracer = tracer
        self._under_way: set[asyncio.Task[None]] = set()
        self._busy: Counter[str] = Counter()
        self._signal = asyncio.Event()
        self._claim_after = float("-inf")

    def wake(self) -> None:
        """Ends a pause, because a delivery may be due. Only the run's thread can call this method."""
        self._claim_after = float("-inf")
        self._signal.set()

    async def work(self, deadline: float, stopping: Callable[[], bool]) -> None:
        """Returns when no delivery is due within WAIT_FOR_MORE_MS, or soon after the deadline or a stop.

        After `deadline` (a time of `monotonic`) the run claims no deliveries, and only waits for open attempts. Raises
        psycopg.Error.
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
            await self._finish(STOP_SECONDS if stopping() else ATTEMPT_SECONDS)

    # --- the database ------------------------------------------------------------------------------------------------
    async def _write_and_claim(self, claiming: bool) -> None:
        """Writes outcomes, claims a delivery for each free place, and starts the attempts."""
        self._signal.clear()
        capacity = self._capacity - len(self._under_way) if claiming and monotonic() >= self._claim_after else 0
        if self._unwritten or capacity:
            claims = await asyncio.to_thread(self._settle_and_claim, capacity)
            for claimed in claims:
                self._start(claimed)
            if not claims:
                self._claim_after = monotonic() + CLAIM_PAUSE_SECONDS

    def _settle_and_claim(self, capacity: int) -> list[Claimed]:
        """Runs in a thread, so that requests continue. If the database call fails, the outcomes stay in `unwritten`."""
        finished = self._unwritten[:]
        if finished:
            settled = self._store.settle(finished)
            self._counts.update(settled)
            self._observer.counted(settled)
            del self._unwritten[: len(finished)]
        return self._store.claim(capacity, dict(self._busy)) if capacity else []

    async def _wait_until_due(self, deadline: float) -> bool:
        """Waits for the next delivery while no request is open. Returns False if no delivery is due soon."""
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
            carrier = self._carriers.get(claimed.delivery.kind)
            if carrier is None:
                log_unknown_kind(claimed.delivery.kind)
                self._observer.attempted(False, monotonic() - started)
                return
            outcome = await self._carry_traced(claimed, carrier)
            seconds = monotonic() - started
            self._observer.attempted(outcome.error is None, seconds)
            self._unwritten.append(Finished(claimed, outcome, round(seconds * 1000)))
        finally:
            endpoint_key = claimed.delivery.endpoint_key
            self._busy[endpoint_key] -= 1
            if not self._busy[endpoint_key]:
                del self._busy[endpoint_key]
            if len(self._under_way) == 1 or len(self._unwritten) * 4 >= self._capacity:
                self._signal.set()

    async def _carry_traced(self, claimed: Claimed, carrier: Carrier) -> Outcome:
        """Makes an attempt and returns the outcome. If the publish was traced, the attempt becomes a span."""
        if self._tracer is None or claimed.trace is None:
            return await carrier.carry(claimed.delivery)
        server = carrier.find_server(claimed.delivery)
        span = begin_span(self._tracer, claimed.trace, claimed.delivery, server)
        # Each attempt is a task, so other attempts do not see the trace.
        CURRENT_TRACE.set(claimed.trace if span is None else span.context)
        outcome = await carrier.carry(claimed.delivery)
        if span is not None:
            end_span(span, outcome)
        return outcome

    async def _wait_for_outcomes(self) -> None:
        """Waits until enough outcomes are ready to write, or a short time has passed."""
        await self._wait(OUTCOME_BATCH_SECONDS if self._unwritten else CLAIM_PAUSE_SECONDS)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._signal.wait()

    async def _finish(self, seconds: float) -> None:
        """Waits for open requests and writes outcomes. Cancels slow requests, whose deliveries are due again after the
        lease."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=seconds)
        for task in list(self._under_way):
            task.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way)
        if self._unwritten:
            await asyncio.to_thread(self._settle_and_claim, 0)


def begin_span(tracer: Tracer, cause: TraceContext, delivery: Delivery, server: tuple[str, int] | None) -> Span | None:
    """Begins an attempt's span according to OpenTelemetry's semantic conventions for HTTP clients.

    The span omits the endpoint's path and query, which can contain secrets.
    """
    attributes: dict[str, Value] = {
        "http.request.method": "POST",
        "http.request.resend_count": delivery.attempts,
        "messaging.system": "penstock" if delivery.kind == EVENT else "aws.sns",
        "messaging.message.id": str(delivery.message_id),
        "messaging.destination.name": (delivery.topic_arn or "").rpartition(":")[2],
    }
    if server is not None:
        attributes |= {"server.address": server[0], "server.port": server[1]}
    return tracer.post(cause, "POST", attributes)


def end_span(span: Span, outcome: Outcome) -> None:
    """Ends the span with the outcome. In client spans every status of 400 or more is an error."""
    if outcome.status is None:
        span.end("no_response")
        return
    span.set("http.response.status_code", outcome.status)
    span.end(str(outcome.status) if outcome.status >= 400 else None)
