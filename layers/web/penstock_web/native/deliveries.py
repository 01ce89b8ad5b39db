"""/v1/deliveries: lists webhooks that are pending or exhausted, and retries one."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from penstock.context import Context
from penstock.delivery.webhooks import WEBHOOKS
from penstock.effects import Call, Operation, Wake
from penstock.postgres.statements.webhooks import LIST_WEBHOOKS, RETRY_WEBHOOK, WebhookRow

from .documents import format_timestamp
from .errors import DeliveryNotFound
from .native_route import NativeRoute, Runner
from .shapes import DeliveryDescription, MessageId, Retried

router = APIRouter(prefix="/deliveries", tags=["deliveries"], route_class=NativeRoute)


@router.get("", response_model_exclude_none=True)
async def list_deliveries(
    runner: Runner,
    state: Literal["pending", "exhausted"] = "pending",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> list[DeliveryDescription]:
    """Webhooks in the order of their ids. `after`: the id that the previous page ended with."""
    return await runner.run(list_webhooks(state, after, limit, runner.context))


@router.post("/{id}/retry", status_code=202)
async def retry(id: MessageId, runner: Runner) -> Retried:  # noqa: A002
    """Deliver now. A webhook that was given up gets all its attempts again; one under way is left alone."""
    return Retried(id=await runner.run(retry_webhook(id, runner.context)))


def list_webhooks(
    state: str, after: int | None, limit: int, context: Context
) -> Operation[list[DeliveryDescription]]:
    """A page of the account's webhooks in this state."""
    rows = yield from Call(LIST_WEBHOOKS, (context.account_id, state, after, limit))
    return [delivery_description(row) for row in rows]


def retry_webhook(delivery_id: int, context: Context) -> Operation[int]:
    """The delivery's id. Raises DeliveryNotFound."""
    rows = yield from Call(RETRY_WEBHOOK, (context.account_id, delivery_id))
    if not rows:
        raise DeliveryNotFound
    yield Wake(WEBHOOKS, 1)
    return delivery_id


def delivery_description(row: WebhookRow) -> DeliveryDescription:
    """A webhook as a document. One that is under way or exhausted has no `next_attempt_at`."""
    waits = row.state == "pending" and not row.under_way
    return DeliveryDescription(
        id=row.webhook_id,
        state=row.state,
        kind=row.kind,
        message_id=str(row.message_id),
        topic_arn=row.topic_arn,
        subscription_arn=row.subscription_arn,
        subscription_id=row.binding_id,
        endpoint=row.endpoint,
        attempts=row.attempts,
        under_way=row.under_way,
        next_attempt_at=format_timestamp(row.due_at_ms) if waits else None,
        last_status=row.last_status,
        last_error=row.last_error,
        dead_letter_arn=row.dead_letter_arn,
        created_at=format_timestamp(row.created_at_ms),
    )
