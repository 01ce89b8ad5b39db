"""Publishes to one phone number, or to one endpoint of a mobile app, without a topic.

Penstock stores the messages as outgoing messages, which `/v1/outbox` shows (docs/reference/text_messages.md). As on
AWS, an opted-out phone number receives no message, and the response is a success. Sources: Publish (API reference). The
error texts for phone numbers and missing endpoints come from users' reports.
"""

from uuid import UUID

import msgspec

from penstock.access.quotas import TOO_MANY_DELIVERIES, explain_deliveries_quota
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.sns.mobile import DESCRIBE_PLATFORM_ENDPOINT
from penstock.postgres.statements.sns.outgoing import SEND_OUTGOING
from penstock.sns import errors

from .message_checks import build_length_error
from .outgoing_message import DEFAULT_TEXT, OutgoingMessage
from .targets import Recipient

MAX_SMS_CHARACTERS = 1_600
MAX_PUSH_BYTES = 262_144

_attributes = msgspec.json.Decoder(dict[str, str]).decode
_json = msgspec.json.Encoder().encode

ERRORS: dict[str | None, type[errors.SnsError]] = {
    "EndpointDisabled": errors.EndpointDisabled,
    "PlatformApplicationDisabled": errors.PlatformApplicationDisabled,
}


def check_recipient(recipient: Recipient) -> Operation[None]:
    """Raises EndpointDisabled for a disabled endpoint of a mobile app."""
    if recipient.protocol == "application":
        rows = yield from Call(DESCRIBE_PLATFORM_ENDPOINT, (recipient.destination,))
        if any(_attributes(row.attributes).get("Enabled") == "false" for row in rows):
            raise errors.EndpointDisabled


def send_to_recipient(message: OutgoingMessage, recipient: Recipient, context: Context) -> Operation[None]:
    """Stores one outgoing message.

    Raises InvalidParameter, EndpointDisabled, PlatformApplicationDisabled, and Throttled beyond QUOTA_DELIVERIES.
    """
    protocol = recipient.protocol
    text = message.texts.get(recipient.platform or protocol, message.texts[DEFAULT_TEXT])
    if (protocol == "sms" and len(text) > MAX_SMS_CHARACTERS) or message.size > MAX_PUSH_BYTES:
        raise build_length_error()
    attributes = _json(message.attributes).decode() if message.attributes else None
    (row,) = yield from Call(
        SEND_OUTGOING,
        (context.account_id, context.region, protocol, "Notification", recipient.destination,
         UUID(message.message_id), message.subject, text, attributes),
    )  # fmt: skip
    if row.error in ERRORS:
        raise ERRORS[row.error]
    if row.error == TOO_MANY_DELIVERIES:
        raise errors.Throttled(explain_deliveries_quota(context.environment.settings))
    if row.error is not None:
        raise errors.InvalidParameter.named("TargetArn", "No endpoint found for the target arn specified")
