"""Serves /v1/outbox, which contains messages that no carrier delivers, and opted-out phone numbers. The messages are
for phones, mobile apps, e-mail and functions.
"""

from typing import Annotated, Literal

import msgspec
from fastapi import Path, Query

from penstock import errors
from penstock.management import outbox
from penstock.management.outbox import OutgoingMessageDescription
from penstock.management.rights import right_of
from penstock_web.routing.routes import Routes, Runner


class OptedOutNumber(msgspec.Struct):
    """Holds a phone number that receives no text messages."""

    phone_number: str


routes = Routes("outbox", prefix="/outbox")


@routes.get("", right=right_of(outbox.list_outgoing), response=list[OutgoingMessageDescription])
async def list_outbox(
    runner: Runner,
    protocol: Literal["sms", "application", "email", "email-json", "lambda", "firehose"] | None = None,
    destination: Annotated[str | None, Query(max_length=2_048)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> list[OutgoingMessageDescription]:
    """List outgoing messages by id. `after` is the last id of the previous page.

    A page contains at most 512 KiB of texts and attributes, but at least one message. If a page is empty, it is the
    last page.
    """
    return await runner.run(outbox.list_outgoing(protocol, destination, after, limit, runner.context))


@routes.put(
    "/opted-out/{phone_number}",
    right=right_of(outbox.opt_number_out),
    response=OptedOutNumber,
    raises=(errors.OverLimit,),
)
async def opt_out(
    phone_number: Annotated[str, Path(pattern=r"^\+[1-9][0-9]{6,14}$")], runner: Runner
) -> OptedOutNumber:
    """Opt a phone number out of text messages, as the reply STOP does. The SNS action OptInPhoneNumber reverses this
    change."""
    await runner.run(outbox.opt_number_out(phone_number, runner.context))
    return OptedOutNumber(phone_number)
