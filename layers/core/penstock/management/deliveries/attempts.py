"""Lists the attempts to deliver to a URL, with outcomes."""

from datetime import datetime
from typing import Final, Literal

import msgspec

from penstock.access.authorization import is_user_allowed
from penstock.access.resources import ANY
from penstock.context import Context
from penstock.documents.times import format_timestamp
from penstock.effects import Call, Operation
from penstock.endpoint import mask_password
from penstock.management.rights import needs
from penstock.postgres.statements.deliveries import LIST_DELIVERY_ATTEMPTS, DeliveryAttemptRow

URL: Final = "^[!-~]{1,2048}$"
"""The form of a webhook's address. Subscribe makes more checks of the address."""
MAX_EXAMINED: Final = 10_000
"""A request examines at most this many attempts."""


class Attempt(msgspec.Struct):
    """An attempt. `outcome` is delivered, retried (another attempt follows) or given_up.

    `status` is null if the endpoint sent no response. `duration_ms` includes the time to connect. `sent_bytes` includes
    the request's head. `response` contains the first 1,024 bytes of the response as text if WEBHOOK_LOG_RESPONSES is
    on, for users with `penstock:ReadResponses`.
    """

    id: int
    at: str
    delivery_id: int
    message_id: str
    topic_arn: str | None
    subscription_arn: str | None
    endpoint: str
    attempt: int
    outcome: Literal["delivered", "retried", "given_up"]
    status: int | None
    error: str | None
    duration_ms: int | None
    sent_bytes: int | None
    response: str | None


class AttemptPage(msgspec.Struct):
    """Attempts, newest first. `next` is the `before` of the next page, or null at the end.

    `looked_at` is the number of attempts that the request examined, at most 10,000. A page can have few attempts, or
    none, although a next page exists.
    """

    attempts: list[Attempt]
    looked_at: int
    next: int | None


@needs("account", "penstock:ListDeliveries")
def list_attempts(
    context: Context,
    *,
    endpoint: str | None = None,
    failed: bool = False,
    since: datetime | None = None,
    limit: int = 100,
    before: int | None = None,
) -> Operation[AttemptPage]:
    """Returns a page of the account's attempts."""
    endpoint = None if endpoint is None else mask_password(endpoint)
    header, *rows = yield from Call(
        LIST_DELIVERY_ATTEMPTS, (context.account_id, endpoint, failed, since, before, limit, MAX_EXAMINED)
    )
    responses = is_user_allowed("penstock", "ReadResponses", ANY, context)
    return AttemptPage(
        attempts=[_show(row, responses=responses) for row in rows],
        looked_at=header.looked_at or 0,
        next=header.attempt_id,
    )


def _show(row: DeliveryAttemptRow, *, responses: bool) -> Attempt:
    return Attempt(
        id=row.attempt_id or 0,
        at=format_timestamp(row.recorded_at_ms),
        delivery_id=row.delivery_id,
        message_id=str(row.message_id),
        topic_arn=row.subscription_arn and row.subscription_arn.rpartition(":")[0],
        subscription_arn=row.subscription_arn,
        endpoint=row.endpoint,
        attempt=row.attempt,
        outcome=row.outcome,
        status=row.status,
        error=row.error,
        duration_ms=row.duration_ms,
        sent_bytes=row.sent_bytes,
        response=row.response if responses else None,
    )
