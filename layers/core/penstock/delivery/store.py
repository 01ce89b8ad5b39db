"""Claims deliveries in the database and writes their outcomes, for one worker."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID, uuid4

import psycopg

from penstock.calls import transpose
from penstock.observing.trace_context import TraceContext, parse_trace_header
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import Row
from penstock.postgres.statements.deliveries import (
    CLAIM_DELIVERIES,
    EXPIRE_DELIVERIES,
    NEXT_DELIVERY,
    SETTLE_DELIVERIES,
    SettledDeliveriesRow,
)
from penstock.postgres.statements.sns.outgoing import HAND_OVER_OUTGOING
from penstock.settings import PROTOCOLS

from .delivery import read_delivery
from .outcome import Claimed, Finished
from .warnings import DeliveryWarnings, log_expired, log_failed_redrives

LEASE_MS: Final = 30_000
"""Twice the time limit of an attempt (15 s). An attempt starts immediately after the claim of the delivery."""
MAX_EXPIRED: Final = 1_000
MAX_HANDED_OVER: Final = 200
_ENDPOINTS: Final = {"paused", "failing", "recovered"}
SETTLED: Final = tuple(name for name in SettledDeliveriesRow._fields if name not in _ENDPOINTS)
"""The outcomes that the worker counts."""


class HandOver(NamedTuple):
    """The number of confirmation mails per hour and of gateway text messages per day that an account can send. The
    value 0 means no limit."""

    confirmations: int = 0
    text_messages: int = 0


UNLIMITED: Final = HandOver()


class DeliveryStore:
    """Makes calls on one autocommit connection. Each call is a transaction. Raises psycopg.Error.

    The store claims only deliveries of `carriers` (the column `carrier` of queue.outgoing_delivery). Another call
    converts outgoing messages of `carriers` to deliveries, within the limits in `hand_over`. If `traced` is set, each
    delivery includes the span that published the message.
    """

    def __init__(
        self,
        connection: "psycopg.Connection[Row]",
        watcher: UUID | None,
        per_host: int,
        carriers: Sequence[str] = ("http",),
        *,
        traced: bool = False,
        hand_over: HandOver = UNLIMITED,
        warnings: "DeliveryWarnings | None" = None,
    ) -> None:
        self._calls = TransactionExecutor(connection)
        self._watcher = watcher
        self._warnings = warnings or DeliveryWarnings()
        self._per_host = per_host
        self._carriers = list(carriers)
        self._protocols = [protocol for carrier in carriers for protocol in PROTOCOLS[carrier]]
        self._carry_traced = traced
        self._hand_over_limits = hand_over

    def wait_ms(self) -> int | None:
        """Returns the milliseconds until a delivery may be due, or None. If a publish creates an earlier delivery, the
        database notifies the watcher."""
        rows = self._calls.call(NEXT_DELIVERY, (self._watcher, self._carriers))
        if self._hand_over():
            return 0
        return next((row.wait_ms for row in rows), None)

    def claim(self, limit: int, busy: Mapping[str, int]) -> list[Claimed]:
        """Claims at most `limit` due deliveries.

        `busy` counts open requests by endpoint.
        """
        self._hand_over()
        lease = uuid4()
        rows = self._calls.call(
            CLAIM_DELIVERIES, (limit, lease, LEASE_MS, list(busy), list(busy.values()), self._per_host, self._carriers)
        )
        return [Claimed(read_delivery(row), lease, self._read_trace(row.trace)) for row in rows]

    def _hand_over(self) -> int:
        """Converts outgoing messages to deliveries. Returns the number of deliveries."""
        if not self._protocols:
            return 0
        (row,) = self._calls.call(HAND_OVER_OUTGOING, (self._protocols, MAX_HANDED_OVER, *self._hand_over_limits))
        return row.handed

    def _read_trace(self, header: str | None) -> TraceContext | None:
        return parse_trace_header(header) if self._carry_traced and header is not None else None

    def settle(self, finished: Sequence[Finished]) -> dict[str, int]:
        """Writes outcomes and returns the number of deliveries with each outcome. Logs deliveries that were given
        up, and endpoints that are now paused."""
        entries = [
            (c.delivery.delivery_id, c.lease.bytes, c.delivery.endpoint_key, *outcome[:4], duration_ms, *outcome[4:])
            for c, outcome, duration_ms in finished
        ]
        columns = transpose(entries, len(SETTLE_DELIVERIES.types))
        (settled,) = self._calls.call(SETTLE_DELIVERIES, columns)
        self._warnings.log(finished, settled.paused)
        self._warnings.log_changes(settled.failing, settled.recovered)
        log_failed_redrives(settled.failed_redrives)
        return {name: getattr(settled, name) for name in SETTLED}

    def expire(self) -> dict[str, int]:
        """Gives up deliveries that waited too long for paused endpoints. Returns the number of deliveries with each
        outcome."""
        (expired,) = self._calls.call(EXPIRE_DELIVERIES, (MAX_EXPIRED,))
        if number := expired.exhausted + expired.dead_lettered:
            log_expired(number)
        log_failed_redrives(expired.failed_redrives)
        return expired._asdict()
