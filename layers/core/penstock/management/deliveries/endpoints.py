"""Shows the health of the URLs that the account delivers to, and pauses and resumes them."""

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.context import Context
from penstock.delivery import DELIVERIES
from penstock.documents.times import format_timestamp
from penstock.effects import Call, Operation, Wake
from penstock.endpoint import mask_password
from penstock.management.errors import EndpointNotFound
from penstock.management.rights import needs
from penstock.postgres.statements.deliveries import (
    LIST_DELIVERY_ENDPOINTS,
    PAUSE_DELIVERY_ENDPOINT,
    RESUME_DELIVERY_ENDPOINT,
    DeliveryEndpointRow,
)

from .attempts import MAX_EXAMINED


class EndpointDescription(msgspec.Struct):
    """A URL, and the outcomes of the delivery attempts to it. Only the account's newest 10,000 attempts count.

    `paused` means that a user paused the URL. `paused_until` means that the URL failed; the service tries one delivery
    after this time. `waiting` counts deliveries that wait during the pause; 10,001 means more than 10,000. `p95_ms` is
    in milliseconds and includes the time to connect.
    """

    endpoint: str
    attempts: int
    delivered: int
    p95_ms: int | None
    last_status: int | None
    last_error: str | None
    last_at: str | None
    paused: bool
    paused_until: str | None
    waiting: int | None


@needs("account", "penstock:ListDeliveries")
def list_endpoints(context: Context) -> Operation[list[EndpointDescription]]:
    rows = yield from Call(LIST_DELIVERY_ENDPOINTS, (context.account_id, MAX_EXAMINED))
    return [_show(row) for row in rows]


@needs("account", "penstock:PauseEndpoint")
@audited(lambda endpoint, _context: Act("penstock:PauseEndpoint", mask_password(endpoint)))
def pause_endpoint(endpoint: str, context: Context) -> Operation[None]:
    """Pauses an endpoint. Raises EndpointNotFound."""
    (row,) = yield from Call(PAUSE_DELIVERY_ENDPOINT, (context.account_id, mask_password(endpoint)))
    if not row.known:
        raise EndpointNotFound


@needs("account", "penstock:PauseEndpoint")
@audited(lambda endpoint, _context: Act("penstock:ResumeEndpoint", mask_password(endpoint)))
def resume_endpoint(endpoint: str, context: Context) -> Operation[None]:
    """Resumes an endpoint. Raises EndpointNotFound if the URL is not paused."""
    (row,) = yield from Call(RESUME_DELIVERY_ENDPOINT, (context.account_id, mask_password(endpoint)))
    if not row.known:
        raise EndpointNotFound("The endpoint is not paused.")
    yield Wake(DELIVERIES, 1)


def _show(row: DeliveryEndpointRow) -> EndpointDescription:
    return EndpointDescription(
        endpoint=row.endpoint,
        attempts=row.attempts,
        delivered=row.delivered,
        p95_ms=row.p95_ms,
        last_status=row.last_status,
        last_error=row.last_error,
        last_at=None if row.last_at_ms is None else format_timestamp(row.last_at_ms),
        paused=row.stopped,
        paused_until=None if row.paused_until_ms is None else format_timestamp(row.paused_until_ms),
        waiting=row.waiting,
    )
