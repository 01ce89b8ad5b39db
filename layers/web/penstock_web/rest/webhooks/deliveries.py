"""/v1/deliveries: lists deliveries that are pending or exhausted, and retries one."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, Field

from penstock.audit import Act
from penstock.context import Context
from penstock.delivery import DELIVERIES
from penstock.effects import Call, Operation, Wake
from penstock.postgres.statements.deliveries import (
    LIST_DELIVERIES,
    RETRY_DELIVERIES,
    RETRY_DELIVERY,
    OutgoingDeliveryRow,
    RetriedDeliveriesRow,
)
from penstock_web.rest.documents import format_timestamp
from penstock_web.rest.errors import DeliveryNotFound
from penstock_web.rest.rest_route import RestRoute, Runner
from penstock_web.rest.shapes import Body, DeliveryDescription, MessageId, Retried

from .attempts import URL

router = APIRouter(prefix="/deliveries", tags=["deliveries"], route_class=RestRoute)


class GivenUp(Body):
    """Deliveries that were given up: those to `endpoint` (any, if absent) whose last attempt was at `since` or later.

    Up to `limit` at once, in the order of their ids, those after `after`.
    """

    endpoint: Annotated[str, Field(pattern=URL)] | None = None
    since: Annotated[AwareDatetime, Field(strict=False)] | None = None
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    after: MessageId | None = None


class RetriedMany(BaseModel):
    """How many are tried again. `next`: give it as `after` for those that follow; null: there are no more."""

    retried: int
    next: int | None


@router.get("", response_model_exclude_none=True)
async def list_deliveries(
    runner: Runner,
    state: Literal["pending", "exhausted"] = "pending",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> list[DeliveryDescription]:
    """Deliveries in the order of their ids. `after`: the id that the previous page ended with."""
    return await runner.run(find_deliveries(state, after, limit, runner.context))


@router.post("/{id}/retry", status_code=202)
async def retry(id: MessageId, runner: Runner) -> Retried:  # noqa: A002
    """Deliver now. A delivery that was given up gets all its attempts again; one under way is left alone."""
    act = Act("penstock:RetryDelivery", str(id))
    return Retried(id=await runner.act(act, retry_delivery(id, runner.context), lambda _: 1))


@router.post("/retry", status_code=202)
async def retry_failed(wanted: GivenUp, runner: Runner) -> RetriedMany:
    """Deliver again what was given up; each gets all its attempts again."""
    act = retry_act(wanted)
    row = await runner.act(act, retry_given_up(wanted, runner.context), lambda row: row.retried)
    return RetriedMany(retried=row.retried, next=row.last_id)


def retry_act(wanted: GivenUp) -> Act:
    """As the audit names it."""
    return Act(
        "penstock:RetryDelivery", wanted.endpoint or "*",
        wanted.model_dump(mode="json", exclude_none=True, exclude={"endpoint"}),
    )  # fmt: skip


def retry_given_up(wanted: GivenUp, context: Context) -> Operation[RetriedDeliveriesRow]:
    """How many of the account's deliveries that were given up are due again."""
    since: datetime | None = wanted.since
    (row,) = yield from Call(
        RETRY_DELIVERIES, (context.account_id, wanted.endpoint, since, wanted.after, wanted.limit)
    )
    if row.retried:
        yield Wake(DELIVERIES, row.retried)
    return row


def find_deliveries(
    state: str, after: int | None, limit: int, context: Context
) -> Operation[list[DeliveryDescription]]:
    """A page of the account's deliveries in this state."""
    rows = yield from Call(LIST_DELIVERIES, (context.account_id, state, after, limit))
    return [delivery_description(row) for row in rows]


def retry_delivery(delivery_id: int, context: Context) -> Operation[int]:
    """The delivery's id. Raises DeliveryNotFound."""
    rows = yield from Call(RETRY_DELIVERY, (context.account_id, delivery_id))
    if not rows:
        raise DeliveryNotFound
    yield Wake(DELIVERIES, 1)
    return delivery_id


def delivery_description(row: OutgoingDeliveryRow) -> DeliveryDescription:
    """A delivery as a document. One that is under way or exhausted has no `next_attempt_at`."""
    waits = row.state == "pending" and not row.under_way
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
        next_attempt_at=format_timestamp(row.due_at_ms) if waits else None,
        last_status=row.last_status,
        last_error=row.last_error,
        dead_letter_arn=row.dead_letter_arn,
        created_at=format_timestamp(row.created_at_ms),
    )
