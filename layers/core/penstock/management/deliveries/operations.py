"""Lists pending and given-up deliveries to URLs, and retries them."""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.context import Context
from penstock.delivery import DELIVERIES
from penstock.documents.times import format_timestamp
from penstock.effects import Call, Operation, Wake
from penstock.endpoint import mask_password
from penstock.management.errors import DeliveryNotFound
from penstock.management.messages.types import MessageId
from penstock.management.rights import needs
from penstock.postgres.statements.deliveries import (
    COUNT_EXHAUSTED,
    LIST_DELIVERIES,
    RETRY_DELIVERIES,
    RETRY_DELIVERY,
    OutgoingDeliveryRow,
    RetriedDeliveriesRow,
)

from .attempts import URL

WAITS_FOR: Final[dict[str | None, Literal["endpoint_paused", "endpoint_fails"]]] = {
    "paused": "endpoint_paused",
    "fails": "endpoint_fails",
}


class DeliveryDescription(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A delivery.

    `waits_for` is `endpoint_paused` if a user paused the endpoint, and `endpoint_fails` if the service pauses the
    endpoint after failures. `attempts` counts the attempts with a known outcome. `last_status` is absent if the last
    attempt had no response.
    """

    id: int
    state: Literal["pending", "exhausted"]
    kind: str
    message_id: str
    topic_arn: str | None = None
    subscription_arn: str | None = None
    subscription_id: int | None = None
    endpoint: str
    attempts: int
    under_way: bool
    next_attempt_at: str | None = None
    waits_for: Literal["endpoint_paused", "endpoint_fails"] | None = None
    last_status: int | None = None
    last_error: str | None = None
    dead_letter_arn: str | None = None
    created_at: str


Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class GivenUp(msgspec.Struct, forbid_unknown_fields=True):
    """Selects given-up deliveries to `endpoint` with a last attempt at `since` or later.

    If `endpoint` is missing, the request selects deliveries to all endpoints. A request selects up to `limit`
    deliveries with ids after `after`, in the order of the ids.
    """

    endpoint: Annotated[str, msgspec.Meta(pattern=URL)] | None = None
    since: Moment | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1_000
    after: MessageId | None = None


def describe_retry(wanted: GivenUp) -> Act:
    """Returns the action for the audit log."""
    given: dict[str, object] = msgspec.to_builtins(wanted)
    chosen = {name: value for name, value in given.items() if value is not None and name != "endpoint"}
    endpoint = mask_password(wanted.endpoint or "*")
    return Act("penstock:RetryDelivery", endpoint, chosen, counted="retried")


@needs("account", "penstock:RetryDelivery")
@audited(lambda wanted, _context: describe_retry(wanted))
def retry_given_up(wanted: GivenUp, context: Context) -> Operation[RetriedDeliveriesRow]:
    """Makes the account's selected deliveries due again. Returns the number of deliveries."""
    since: datetime | None = wanted.since
    endpoint = None if wanted.endpoint is None else mask_password(wanted.endpoint)
    (row,) = yield from Call(RETRY_DELIVERIES, (context.account_id, endpoint, since, wanted.after, wanted.limit))
    if row.retried:
        yield Wake(DELIVERIES, row.retried)
    return row


@needs("account", "penstock:RetryDelivery")
def count_given_up(wanted: GivenUp, context: Context) -> Operation[int]:
    """Returns the number of deliveries that `retry_given_up` would retry, and at most `limit` + 1."""
    endpoint = None if wanted.endpoint is None else mask_password(wanted.endpoint)
    (row,) = yield from Call(COUNT_EXHAUSTED, (context.account_id, endpoint, wanted.since, wanted.limit + 1))
    return row.number


@needs("account", "penstock:ListDeliveries")
def find_deliveries(
    state: str, after: int | None, limit: int, context: Context
) -> Operation[list[DeliveryDescription]]:
    """Returns a page of the account's deliveries in this state."""
    rows = yield from Call(LIST_DELIVERIES, (context.account_id, state, after, limit))
    return [describe_delivery(row) for row in rows]


@needs("account", "penstock:RetryDelivery")
@audited(lambda delivery_id, _context: Act("penstock:RetryDelivery", str(delivery_id)))
def retry_delivery(delivery_id: int, context: Context) -> Operation[int]:
    """Makes a delivery due again. Returns its id. Raises DeliveryNotFound."""
    rows = yield from Call(RETRY_DELIVERY, (context.account_id, delivery_id))
    if not rows:
        raise DeliveryNotFound
    yield Wake(DELIVERIES, 1)
    return delivery_id


def describe_delivery(row: OutgoingDeliveryRow) -> DeliveryDescription:
    """Returns a delivery as a document. `next_attempt_at` is absent while an attempt is running, after the last
    attempt, and while a user pauses the endpoint."""
    waits = row.state == "pending" and not row.under_way
    reason = WAITS_FOR.get(row.endpoint_state) if waits else None
    return DeliveryDescription(
        id=row.delivery_id,
        state=row.state,
        kind=row.kind,
        message_id=str(row.message_id),
        topic_arn=row.topic_arn,
        subscription_arn=row.subscription_arn,
        subscription_id=row.binding_id,
        endpoint=row.endpoint,
        attempts=row.attempts,
        under_way=row.under_way,
        next_attempt_at=format_timestamp(row.due_at_ms) if waits and reason != "endpoint_paused" else None,
        waits_for=reason,
        last_status=row.last_status,
        last_error=row.last_error,
        dead_letter_arn=row.dead_letter_arn,
        created_at=format_timestamp(row.created_at_ms),
    )
