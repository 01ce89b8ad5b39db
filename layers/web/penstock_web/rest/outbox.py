"""/v1/outbox: outgoing messages for phones, mobile apps, e-mail and functions, which nothing carries; and phone numbers
whose holders want no text messages.
"""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Path, Query

from penstock import errors
from penstock.access.quotas import check_quota
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.outgoing import LIST_OUTGOING, OutgoingRow
from penstock.postgres.statements.phone_numbers import OPT_OUT

from .documents import format_timestamp
from .rest_route import RestRoute, Runner
from .shapes import OptedOut, OutgoingMessageDescription

router = APIRouter(prefix="/outbox", tags=["outbox"], route_class=RestRoute)

MOST_TEXT_BYTES = 524_288
"""Of a page: escaped six times as long, it fits into an answer of the container and of most functions."""

_attributes = msgspec.json.Decoder(dict[str, dict[str, str]]).decode


@router.get("", response_model_exclude_none=True)
async def list_outbox(
    runner: Runner,
    protocol: Literal["sms", "application", "email", "email-json", "lambda", "firehose"] | None = None,
    destination: Annotated[str | None, Query(max_length=2_048)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> list[OutgoingMessageDescription]:
    """Outgoing messages in the order of their ids. `after`: the id that the previous page ended with.

    A page has at most 512 KiB of texts and attributes, but one message in any case; after the last one it is empty.
    """
    return await runner.run(list_outgoing(protocol, destination, after, limit, runner.context))


@router.put("/opted-out/{phone_number}")
async def opt_out(
    phone_number: Annotated[str, Path(pattern=r"^\+[1-9][0-9]{6,14}$")], runner: Runner
) -> OptedOut:
    """The holder wants no more text messages, as by a reply of STOP. OptInPhoneNumber of SNS ends it."""
    await runner.run(opt_number_out(phone_number, runner.context))
    return OptedOut(phone_number=phone_number)


def list_outgoing(
    protocol: str | None, destination: str | None, after: int | None, limit: int, context: Context
) -> Operation[list[OutgoingMessageDescription]]:
    """A page of the account's outgoing messages. A destination with NUL has none."""
    if destination is not None and "\0" in destination:
        return []
    rows = yield from Call(
        LIST_OUTGOING, (context.account_id, protocol, destination, after, limit, MOST_TEXT_BYTES)
    )
    return [description(row) for row in rows]


def opt_number_out(phone_number: str, context: Context) -> Operation[None]:
    """Notes that a phone number is opted out. Raises OverLimit."""
    yield from check_quota("opted_out_numbers", phone_number, context, errors.OverLimit)
    yield from Call(OPT_OUT, (context.account_id, context.region, phone_number))


def description(row: OutgoingRow) -> OutgoingMessageDescription:
    """An outgoing message as a document."""
    return OutgoingMessageDescription(
        id=row.outgoing_id,
        state=row.state,
        error=row.error,
        region=row.region,
        protocol=row.protocol,
        kind=row.kind,
        destination=row.destination,
        message_id=str(row.message_id),
        topic_arn=row.topic_arn,
        subscription_arn=row.subscription_arn,
        subject=row.subject,
        text=row.body,
        attributes=None if row.attributes is None else _attributes(row.attributes),
        created_at=format_timestamp(row.created_at_ms),
    )
