"""One step of the delivery of a bus: a transaction that reads pages, sends their events to the subscribers' targets,
and moves the cursors. An event and its cursor commit together, so each event arrives exactly once in a queue or topic
of this installation, whatever dies in between."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from random import Random
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
    READ_EVENT_SUBSCRIBERS,
    SETTLE_EVENT_RETRIES,
    SETTLE_EVENTS,
    ClaimedSubscriberRow,
    EventRetryRow,
    PageRow,
)

from .batches import LEASE_MS, MAX_OF_A_SUBSCRIBER, SENDING_SECONDS, UNSENT, Batch, Finished, split
from .event import CONTENT_TYPES, Event
from .failures import Failure, build_records
from .filters import FilterIndex, UnreadableEvent
from .outcomes import Outcomes
from .subscriber import HELD, INTERNAL_ERROR, Refusal, Shipment, Subscriber, choose_pause, read_subscriber
from .targets import Targets
from .transformation import POSTPONED, Transformation
from .transformation import STEP_SECONDS as EXPRESSION_SECONDS
from .turns import take_turns

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE_EVENTS: Final = 1000
PAGE_BYTES: Final = 8 << 20
STEP_SECONDS: Final = 1.0
"""The time after which a step examines no further page of a subscriber or of the followers. An event of 1 MiB can cost
hundreds of filters a second, and a step holds a transaction."""
RETRIES: Final = 200
REPLAYS: Final = 4
"""The number of replaying subscribers that a step serves. The live subscribers of a bus share one cursor and come first
in each step, so a replay delays them by at most these pages."""
KEPT_SUBSCRIBERS: Final = 20_000
KEPT_INDEXES: Final = 1_000

HANDED_OVER: Final = Refusal("", "")
"""Stands for an event that waits for a target outside the database."""
Order: TypeAlias = tuple[int, str] | None
"""A FIFO subscriber and a group, or None for a shipment without an order."""


class _OvertakenError(Exception):
    """Undoes a savepoint in which an event of a group was sent although an earlier one was refused."""


class Place(NamedTuple):
    """An event and the page in which a bus delivers it."""

    page: int
    event: Event


class Subscribers:
    """The configurations of subscribers by id and revision, which a process reads once, and the indexes of their
    filters."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, datetime], Subscriber] = {}
        self._indexes: dict[tuple[int, ...], tuple[list[Subscriber], FilterIndex]] = {}

    def find(self, keys: Sequence[tuple[int, datetime]], calls: TransactionExecutor) -> dict[int, Subscriber]:
        """Returns the subscribers by id. A subscriber that was deleted meanwhile is missing."""
        missing = [key for key in keys if key not in self._known]
        if missing:
            if len(self._known) + len(missing) > KEPT_SUBSCRIBERS:
                self._known.clear()
                missing = list(keys)
            rows = calls.call(READ_EVENT_SUBSCRIBERS, [[key[0] for key in missing]])
            found = {row.subscriber_id: read_subscriber(row) for row in rows}
            self._known.update({key: found[key[0]] for key in missing if key[0] in found})
        return {key[0]: self._known[key] for key in keys if key in self._known}

    def find_index(self, subscribers: list[Subscriber]) -> FilterIndex:
        """Returns the index of these subscribers' filters. A process builds an index once for each group of subscribers
        that read together."""
        key = tuple(subscriber.subscriber_id for subscriber in subscribers)
        kept, index = self._indexes.get(key, (None, None))
        if index is None or kept != subscribers:
            if len(self._indexes) > KEPT_INDEXES:
                self._indexes.clear()
            index = FilterIndex((subscriber.subscriber_id, subscriber.filters) for subscriber in subscribers)
            self._indexes[key] = subscribers, index
        return index


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
        self._random = Random()  # noqa: S311 - spreads retries, and protects nothing

    def deliver(self, bus_id: int) -> bool:
        """Delivers the next pages of a bus. Returns whether any cursor moved."""
        self._outcomes.begin()
        moved = self._deliver(bus_id)
        self._outcomes.commit()
        return moved

    def retry(self, bus_id: int) -> int:
        """Tries events again that are due. Returns their number."""
        self._outcomes.begin()
        tried = self._retry(bus_id)
        self._outcomes.commit()
        return tried

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
        sent = [entry for each in finished for entry in each.list_outcomes() if entry[2] is not UNSENT]
        gone = [row for each in finished for row in each.batch.rows if row.data is None]
        leases = {row.retry_id: each.batch.lease.bytes for each in finished for row in each.batch.rows}
        ids = [row.retry_id for row in gone] + [row.retry_id for row, *_ in sent]
        self._outcomes.begin()
        with self._connection.transaction():
            locked = self._calls.call(LOCK_EVENT_BATCHES, [ids, [leases[number] for number in ids]])
            buses = {row.retry_id: row.bus_id for row in locked}
            for bus_id in sorted(set(buses.values())):
                due = [entry for entry in sent if buses.get(entry[0].retry_id) == bus_id]
                dropped = [row for row in gone if buses.get(row.retry_id) == bus_id]
                self._counts["dropped"] += len(dropped)
                rows = [row for row, _, _ in due]
                refusals = [refusal for _, _, refusal in due]
                self._settle_retries(bus_id, rows + dropped, rows, [shipment for _, shipment, _ in due], refusals)
        self._outcomes.commit()

    # --- parts -------------------------------------------------------------------------------------------------------
    def _deliver(self, bus_id: int) -> bool:
        with self._connection.transaction():
            claimed = self._calls.call(CLAIM_EVENT_SUBSCRIBERS, [bus_id, REPLAYS])
            known = self._subscribers.find([(row.subscriber_id, row.revision) for row in claimed], self._calls)
            followers = [row for row in claimed if row.follows]
            moved: dict[int, int] = {}
            shipments: list[Shipment] = []
            if followers:
                # No follower wants the pages before the first page of each.
                start = max(followers[0].page, min(row.first_page for row in followers))
                last, places = self._read(bus_id, start)
                moved[0], found = self._list_shipments(last, places, followers, known)
                shipments += found
            for row in claimed:
                if not row.follows:
                    last, places = self._read(bus_id, row.page)
                    moved[row.subscriber_id], found = self._list_shipments(last, places, [row], known)
                    shipments += found
            if moved:
                blocked = {(row.subscriber_id, group) for row in claimed for group in row.blocked or ()}
                self._settle(bus_id, moved, shipments, self._dispatch(shipments, blocked))
            return any(moved[0 if row.follows else row.subscriber_id] > row.page for row in claimed)

    def _retry(self, bus_id: int) -> int:
        with self._connection.transaction():
            rows = self._calls.call(CLAIM_EVENT_RETRIES, [bus_id, RETRIES])
            if not rows:
                return 0
            known = self._subscribers.find([(row.subscriber_id, row.revision) for row in rows], self._calls)
            due = [row for row in rows if row.data is not None and row.subscriber_id in known]
            self._counts["dropped"] += len(rows) - len(due)
            shipments = [Shipment(known[row.subscriber_id], read_event(row)) for row in due]
            refusals = self._send_in_order(shipments, set())
            self._settle_retries(bus_id, rows, due, shipments, refusals)
            return len(rows)

    def _read(self, bus_id: int, after: int) -> tuple[int, list[Place]]:
        """Returns the last page that was read, and its events and those of the pages before it."""
        rows = self._calls.call(READ_EVENT_PAGES, [bus_id, after, PAGE_EVENTS, PAGE_BYTES])
        if not rows:
            return after, []
        return rows[0].page, [Place(row.page, read_event(row)) for row in rows[1:]]

    def _list_shipments(
        self,
        last: int,
        places: Sequence[Place],
        rows: Sequence[ClaimedSubscriberRow],
        known: "Mapping[int, Subscriber]",
    ) -> tuple[int, list[Shipment]]:
        """Returns what the subscribers receive, event by event, and the last page that was examined: the page `last`,
        or an earlier one if the time of the step is over."""
        receivers = {
            row.subscriber_id: (row.first_page, known[row.subscriber_id]) for row in rows if row.subscriber_id in known
        }
        index = self._subscribers.find_index([subscriber for _, subscriber in receivers.values()])
        kinds = {kind for _, subscriber in receivers.values() for kind in subscriber.delivery_types}
        shipments: list[Shipment] = []
        examined = places[0].page if places else last
        deadline = monotonic() + STEP_SECONDS
        for page, event in places:
            if page != examined and monotonic() >= deadline:
                return examined, shipments
            examined = page
            for kind in sorted(kinds):
                for number in self._match(index, event, kind):
                    first_page, subscriber = receivers[number]
                    if page > first_page and subscriber.wants(event, kind):
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

    def _dispatch(self, shipments: Sequence[Shipment], blocked: set[tuple[int, str]]) -> list[Refusal | None]:
        """Sends the shipments for targets in the database, and hands over the others. Those of a group have HELD as
        refusal, and settle_events makes the first of each group due."""
        others = [shipment for shipment in shipments if not shipment.subscriber.carrier]
        if len(others) == len(shipments):
            return self._send_in_order(shipments, blocked)
        sent = iter(self._send_in_order(others, blocked))
        return [next(sent) if not each.subscriber.carrier else hand_over(each) for each in shipments]

    def _send_in_order(self, shipments: Sequence[Shipment], blocked: set[tuple[int, str]]) -> list[Refusal | None]:
        """Sends all shipments except those that wait behind another event of their group. They have HELD as refusal.

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
                    return [refusals.get(place, HELD) for place in range(len(shipments))]
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

    def _settle(
        self,
        bus_id: int,
        moved: "Mapping[int, int]",
        shipments: Sequence[Shipment],
        refusals: Sequence[Refusal | None],
    ) -> None:
        refused = [(s, r) for s, r in zip(shipments, refusals, strict=True) if r is not None]
        self._counts["delivered"] += len(shipments) - len(refused)
        again: list[tuple[Shipment, Refusal]] = []
        ended: list[Failure] = []
        for shipment, refusal in refused:
            waits = refusal is HELD or refusal is HANDED_OVER
            attempts = count_attempts(0, refusal)
            condition = None if waits else shipment.subscriber.exhausted_by(attempts, 0.0, refusal)
            if condition is None:
                again.append((shipment, refusal))
            else:
                ended.append(Failure(*shipment, refusal, condition, 1))
        self._end(ended)
        self._note(bus_id, shipments, refusals, ended)
        columns = [
            [shipment.subscriber.subscriber_id for shipment, _ in again],
            [shipment.event.number for shipment, _ in again],
            [shipment.event.ingested_at for shipment, _ in again],
            [shipment.event.group_key if shipment.subscriber.is_fifo else None for shipment, _ in again],
            [len(shipment.event.data) for shipment, _ in again],
            *self._describe([(refusal, 1) for _, refusal in again]),
        ]
        self._calls.call(SETTLE_EVENTS, [bus_id, list(moved), list(moved.values()), *columns])

    def _settle_retries(
        self,
        bus_id: int,
        rows: Sequence[EventRetryRow],
        due: Sequence[EventRetryRow],
        shipments: Sequence[Shipment],
        refusals: Sequence[Refusal | None],
    ) -> None:
        again: list[tuple[EventRetryRow, Refusal]] = []
        ended: list[Failure] = []
        held: set[int] = set()
        for row, shipment, refusal in zip(due, shipments, refusals, strict=True):
            if refusal is None:
                self._counts["delivered"] += 1
                continue
            if refusal is HELD:
                held.add(row.retry_id)
                continue
            attempts = count_attempts(row.attempts, refusal)
            condition = shipment.subscriber.exhausted_by(attempts, row.age_seconds, refusal)
            if condition is None:
                again.append((row, refusal))
            else:
                ended.append(Failure(*shipment, refusal, condition, max(1, attempts)))
        self._end(ended)
        self._note(bus_id, shipments, refusals, ended)
        waiting = held | {row.retry_id for row, _ in again}
        over = [row for row in rows if row.retry_id not in waiting]
        columns = [
            [row.retry_id for row in over],
            [row.subscriber_id for row in over],
            [row.group_key for row in over],
            [row.retry_id for row, _ in again],
            *self._describe([(refusal, row.attempts + 1) for row, refusal in again]),
            sorted(held),
        ]
        self._calls.call(SETTLE_EVENT_RETRIES, columns)

    def _describe(self, refused: Iterable[tuple[Refusal, int]]) -> list[list[object]]:
        """Returns the codes, the texts and the pauses in milliseconds of refusals with their numbers of attempts. All
        are None for an event that waits behind another event. A handed over event has the pause 0, to which the
        database adds the batch window. A postponed event has only a pause."""
        codes: list[object] = []
        messages: list[object] = []
        pauses: list[object] = []
        for refusal, attempts in refused:
            counts = not any(refusal is other for other in (HELD, HANDED_OVER, POSTPONED))
            codes.append(refusal.code if counts else None)
            messages.append(refusal.message.replace("\0", "\N{REPLACEMENT CHARACTER}") if counts else None)
            pauses.append(self._choose_pause(refusal, attempts))
        return [codes, messages, pauses]

    def _choose_pause(self, refusal: Refusal, attempts: int) -> int | None:
        """Returns the milliseconds until the next attempt, or None for an event that waits behind another event."""
        if refusal is HELD:
            return None
        if refusal is HANDED_OVER:
            return 0
        pause = choose_pause(1 if refusal is POSTPONED else attempts, self._random)
        return int(pause.total_seconds() * 1000)

    def _end(self, failures: Sequence[Failure]) -> None:
        """Sends the records of failed deliveries. An event without a failure queue is dropped, and so is a record that
        its queue refuses, as on AWS."""
        records = build_records(failures)
        lost = sum(refusal is not None for refusal in self._targets.send_entries(records))
        self._counts["failed"] += len(failures)
        self._counts["dropped"] += len(failures) - len(records) + lost

    def _note(
        self,
        bus_id: int,
        shipments: Sequence[Shipment],
        refusals: Sequence[Refusal | None],
        ended: Sequence[Failure],
    ) -> None:
        results = zip((shipment.subscriber.subscriber_id for shipment in shipments), refusals, strict=True)
        self._outcomes.note(
            bus_id,
            ((number, refusal) for number, refusal in results if refusal is not HELD and refusal is not HANDED_OVER),
            (failure.subscriber.subscriber_id for failure in ended),
        )


def hand_over(shipment: Shipment) -> Refusal:
    return HELD if shipment.subscriber.is_fifo and find_order(shipment) is not None else HANDED_OVER


def count_attempts(earlier: int, refusal: Refusal) -> int:
    return earlier if refusal is POSTPONED else earlier + 1


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
