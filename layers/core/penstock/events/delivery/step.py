"""One step of the delivery of a bus: a transaction that reads pages, sends their events to the subscribers' targets,
and moves the cursors. An event and its cursor commit together, so each event arrives exactly once in a queue or topic
of this installation, whatever dies in between."""

from collections import Counter
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from uuid import uuid4

import psycopg

from penstock.environment import Environment
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import Row
from penstock.postgres.statements.event_delivery import (
    CLAIM_EVENT_BATCHES,
    CLAIM_EVENT_RETRIES,
    CLAIM_EVENT_SUBSCRIBERS,
    LOCK_EVENT_BATCHES,
    READ_EVENT_PAGES,
    ClaimedSubscriberRow,
    EventRetryRow,
    PageRow,
)

from .batches import LEASE_MS, MAX_OF_A_SUBSCRIBER, SENDING_SECONDS, Batch, Finished, split, take_turns
from .event import CONTENT_TYPES, Event
from .filters import FilterIndex, UnreadableEvent
from .outcomes import Outcomes
from .settlement import Settlement
from .subscriber import INTERNAL_ERROR, Audience, Refusal, Result, Shipment, Subscribers, Waiting
from .targets import Targets
from .transformation import STEP_SECONDS as EXPRESSION_SECONDS
from .transformation import Transformation

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE_EVENTS: Final = 1000
PAGE_BYTES: Final = 8 << 20
STEP_SECONDS: Final = 1.0
"""The time after which a step examines no further page of a subscriber or of the followers. An event of 1 MiB can cost
hundreds of filters a second, and a step holds a transaction."""
RETRIES: Final = 200
SLICE_SECONDS: Final = 0.008
"""The work of a replay after which the worker looks for live events, while live events arrive. An event can need more
time, and so can a page of up to 200 events."""
PAUSE_FACTOR: Final = 1.0
"""The pause of all replays after a slice, in multiples of the slice's duration, while live events arrive."""
MAX_PAUSE_MS: Final = 1000
FIRST_SLICE_EVENTS: Final = 200
MIN_SLICE_EVENTS: Final = 50

Order: TypeAlias = tuple[int, str] | None
"""A FIFO subscriber and a group, or None for a shipment without an order."""


class _OvertakenError(Exception):
    """Undoes a savepoint in which an event of a group was sent although an earlier one was refused."""


class Place(NamedTuple):
    """An event and the page in which a bus delivers it."""

    page: int
    event: Event


class EventStep:
    """Delivers on one autocommit connection. Raises psycopg.Error; the server then rolls back the step."""

    def __init__(
        self,
        connection: "psycopg.Connection[Row]",
        environment: Environment,
        subscribers: Subscribers,
        counts: "Counter[str]",
        outcomes: Outcomes | None = None,
    ) -> None:
        self._connection = connection
        self._calls = TransactionExecutor(connection)
        self._targets = Targets(self._calls, environment)
        self._transformation = environment.cache(Transformation)
        self._subscribers = subscribers
        self._counts = counts
        self._outcomes = Outcomes() if outcomes is None else outcomes
        self._settlement = Settlement(self._calls, self._targets, counts, self._outcomes)
        self._slice_events = FIRST_SLICE_EVENTS

    def deliver(self, bus_id: int) -> bool:
        """Delivers the next pages of a bus. Returns whether any cursor moved."""
        with self._outcomes.count_step():
            return self._deliver(bus_id)

    def replay(self, bus_id: int, *, yields: bool) -> bool:
        """Delivers the next pages of the replay that has waited for the longest. Returns whether its cursor moved. With
        `yields`, delivers only a slice, and then all replays pause."""
        with self._outcomes.count_step():
            return self._replay(bus_id, yields=yields)

    def retry(self, bus_id: int) -> int:
        """Tries events again that are due. Returns their number."""
        with self._outcomes.count_step():
            return self._retry(bus_id)

    def claim_batches(
        self, carriers: Sequence[str], busy: "Mapping[int, int]", limit: int, most_bytes: int
    ) -> list[Batch]:
        """Leases events for targets outside the database. `busy` counts the batches that are under way by subscriber.
        Returns about `limit` batches with about `most_bytes` bytes."""
        lease, until = uuid4(), monotonic() + SENDING_SECONDS
        arguments = [list(carriers), lease, LEASE_MS, list(busy), list(busy.values()), MAX_OF_A_SUBSCRIBER, limit]
        rows = self._calls.call(CLAIM_EVENT_BATCHES, [*arguments, most_bytes])
        known = self._subscribers.find([(row.subscriber_id, row.revision) for row in rows], self._calls)
        found: dict[int, list[EventRetryRow]] = {}
        for row in rows:
            if row.subscriber_id in known:
                found.setdefault(row.subscriber_id, []).append(row)
        batches = [
            Batch(known[number], lease, part, [read_event(row) for row in part if row.data is not None], until)
            for number, listed in found.items()
            for part in split(listed, known[number].batch_size)
        ]
        return take_turns(batches, self._calls)

    def settle_batches(self, finished: Sequence[Finished]) -> None:
        """Stores what became of batches, except of events whose lease was over."""
        sent = [entry for each in finished for entry in each.list_outcomes() if entry[2] is not Waiting.UNSENT]
        gone = [row for each in finished for row in each.batch.rows if row.data is None]
        leases = {row.retry_id: each.batch.lease.bytes for each in finished for row in each.batch.rows}
        ids = [row.retry_id for row in gone] + [row.retry_id for row, *_ in sent]
        with self._outcomes.count_step(), self._connection.transaction():
            locked = self._calls.call(LOCK_EVENT_BATCHES, [ids, [leases[number] for number in ids]])
            buses = {row.retry_id: row.bus_id for row in locked}
            for bus_id in sorted(set(buses.values())):
                due = [entry for entry in sent if buses.get(entry[0].retry_id) == bus_id]
                dropped = [row for row in gone if buses.get(row.retry_id) == bus_id]
                self._counts["dropped"] += len(dropped)
                rows = [row for row, _, _ in due]
                results = [result for _, _, result in due]
                self._settlement.store_retries(
                    bus_id, rows + dropped, rows, [shipment for _, shipment, _ in due], results
                )

    # --- parts -------------------------------------------------------------------------------------------------------
    def _deliver(self, bus_id: int) -> bool:
        with self._connection.transaction():
            claimed = self._calls.call(CLAIM_EVENT_SUBSCRIBERS, [bus_id, False, self._subscribers.find_version(bus_id)])
            if not claimed:
                return False
            head, *rows = claimed
            followers = self._subscribers.find_followers(bus_id, head.version, rows, self._calls)
            if not followers.receivers:
                return False
            # No follower wants the pages before the first page of each.
            start = max(head.page, min(first_page for first_page, _ in followers.receivers.values()))
            last, shipments = self._list_shipments(bus_id, start, PAGE_EVENTS, STEP_SECONDS, followers)
            self._settlement.store_first(bus_id, {0: last}, shipments, self._dispatch(shipments, rows))
            return last > head.page

    def _replay(self, bus_id: int, *, yields: bool) -> bool:
        started = monotonic()
        events, seconds = (self._slice_events, SLICE_SECONDS) if yields else (PAGE_EVENTS, STEP_SECONDS)
        with self._connection.transaction():
            claimed = self._calls.call(CLAIM_EVENT_SUBSCRIBERS, [bus_id, True, None])
            if not claimed:
                return False
            (row,) = claimed
            audience = self._subscribers.build_audience(claimed, self._calls)
            last, shipments = self._list_shipments(bus_id, row.page, events, seconds, audience)
            results = self._dispatch(shipments, claimed)
            elapsed = monotonic() - started
            pause_ms = min(MAX_PAUSE_MS, int(elapsed * PAUSE_FACTOR * 1000) + 1) if yields else 0
            self._settlement.store_first(bus_id, {row.subscriber_id: last}, shipments, results, pause_ms)
        if yields:
            change = SLICE_SECONDS / max(elapsed, 0.001)
            self._slice_events = min(PAGE_EVENTS, max(MIN_SLICE_EVENTS, int(events * min(2.0, max(0.5, change)))))
        return last > row.page

    def _retry(self, bus_id: int) -> int:
        with self._connection.transaction():
            rows = self._calls.call(CLAIM_EVENT_RETRIES, [bus_id, RETRIES])
            if not rows:
                return 0
            known = self._subscribers.find([(row.subscriber_id, row.revision) for row in rows], self._calls)
            due = [row for row in rows if row.data is not None and row.subscriber_id in known]
            self._counts["dropped"] += len(rows) - len(due)
            shipments = [Shipment(known[row.subscriber_id], read_event(row)) for row in due]
            results = self._send_in_order(shipments, set())
            self._settlement.store_retries(bus_id, rows, due, shipments, results)
            return len(rows)

    def _read(self, bus_id: int, after: int, events: int) -> tuple[int, list[Place]]:
        """Returns the last page that was read, and its events and those of the pages before it."""
        most_bytes = PAGE_BYTES * events // PAGE_EVENTS
        rows = self._calls.call(READ_EVENT_PAGES, [bus_id, after, events, most_bytes])
        if not rows:
            return after, []
        return rows[0].page, [Place(row.page, read_event(row)) for row in rows[1:]]

    def _list_shipments(
        self, bus_id: int, after: int, events: int, seconds: float, audience: Audience
    ) -> tuple[int, list[Shipment]]:
        """Reads the pages after `after`, with about this number of events. Returns the last page that was examined, and
        what the subscribers receive, event by event. Examines no further page after this number of seconds."""
        deadline = monotonic() + seconds
        last, places = self._read(bus_id, after, events)
        shipments: list[Shipment] = []
        examined = places[0].page if places else last
        for page, event in places:
            if page != examined and monotonic() >= deadline:
                return examined, shipments
            examined = page
            for kind in audience.kinds:
                for number in self._match(audience.filters, event, kind):
                    first_page, subscriber = audience.receivers[number]
                    if page > first_page and subscriber.interval.selects(event, kind):
                        shipments.append(Shipment(subscriber, event))
        return last, shipments

    def _match(self, index: FilterIndex, event: Event, delivery_type: str) -> list[int]:
        """Returns the subscribers whose filters match. An event that filters cannot read passes unfiltered, as messages
        of topics do, so no filter loses it."""
        try:
            return index.find(event, delivery_type)
        except UnreadableEvent as unreadable:
            self._counts["unjudged"] += len(unreadable.unjudged)
            return unreadable.matched + unreadable.unjudged

    def _dispatch(self, shipments: Sequence[Shipment], claimed: Sequence[ClaimedSubscriberRow]) -> list[Result]:
        """Sends the shipments for targets in the database, and hands over the others."""
        blocked = {(row.subscriber_id, group) for row in claimed for group in row.blocked or ()}
        others = [shipment for shipment in shipments if not shipment.subscriber.carrier]
        if len(others) == len(shipments):
            return self._send_in_order(shipments, blocked)
        sent = iter(self._send_in_order(others, blocked))
        return [next(sent) if not each.subscriber.carrier else hand_over(each) for each in shipments]

    def _send_in_order(self, shipments: Sequence[Shipment], blocked: set[tuple[int, str]]) -> list[Result]:
        """Sends all shipments except those that wait behind another event of their group.

        Only the target knows which events it refuses. If it accepts a later event of the same group, the savepoint
        undoes the calls, and the later event is held in the next attempt.
        """
        keys = [find_order(shipment) if shipment.subscriber.is_fifo else None for shipment in shipments]
        held = {place for place, key in enumerate(keys) if key in blocked}
        shipments, failed = self._transformation.transform(shipments, held)
        self._targets.deadline = monotonic() + EXPRESSION_SECONDS
        if not any(keys):
            return list(self._send_transformed(shipments, range(len(shipments)), failed).values())
        overtaking: set[int] = set()
        while True:
            held |= overtaking
            places = [place for place in range(len(shipments)) if place not in held]
            try:
                with self._connection.transaction():
                    refusals = self._send_transformed(shipments, places, failed)
                    if overtaking := find_overtaking(keys, refusals):
                        raise _OvertakenError
                    return [refusals.get(place, Waiting.BEHIND_GROUP) for place in range(len(shipments))]
            except _OvertakenError:
                continue

    def _send_transformed(
        self, shipments: Sequence[Shipment], places: Sequence[int], failed: "Mapping[int, Refusal]"
    ) -> dict[int, Refusal | None]:
        """Sends the shipments at these places, except those whose expressions have failed. Returns the refusals."""
        ready = [place for place in places if place not in failed]
        found = dict(zip(ready, self._send([shipments[place] for place in ready]), strict=True))
        return {place: failed[place] if place in failed else found[place] for place in places}

    def _send(self, shipments: Sequence[Shipment]) -> list[Refusal | None]:
        """Sends everything in one savepoint. If the database refuses a call, sends to each subscriber in a savepoint,
        so that one target cannot stop the others."""
        if not shipments:
            return []
        try:
            with self._connection.transaction():
                return self._targets.send(shipments)
        except psycopg.Error:
            if self._connection.broken:
                raise
        refusals: list[Refusal | None] = [None] * len(shipments)
        by_subscriber: dict[int, list[int]] = {}
        for place, shipment in enumerate(shipments):
            by_subscriber.setdefault(shipment.subscriber.subscriber_id, []).append(place)
        for places in by_subscriber.values():
            found = self._send_alone([shipments[place] for place in places])
            for place, refusal in zip(places, found, strict=True):
                refusals[place] = refusal
        return refusals

    def _send_alone(self, shipments: Sequence[Shipment]) -> list[Refusal | None]:
        try:
            with self._connection.transaction():
                return self._targets.send(shipments)
        except psycopg.Error as error:
            if self._connection.broken:
                raise
            return [Refusal(INTERNAL_ERROR, str(error))] * len(shipments)


def hand_over(shipment: Shipment) -> Waiting:
    """Returns how an event waits for its carrier. settle_events makes the first event of each group due."""
    is_ordered = shipment.subscriber.is_fifo and find_order(shipment) is not None
    return Waiting.BEHIND_GROUP if is_ordered else Waiting.FOR_CARRIER


def find_order(shipment: Shipment) -> Order:
    """Returns the order of a shipment to a FIFO subscriber."""
    key = shipment.event.group_key
    return (shipment.subscriber.subscriber_id, key) if key is not None else None


def find_overtaking(keys: Sequence[Order], refusals: "Mapping[int, Refusal | None]") -> set[int]:
    """Returns the sent shipments that follow a refused one in their order."""
    refused: set[Order] = set()
    found = set()
    for place, refusal in refusals.items():
        key = keys[place]
        if key in refused:
            found.add(place)
        elif key is not None and refusal is not None:
            refused.add(key)
    return found


def read_event(row: PageRow | EventRetryRow) -> Event:
    return Event(
        row.number or 0,
        row.ingested_at,
        row.event_id,
        CONTENT_TYPES[row.content_type],
        row.data or b"",
        row.account_id,
        row.group_id,
        row.deduplication_id,
        row.source,
        row.detail_type,
        row.metadata,
        row.passed,
    )
