"""Lists outgoing messages, and records opted-out phone numbers."""

from typing import Literal

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import check_quota
from penstock.context import Context
from penstock.documents.times import format_timestamp
from penstock.effects import Call, Operation
from penstock.postgres.statements.sns.outgoing import LIST_OUTGOING, OutgoingRow
from penstock.postgres.statements.sns.phone_numbers import OPT_OUT

from .rights import needs


class OutgoingMessageDescription(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A message for a phone, a mobile app, an e-mail address or a function.

    The state is `kept` if the installation has no carrier for the message, and `waiting` if the gateway has not
    accepted the message yet. `error` is the reason for a failure. `attributes` contains each attribute by name, with
    its DataType and StringValue or BinaryValue (base64).
    """

    id: int
    state: Literal["kept", "waiting", "sent", "failed"]
    error: str | None = None
    region: str
    protocol: str
    kind: str
    destination: str
    message_id: str
    topic_arn: str | None = None
    subscription_arn: str | None = None
    subject: str | None = None
    text: str
    attributes: dict[str, dict[str, str]] | None = None
    created_at: str


MAX_TEXT_BYTES = 524_288
"""The most text of a page, in bytes. It fits into the response of a container or function even if escapes make it
six times as long."""
_attributes = msgspec.json.Decoder(dict[str, dict[str, str]]).decode


@needs("account", "penstock:ReadOutbox")
def list_outgoing(
    protocol: str | None, destination: str | None, after: int | None, limit: int, context: Context
) -> Operation[list[OutgoingMessageDescription]]:
    """Returns a page of the account's outgoing messages. The page is empty for a destination with NUL."""
    if destination is not None and "\0" in destination:
        return []
    rows = yield from Call(LIST_OUTGOING, (context.account_id, protocol, destination, after, limit, MAX_TEXT_BYTES))
    return [describe_outgoing(row) for row in rows]


@needs("account", "penstock:OptOutPhoneNumber")
@audited(lambda phone_number, _context: Act("penstock:OptOutPhoneNumber", phone_number))
def opt_number_out(phone_number: str, context: Context) -> Operation[None]:
    """Opts a phone number out. Raises OverLimit."""
    yield from check_quota("opted_out_numbers", phone_number, context, errors.OverLimit)
    yield from Call(OPT_OUT, (context.account_id, context.region, phone_number))


def describe_outgoing(row: OutgoingRow) -> OutgoingMessageDescription:
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
