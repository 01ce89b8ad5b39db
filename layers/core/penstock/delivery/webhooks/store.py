"""Webhooks in the database, for one worker: it claims them under a lease and settles those that it holds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID, uuid4

import psycopg

from penstock.effects import Statement
from penstock.postgres import binary_array
from penstock.postgres.statements.webhooks import (
    CLAIM_WEBHOOKS,
    EXPIRE_WEBHOOKS,
    NEXT_WEBHOOK,
    SETTLE_WEBHOOKS,
    WEBHOOK_TRACES,
)
from penstock.trace_context import TraceContext, parse_trace_header

from .outcome import Outcome
from .request import Delivery, read_delivery

if TYPE_CHECKING:
    from collections.abc import Iterable

LEASE_MS: Final = 30_000
"""Twice the longest time that an attempt takes (15 s). An attempt begins as soon as its webhook is claimed."""
MOST_EXPIRED: Final = 1_000
SETTLED: Final = ("delivered", "retried", "exhausted", "dead_lettered", "lost")


class Claimed(NamedTuple):
    """A delivery, the lease under which this worker holds it, and, if the store is traced, the span of its publish."""

    delivery: Delivery
    lease: UUID
    trace: TraceContext | None = None


class Finished(NamedTuple):
    """An attempt with its outcome, which is still to be written."""

    claimed: Claimed
    outcome: Outcome


class Store:
    """Calls on one autocommit connection: each is a transaction of its own. Raises psycopg.Error.

    `traced`: deliveries come with the spans that published them, at the price of one more call.
    """

    def __init__(
        self,
        connection: "psycopg.Connection[Any]",
        watcher: UUID | None,
        per_endpoint: int,
        *,
        traced: bool = False,
    ) -> None:
        self._connection = connection
        self._watcher = watcher
        self._per_endpoint = per_endpoint
        self._traced = traced

    def wait_ms(self) -> int | None:
        """Milliseconds until a webhook may be due; None: none is pending. The next publish notifies the watcher."""
        rows = self._call(NEXT_WEBHOOK, [self._watcher])
        return int(rows[0][0]) if rows else None

    def claim(self, limit: int, busy: Mapping[str, int]) -> list[Claimed]:
        """Claims up to `limit` due webhooks; `busy`: requests under way, by endpoint."""
        lease = uuid4()
        endpoint_keys = binary_array.encode("text[]", list(busy))
        counts = binary_array.encode("int4[]", list(busy.values()))
        rows = self._call(CLAIM_WEBHOOKS, [limit, lease, LEASE_MS, endpoint_keys, counts, self._per_endpoint])
        traces = self._traces([row[0] for row in rows]) if self._traced and rows else {}
        return [Claimed(read_delivery(row), lease, traces.get(row[0])) for row in rows]

    def _traces(self, webhook_ids: list[int]) -> dict[int, TraceContext | None]:
        rows = self._call(WEBHOOK_TRACES, [binary_array.encode("int8[]", webhook_ids)])
        return {webhook_id: parse_trace_header(header) for webhook_id, header in rows}

    def settle(self, finished: Sequence[Finished]) -> dict[str, int]:
        """Writes outcomes. Returns how many there are of each kind."""
        rows: Iterable[tuple[Any, ...]] = (
            (c.delivery.webhook_id, c.lease.bytes, c.delivery.endpoint_key, *outcome)
            for c, outcome in finished
        )
        columns = binary_array.encode_columns(SETTLE_WEBHOOKS.types, list(zip(*rows, strict=True)))
        return dict(zip(SETTLED, self._call(SETTLE_WEBHOOKS, columns)[0], strict=True))

    def expire(self) -> dict[str, int]:
        """Gives up webhooks that have waited too long for paused endpoints. Returns how many of each kind."""
        exhausted, dead_lettered = self._call(EXPIRE_WEBHOOKS, [MOST_EXPIRED])[0]
        return {"exhausted": exhausted, "dead_lettered": dead_lettered}

    def _call(self, statement: Statement, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
        with psycopg.RawCursor(self._connection) as cursor:
            return cursor.execute(statement.text, arguments).fetchall()
