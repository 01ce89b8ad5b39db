"""Publish to one phone number, or to one endpoint of a mobile app, without a topic.

Nothing carries such messages: they are outgoing messages, to be looked at under `/v1/outbox` (docs/topics.md). A phone
number that is opted out gets none, and the answer does not say so, as on AWS. Sources: Publish (API reference); texts
of the errors for phone numbers and missing endpoints: reports of users.
"""

from uuid import UUID

import msgspec

from penstock.access.quotas import TOO_MANY_WEBHOOKS, too_many_webhooks
from penstock.aws.message_id import as_text
from penstock.aws.platform_arn import arn_reason, parse_endpoint_arn
from penstock.context import Context
from penstock.effects import Call, Operation, compute
from penstock.postgres.statements.outgoing import SEND_OUTGOING

from . import errors
from . import types as sns
from .message_checks import length_of, outgoing_message, too_long
from .outgoing_message import DEFAULT_TEXT, OutgoingMessage
from .sms.phone_numbers import is_phone_number

MOST_SMS_CHARACTERS = 1_600
MOST_PUSH_BYTES = 262_144

_json = msgspec.json.Encoder().encode

ERRORS: dict[str | None, type[errors.SnsError]] = {
    "EndpointDisabled": errors.EndpointDisabled,
    "PlatformApplicationDisabled": errors.PlatformApplicationDisabled,
}


def publish_to_one(request: sns.PublishRequest, context: Context) -> Operation[sns.PublishResult]:
    """Keeps one outgoing message. Raises what `keep` raises."""
    protocol, destination, member = target_of(request, context)
    platform = member if protocol == "application" else None
    message = yield from compute(lambda: outgoing_message(request, None, platform), length_of(request))
    text = message.texts.get(member, message.texts[DEFAULT_TEXT])
    if (protocol == "sms" and len(text) > MOST_SMS_CHARACTERS) or message.size > MOST_PUSH_BYTES:
        raise too_long()
    yield from keep(protocol, destination, message, text, context)
    return sns.PublishResult(message_id=as_text(message.message_id))


def target_of(request: sns.PublishRequest, context: Context) -> tuple[str, str, str]:
    """Protocol, destination, and the member of the message that is for it. Raises InvalidParameter."""
    if request.phone_number is not None:
        if request.topic_arn or request.target_arn:
            raise errors.InvalidParameter.named(
                "PhoneNumber", "Only one of TopicArn, TargetArn and PhoneNumber can be given"
            )
        if not is_phone_number(request.phone_number):
            raise errors.InvalidParameter.named(
                "PhoneNumber", f"{request.phone_number[:64]} is not valid to publish to"
            )
        return "sms", request.phone_number, "sms"
    target = request.target_arn or ""
    arn = parse_endpoint_arn(target)
    if arn is None or arn.region != context.region or request.topic_arn:
        raise errors.InvalidParameter.named("TargetArn", arn_reason(target))
    return "application", target, arn.platform


def keep(
    protocol: str, destination: str, message: OutgoingMessage, text: str, context: Context
) -> Operation[None]:
    """Stores the message.

    Raises InvalidParameter, EndpointDisabled, PlatformApplicationDisabled, and Throttled beyond QUOTA_WEBHOOKS.
    """
    attributes = _json(message.attributes).decode() if message.attributes else None
    (row,) = yield from Call(
        SEND_OUTGOING,
        (context.account_id, context.region, protocol, "Notification", destination,
         UUID(bytes=message.message_id), message.subject, text, attributes),
    )  # fmt: skip
    if row.error in ERRORS:
        raise ERRORS[row.error]
    if row.error == TOO_MANY_WEBHOOKS:
        raise errors.Throttled(too_many_webhooks(context.environment.settings))
    if row.error is not None:
        raise errors.InvalidParameter.named("TargetArn", "No endpoint found for the target arn specified")
