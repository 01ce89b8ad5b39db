"""Stores what became of the events of a step: the accepted, refused and waiting ones, and the records of failures."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statements.event_delivery import SETTLE_EVENT_RETRIES, SETTLE_EVENTS, EventRetryRow

from .failures import Failure, build_records
from .outcomes import Outcomes
from .subscriber import Refusal, Result, Shipment, Waiting, choose_pause, limit_retry_after
from .targets import Targets
from .transformation import POSTPONED


class Retry(NamedTuple):
    """A stored event that is tried again. The pause before the attempt has at least `least_seconds`."""

    row: EventRetryRow
    result: Refusal | Waiting
    least_seconds: float


class Settlement:
    """Stores results in the transaction of a step. Raises psycopg.Error."""

    def __init__(
        self, calls: TransactionExecutor, targets: Targets, counts: "Counter[str]", outcomes: Outcomes
    ) -> None:
        self._calls = calls
        self._targets = targets
        self._counts = counts
        self._outcomes = outcomes
        self._random = Random()  # noqa: S311 - spreads retries, and protects nothing

    def store_first(
        self,
        bus_id: int,
        moved: Mapping[int, int],
        shipments: Sequence[Shipment],
        results: Sequence[Result],
        pause_ms: int = 0,
    ) -> None:
        """Stores the results of first attempts, and moves cursors: `moved` has the new page of each subscriber, or of
        the followers under 0. All replays then pause for `pause_ms`."""
        refused = [(s, r) for s, r in zip(shipments, results, strict=True) if r is not None]
        self._counts["delivered"] += len(shipments) - len(refused)
        again: list[tuple[Shipment, Refusal | Waiting]] = []
        ended: list[Failure] = []
        for shipment, result in refused:
            condition = None
            if isinstance(result, Refusal):
                condition = shipment.subscriber.exhausted_by(count_attempts(0, result), 0.0, result)
                if condition is not None:
                    ended.append(Failure(*shipment, result, condition, 1))
            if condition is None:
                again.append((shipment, result))
        self._end(ended)
        self._note(bus_id, shipments, results, ended)
        columns = [
            [shipment.subscriber.subscriber_id for shipment, _ in again],
            [shipment.event.number for shipment, _ in again],
            [shipment.event.ingested_at for shipment, _ in again],
            [shipment.event.group_key if shipment.subscriber.is_fifo else None for shipment, _ in again],
            [len(shipment.event.data) for shipment, _ in again],
            *self._describe((result, 1, 0.0) for _, result in again),
        ]
        self._calls.call(SETTLE_EVENTS, [bus_id, list(moved), list(moved.values()), *columns, pause_ms])

    def store_retries(
        self,
        bus_id: int,
        rows: Sequence[EventRetryRow],
        due: Sequence[EventRetryRow],
        shipments: Sequence[Shipment],
        results: Sequence[Result],
    ) -> None:
        """Stores the results of further attempts. The rows that are not due are of events that no longer exist."""
        again: list[Retry] = []
        ended: list[Failure] = []
        held: set[int] = set()
        for row, shipment, result in zip(due, shipments, results, strict=True):
            if result is None:
                self._counts["delivered"] += 1
            elif isinstance(result, Waiting):
                held.add(row.retry_id)
            else:
                attempts = count_attempts(row.attempts, result)
                condition = shipment.subscriber.exhausted_by(attempts, row.age_seconds, result)
                if condition is None:
                    least = limit_retry_after(result, shipment.subscriber, row.age_seconds)
                    again.append(Retry(row, result, least))
                else:
                    ended.append(Failure(*shipment, result, condition, max(1, attempts)))
        self._end(ended)
        self._note(bus_id, shipments, results, ended)
        waiting = held | {retry.row.retry_id for retry in again}
        over = [row for row in rows if row.retry_id not in waiting]
        columns = [
            [row.retry_id for row in over],
            [row.subscriber_id for row in over],
            [row.group_key for row in over],
            [retry.row.retry_id for retry in again],
            *self._describe((retry.result, retry.row.attempts + 1, retry.least_seconds) for retry in again),
            sorted(held),
        ]
        self._calls.call(SETTLE_EVENT_RETRIES, columns)

    def _describe(self, refused: Iterable[tuple[Refusal | Waiting, int, float]]) -> list[list[object]]:
        """Returns the codes, the texts and the pauses in milliseconds of results with their numbers of attempts and
        their shortest pauses in seconds. All are None for an event that waits behind another event. An event for a
        carrier has the pause 0, to which the database adds the batch window. A postponed event has only a pause."""
        codes: list[object] = []
        messages: list[object] = []
        pauses: list[object] = []
        for result, attempts, least_seconds in refused:
            counts = isinstance(result, Refusal) and result is not POSTPONED
            codes.append(result.code if isinstance(result, Refusal) and counts else None)
            messages.append(result.text if isinstance(result, Refusal) and counts else None)
            pause = self._choose_pause(result, attempts)
            pauses.append(None if pause is None else max(pause, int(least_seconds * 1000)))
        return [codes, messages, pauses]

    def _choose_pause(self, result: Refusal | Waiting, attempts: int) -> int | None:
        """Returns the milliseconds until the next attempt, or None for an event that waits behind another event."""
        if isinstance(result, Waiting):
            return 0 if result is Waiting.FOR_CARRIER else None
        pause = choose_pause(1 if result is POSTPONED else attempts, self._random)
        return int(pause.total_seconds() * 1000)

    def _end(self, failures: Sequence[Failure]) -> None:
        """Sends the records of failed deliveries. An event without a failure queue is dropped, and so is a record that
        its queue refuses, as on AWS."""
        records = build_records(failures)
        lost = sum(refusal is not None for refusal in self._targets.send_entries(records))
        self._counts["failed"] += len(failures)
        self._counts["dropped"] += len(failures) - len(records) + lost

    def _note(
        self, bus_id: int, shipments: Sequence[Shipment], results: Sequence[Result], ended: Sequence[Failure]
    ) -> None:
        self._outcomes.note(
            bus_id,
            (
                (shipment.subscriber.subscriber_id, result)
                for shipment, result in zip(shipments, results, strict=True)
                if not isinstance(result, Waiting)
            ),
            (failure.subscriber.subscriber_id for failure in ended),
        )


def count_attempts(earlier: int, refusal: Refusal) -> int:
    return earlier if refusal is POSTPONED else earlier + 1
