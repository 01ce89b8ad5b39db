"""Builds the messages that SNS sends: the JSON, and the text for the signature.

    Notification              For a queue or a URL. The unsigned UnsubscribeURL contains the subscription's ARN, so the
                              text has two parts, `head` and `tail`, around the ARN.
    SubscriptionConfirmation  For a URL, which confirms with the Token or by a request to SubscribeURL.
    UnsubscribeConfirmation   For an unsubscribed URL. The token in the message would subscribe the URL again.

The order of members, the layout, the texts and the links follow AWS's examples, because some receivers compare
messages as text. Each member is on a separate line, with two spaces before the name and one space before the colon.
Sources: "Parsing message formats" and "Verifying the signatures of Amazon SNS messages" (SNS Developer Guide).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

import msgspec

from penstock.sqs.types import MessageAttributeValue

_encode = msgspec.json.encode

CONFIRMATION_SIGNED = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
NOTIFICATION_SIGNED = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")


class TextSigner(Protocol):
    """An object that signs, such as `signatures.Signer`."""

    def sign(self, text: str, version: str) -> str:
        """Returns the signature in base64."""


class SigningContext(NamedTuple):
    """The data that all messages of a request share: signer, signature version, base of links, certificate URL."""

    signer: TextSigner
    version: str
    base_url: str
    certificate_url: str


class EnvelopeParts(NamedTuple):
    """The parts of a Notification: `head`, then the subscription's ARN, then `tail`.

    A FIFO topic's envelope starts with `opening` and the sequence number.
    """

    head: str
    tail: str
    opening: str = ""


def format_timestamp(at: datetime | None = None) -> str:
    """Formats a time (by default now) in UTC with milliseconds.

    The format avoids `.000`, which the Java SDK formats differently.
    """
    moment = (at or datetime.now(UTC)).astimezone(UTC)
    milliseconds = max(1, moment.microsecond // 1000)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"


def build_string_to_sign(members: Mapping[str, str], names: tuple[str, ...]) -> str:
    """Joins the names and values of the existing members, ordered by name. A line feed follows each name and value."""
    return "".join(f"{name}\n{members[name]}\n" for name in names if name in members)


def build_notification(
    signing: SigningContext,
    topic_arn: str,
    message_id: str,
    message: str,
    subject: str | None,
    at: str,
    attributes: Mapping[str, MessageAttributeValue],
) -> EnvelopeParts:
    """Returns a message's envelope, signed once for all subscriptions."""
    members = {"Type": "Notification", "MessageId": message_id, "TopicArn": topic_arn}
    members |= build_content(message, subject, at) | {"SignatureVersion": signing.version}
    sign(members, NOTIFICATION_SIGNED, signing)
    return EnvelopeParts(build_head(members, signing.base_url), tail(attributes))


def build_fifo_notification(
    base_url: str,
    topic_arn: str,
    message_id: str,
    message: str,
    subject: str | None,
    at: str,
    attributes: Mapping[str, MessageAttributeValue],
) -> EnvelopeParts:
    """Returns the unsigned envelope of a FIFO topic's message. SQL inserts `SequenceNumber` when it stores the
    message."""
    opening = f'{{\n{build_lines({"Type": "Notification", "MessageId": message_id})},\n  "SequenceNumber" : "'
    members = {"TopicArn": topic_arn} | build_content(message, subject, at)
    return EnvelopeParts(f'",{build_head(members, base_url)[1:]}', tail(attributes), opening)


def mark_replayed(envelope: EnvelopeParts) -> EnvelopeParts:
    """Returns an envelope with the boolean member `Replayed`, before the link."""
    before, link, after = envelope.head.rpartition('  "UnsubscribeURL" : ')
    return envelope._replace(head=f'{before}  "Replayed" : true,\n{link}{after}')


def build_content(message: str, subject: str | None, at: str) -> dict[str, str]:
    """Returns the members with the published message, its subject and its time."""
    given = {"Message": message, "Timestamp": at}
    return given if subject is None else {"Subject": subject, **given}


def build_head(members: Mapping[str, str], base_url: str) -> str:
    """Returns an envelope up to the subscription's ARN in its link. An ARN in a link needs no encoding (RFC 3986)."""
    link = f"{base_url}/?Action=Unsubscribe&SubscriptionArn="
    return f"{{\n{build_lines({**members, 'UnsubscribeURL': link})}"[:-1]


def tail(attributes: Mapping[str, MessageAttributeValue]) -> str:
    """Returns the rest of an envelope, after the subscription's ARN. Each attribute is on a separate line."""
    if not attributes:
        return '"\n}'
    shown = [
        f"    {_encode(name).decode()} : {_encode(value).decode()}"
        for name, value in show_attributes(attributes).items()
    ]
    return '",\n  "MessageAttributes" : {\n' + ",\n".join(shown) + "\n  }\n}"


def build_lines(members: Mapping[str, str]) -> str:
    """Returns the lines of the members in AWS's layout, without brackets. The members' names need no escapes."""
    return ",\n".join([f'  "{name}" : {_encode(value).decode()}' for name, value in members.items()])


def sign(members: dict[str, str], names: tuple[str, ...], signing: SigningContext) -> None:
    """Adds the signature and the certificate's URL."""
    text = build_string_to_sign(members, names)
    members["Signature"] = signing.signer.sign(text, signing.version)
    members["SigningCertURL"] = signing.certificate_url


def show_attributes(attributes: Mapping[str, MessageAttributeValue]) -> dict[str, dict[str, str]]:
    """Converts message attributes to an envelope's format. Binary values are base64."""
    return {
        name: {
            "Type": value.data_type,
            "Value": value.binary_value or "" if value.string_value is None else value.string_value,
        }
        for name, value in attributes.items()
    }


def build_confirmation(signing: SigningContext, topic_arn: str, message_id: str, token: str, at: str) -> str:
    text = (
        f"You have chosen to subscribe to the topic {topic_arn}.\n"
        "To confirm the subscription, visit the SubscribeURL included in this message."
    )
    return build_token_message(signing, "SubscriptionConfirmation", topic_arn, message_id, token, text, at)


def unsubscribe_confirmation(
    signing: SigningContext, topic_arn: str, subscription_arn: str, message_id: str, token: str, at: str
) -> str:
    text = (
        f"You have chosen to deactivate subscription {subscription_arn}.\n"
        "To cancel this operation and restore the subscription, visit the SubscribeURL included in this message."
    )
    return build_token_message(signing, "UnsubscribeConfirmation", topic_arn, message_id, token, text, at)


def build_token_message(
    signing: SigningContext, kind: str, topic_arn: str, message_id: str, token: str, text: str, at: str
) -> str:
    """Returns a signed message with a token and the link that confirms the subscription with this token."""
    members = {
        "Type": kind,
        "MessageId": message_id,
        "Token": token,
        "TopicArn": topic_arn,
        "Message": text,
        "SubscribeURL": f"{signing.base_url}/?Action=ConfirmSubscription&TopicArn={topic_arn}&Token={token}",
        "Timestamp": at,
        "SignatureVersion": signing.version,
    }
    sign(members, CONFIRMATION_SIGNED, signing)
    return f"{{\n{build_lines(members)}\n}}"
