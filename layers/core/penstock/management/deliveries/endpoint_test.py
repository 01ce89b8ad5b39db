"""Sends a test event to a URL in the form of its subscription."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import explain_deliveries_quota
from penstock.context import Context
from penstock.delivery import DELIVERIES
from penstock.effects import Call, Operation, Wake
from penstock.endpoint import mask_password
from penstock.errors import RequestThrottled
from penstock.management.errors import EndpointNotFound
from penstock.management.rights import needs
from penstock.postgres.statements.deliveries import FIND_TEST_TARGET, SEND_TEST_WEBHOOK, TestTargetRow
from penstock.sns import notification
from penstock.sns.envelopes import build_signing_context

NOT_SUBSCRIBED = "No topic and no routing key delivers to this URL: subscribe it first."
SUBJECT = "Test"


class SentTest(msgspec.Struct):
    """A test event that was sent.

    `GET /v1/deliveries/attempts?endpoint=URL` shows the response to this `message_id`.
    """

    delivery_id: int
    message_id: str


@needs("account", "penstock:TestEndpoint")
@audited(lambda endpoint, _context: Act("penstock:TestEndpoint", mask_password(endpoint)))
def send_test(endpoint: str, context: Context) -> Operation[SentTest]:
    """Sends the test event.

    Raises RequestThrottled, and EndpointNotFound if the account does not deliver to this URL.
    """
    endpoint = mask_password(endpoint)
    found = yield from Call(FIND_TEST_TARGET, (context.account_id, context.region, endpoint))
    if not found:
        raise EndpointNotFound(NOT_SUBSCRIBED)
    target, message_id = found[0], uuid4()
    text = write_body(message_id, endpoint)
    head, tail = yield from _build_envelope(target, message_id, text, context)
    sent = yield from Call(
        SEND_TEST_WEBHOOK,
        (context.account_id, target.subscription_arn, target.binding_id, message_id, text, head, tail),
    )
    if not sent:
        raise EndpointNotFound(NOT_SUBSCRIBED)
    if sent[0].error is not None:
        raise RequestThrottled(explain_deliveries_quota(context.environment.settings))
    yield Wake(DELIVERIES, 1)
    return SentTest(delivery_id=sent[0].delivery_id, message_id=str(message_id))


def write_body(message_id: UUID, endpoint: str) -> str:
    """Returns the test event's text, in JSON."""
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return msgspec.json.encode(
        {"type": "penstock.test", "id": str(message_id), "endpoint": endpoint, "sent_at": at}
    ).decode()


def _build_envelope(
    target: TestTargetRow, message_id: UUID, text: str, context: Context
) -> Operation[tuple[str | None, str | None]]:
    """Returns the head and tail of a Notification in the topic's signature version, or None for events."""
    if target.topic_arn is None:
        return None, None
    signing = yield from build_signing_context(target.signature_version or "1", context)
    parts = notification.build_notification(
        signing, target.topic_arn, str(message_id), text, SUBJECT, notification.format_timestamp(), {}
    )
    return parts.head, parts.tail
