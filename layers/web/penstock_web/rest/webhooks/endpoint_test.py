"""/v1/deliveries/endpoints/test: sends a test event to a URL, as what it is subscribed to would be sent."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import msgspec
from fastapi import APIRouter
from pydantic import BaseModel

from penstock.access.quotas import too_many_deliveries
from penstock.audit import Act
from penstock.context import Context
from penstock.delivery import DELIVERIES
from penstock.effects import Call, Operation, Wake
from penstock.errors import RequestThrottled
from penstock.postgres.statements.deliveries import FIND_TEST_TARGET, SEND_TEST_WEBHOOK, TestTargetRow
from penstock.sns import notification
from penstock.sns.envelopes import signing_context
from penstock_web.rest.errors import EndpointNotFound
from penstock_web.rest.rest_route import RestRoute, Runner

from .endpoints import NamedEndpoint

router = APIRouter(prefix="/deliveries/endpoints", tags=["deliveries"], route_class=RestRoute)

NOT_SUBSCRIBED = "No topic and no routing key delivers to this URL: subscribe it first."
SUBJECT = "Test"


class SentTest(BaseModel):
    """A test event under way. `GET /v1/deliveries/attempts?endpoint=URL` has the answer, with this `message_id`."""

    delivery_id: int
    message_id: str


@router.post("/test", status_code=202)
async def test_endpoint(named: NamedEndpoint, runner: Runner) -> SentTest:
    """Send a test event to a URL of the account: signed, guarded and logged, and tried again, as any other is.

    To a URL with a confirmed subscription to a topic goes a Notification of that topic, else an event with the
    routing key `penstock.test`. If the endpoint is paused, it waits.
    """
    act = Act("penstock:TestEndpoint", named.endpoint)
    return await runner.act(act, send_test(named.endpoint, runner.context), lambda _: 1)


def send_test(endpoint: str, context: Context) -> Operation[SentTest]:
    """Raises EndpointNotFound unless a topic or a routing key of the account delivers to this URL, RequestThrottled."""
    found = yield from Call(FIND_TEST_TARGET, (context.account_id, context.region, endpoint))
    if not found:
        raise EndpointNotFound(NOT_SUBSCRIBED)
    target, message_id = found[0], uuid4()
    text = body_of(message_id, endpoint)
    head, tail = yield from _envelope(target, message_id, text, context)
    sent = yield from Call(
        SEND_TEST_WEBHOOK,
        (context.account_id, target.subscription_arn, target.binding_id, message_id, text, head, tail),
    )
    if not sent:
        raise EndpointNotFound(NOT_SUBSCRIBED)
    if sent[0].error is not None:
        raise RequestThrottled(too_many_deliveries(context.environment.settings))
    yield Wake(DELIVERIES, 1)
    return SentTest(delivery_id=sent[0].delivery_id, message_id=str(message_id))


def body_of(message_id: UUID, endpoint: str) -> str:
    """The text of the test event: JSON."""
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return msgspec.json.encode(
        {"type": "penstock.test", "id": str(message_id), "endpoint": endpoint, "sent_at": at}
    ).decode()


def _envelope(
    target: TestTargetRow, message_id: UUID, text: str, context: Context
) -> Operation[tuple[str | None, str | None]]:
    """Head and tail of a Notification, signed with the topic's signature version; events have none."""
    if target.topic_arn is None:
        return None, None
    signing = yield from signing_context(target.signature_version or "1", context)
    parts = notification.notification(
        signing, target.topic_arn, str(message_id), text, SUBJECT, notification.timestamp(), {}
    )
    return parts.head, parts.tail
