"""Batches of events for targets outside the database.

A worker leases the events of a batch, a carrier sends them while no transaction is open, and the worker stores what
became of them (`EventStep.claim_batches` and `settle_batches`). If the worker dies, another worker sends the events
again after the lease. A target can therefore receive an event twice.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

from penstock.postgres.statements.api_destinations import TurnsRow
from penstock.postgres.statements.event_delivery import EventRetryRow

from .event import Event
from .subscriber import HELD, Refusal, Shipment, Subscriber

LEASE_MS: Final = 90_000
"""The lease of a batch: three times the time limit of a call, so that no call goes on after the lease."""
SENDING_SECONDS: Final = 30.0
"""The time since the beginning of the lease after which a carrier begins no call of a batch. Its calls before can take
as long again."""
MAX_OF_A_SUBSCRIBER: Final = 10
"""The most batches of a subscriber that a process sends at the same time."""
UNSENT: Final = Refusal("", "")
"""Stands for an event that was not sent. Another worker sends it after the lease."""

ItemT = TypeVar("ItemT")
Outcome = tuple[EventRetryRow, Shipment, Refusal | None]


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
    """A batch and the refusal of each of its events."""

    batch: Batch
    refusals: list[Refusal | None]

    def list_outcomes(self) -> Iterator[Outcome]:
        """Returns the rows of the sent events. An event of a FIFO subscriber is held if an earlier one of its group was
        refused, although the target has received both."""
        rows = [row for row in self.batch.rows if row.data is not None]
        stopped: set[str] = set()
        for row, event, refusal in zip(rows, self.batch.events, self.refusals, strict=True):
            outcome = HELD if row.group_key in stopped and refusal is not UNSENT else refusal
            if row.group_key is not None and outcome is not None:
                stopped.add(row.group_key)
            yield row, Shipment(self.batch.subscriber, event), outcome


class BatchCarrier(Protocol):
    """Sends batches of one kind of target."""

    async def carry(self, batch: Batch, /) -> list[Refusal | None]:
        """Sends a batch. Returns a refusal or None for each event, and never raises an error."""

    async def close(self) -> None:
        """Closes the connections."""


def split(items: Sequence[ItemT], size: int) -> list[list[ItemT]]:
    return [list(items[start : start + size]) for start in range(0, len(items), size)]
