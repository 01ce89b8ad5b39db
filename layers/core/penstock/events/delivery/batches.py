"""Batches of events for targets outside the database.

A worker leases the events of a batch, a carrier sends them while no transaction is open, and the worker stores what
became of them (`EventStep.claim_batches` and `settle_batches`). If the worker dies, another worker sends the events
again after the lease. A target can therefore receive an event twice. The requests of batches to API destinations take
turns, so that all workers together keep the rates.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

from penstock.drivers import StatementExecutor
from penstock.postgres.statements.api_destinations import TAKE_API_DESTINATION_TURNS, TurnsRow
from penstock.postgres.statements.event_delivery import EventRetryRow

from .event import Event
from .subscriber import Result, Shipment, Subscriber, Waiting

LEASE_MS: Final = 90_000
"""The lease of a batch: three times the time limit of a call, so that no call goes on after the lease."""
SENDING_SECONDS: Final = 30.0
"""The time since the beginning of the lease after which a carrier begins no call of a batch. Its calls before can take
as long again."""
MAX_OF_A_SUBSCRIBER: Final = 10
"""The most batches of a subscriber that a process sends at the same time."""
HTTP: Final = "http"
"""The carrier of API destinations (queue.event_subscriber.carrier)."""
MAX_BODY: Final = 1 << 20
"""The most bytes of a request with several events (our choice). The other events of its batch need another request."""

ItemT = TypeVar("ItemT")
Outcome = tuple[EventRetryRow, Shipment, Result]


class Destination(NamedTuple):
    """An API destination, and when the worker may send the requests of a batch. `next_turn_at` is a time of
    `monotonic`. The events have no turn if `requests` is smaller than their number of requests."""

    row: TurnsRow
    next_turn_at: float
    requests: int


class Batch(NamedTuple):
    """Events of one subscriber in the order of their publication. `events` has the events of the rows that the bus
    still retains. No call begins after `sends_until`, a time of `monotonic`. `destination` is None for other targets,
    and for an API destination that does not exist."""

    subscriber: Subscriber
    lease: UUID
    rows: list[EventRetryRow]
    events: list[Event]
    sends_until: float
    destination: Destination | None = None

    @property
    def bytes(self) -> int:
        return sum(len(event.data) for event in self.events)


class Finished(NamedTuple):
    """A batch and the result of each of its events."""

    batch: Batch
    results: list[Result]

    def list_outcomes(self) -> Iterator[Outcome]:
        """Returns the rows of the sent events. An event of a FIFO subscriber waits if an earlier one of its group was
        refused, although the target has received both."""
        rows = [row for row in self.batch.rows if row.data is not None]
        stopped: set[str] = set()
        for row, event, result in zip(rows, self.batch.events, self.results, strict=True):
            is_stopped = row.group_key in stopped and result is not Waiting.UNSENT
            outcome = Waiting.BEHIND_GROUP if is_stopped else result
            if row.group_key is not None and outcome is not None:
                stopped.add(row.group_key)
            yield row, Shipment(self.batch.subscriber, event), outcome


class BatchCarrier(Protocol):
    """Sends batches of one kind of target."""

    async def carry(self, batch: Batch, /) -> list[Result]:
        """Sends a batch. Returns a result for each event, and never raises an error."""

    async def close(self) -> None:
        """Closes the connections."""


def split(items: Sequence[ItemT], size: int) -> list[list[ItemT]]:
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


# --- turns -----------------------------------------------------------------------------------------------------------
def take_turns(batches: list[Batch], calls: StatementExecutor) -> list[Batch]:
    """Returns the batches with the API destinations of their subscribers. The requests of a batch have the turns after
    those of the batch before. Raises psycopg.Error."""
    wanted = Counter[str]()
    for batch in batches:
        if batch.subscriber.carrier == HTTP:
            wanted[batch.subscriber.target_arn] += count_requests(batch)
    if not wanted:
        return batches
    rows = {row.arn: row for row in calls.call(TAKE_API_DESTINATION_TURNS, [list(wanted), list(wanted.values())])}
    turns = {arn: monotonic() + row.wait_ms / 1000 for arn, row in rows.items()}
    placed = []
    for batch in batches:
        row = rows.get(batch.subscriber.target_arn)
        if row is None:
            placed.append(batch)
            continue
        requests = count_requests(batch)
        placed.append(batch._replace(destination=Destination(row, turns[row.arn], requests)))
        turns[row.arn] += requests * row.pause_ms / 1000
    return placed


def count_requests(batch: Batch) -> int:
    """Returns the most requests that a batch can need, except for texts that a transformation makes longer."""
    subscriber = batch.subscriber
    if len(subscriber.sources) > (subscriber.transformer is not None):  # a parameter has an expression
        return max(1, len(batch.events))
    return 1 + batch.bytes // MAX_BODY
