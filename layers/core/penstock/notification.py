"""The messages that SNS sends: their JSON, and the text of them that is signed.

    Notification              for a queue or a URL; its UnsubscribeURL names the subscription, so it has two parts,
                              `head` and `tail`, with the subscription's ARN between them; that URL is not signed
    SubscriptionConfirmation  for a URL, which confirms with the Token or by a visit of SubscribeURL
    UnsubscribeConfirmation   for a URL that gets no more; the same token would subscribe it again

Sources: "Parsing message formats", "Verifying the signatures of Amazon SNS messages" (SNS Developer Guide).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple, Protocol
from urllib.parse import quote

import msgspec

from .messages.sqs import MessageAttributeValue

_encode = msgspec.json.encode

CONFIRMATION_SIGNED = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
NOTIFICATION_SIGNED = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")


class Signer(Protocol):
    """What signs: `signing_sns.Signer`."""

    def sign(self, text: str, version: str) -> str:
        """The signature in base64."""


class Letterhead(NamedTuple):
    """What all messages of a publisher share: who signs and how, and where links lead."""

    signer: Signer
    version: str
    base_url: str
    certificate_url: str


class Parts(NamedTuple):
    """A Notification: `head`, the subscription's ARN, `tail`."""

    head: str
    tail: str


def timestamp(at: datetime | None = None) -> str:
    """Now, in UTC, with three fractional digits and never `.000`, which the Java SDK would write in another way."""
    moment = at or datetime.now(UTC)
    milliseconds = max(1, moment.microsecond // 1000)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"


def string_to_sign(members: Mapping[str, str], names: tuple[str, ...]) -> str:
    """Each member that is there, in the order of names: its name, a line feed, its value, a line feed."""
    return "".join(f"{name}\n{members[name]}\n" for name in names if name in members)


def notification(
    letterhead: Letterhead,
    topic_arn: str,
    message_id: str,
    message: str,
    subject: str | None,
    at: str,
    attributes: Mapping[str, MessageAttributeValue],
) -> Parts:
    """The envelope of a message, signed once for all subscriptions."""
    members = {"Type": "Notification", "MessageId": message_id, "TopicArn": topic_arn}
    if subject is not None:
        members["Subject"] = subject
    members |= {"Message": message, "Timestamp": at, "SignatureVersion": letterhead.version}
    sign(members, NOTIFICATION_SIGNED, letterhead)
    head = _encode(members).decode()[:-1]
    link = f"{letterhead.base_url}/?Action=Unsubscribe&Version=2010-03-31&SubscriptionArn="
    tail = '"}' if not attributes else f'","MessageAttributes":{_encode(readable(attributes)).decode()}}}'
    return Parts(f'{head},"UnsubscribeURL":"{link}', tail)


def sign(members: dict[str, str], names: tuple[str, ...], letterhead: Letterhead) -> None:
    """Adds the signature, and where its certificate is."""
    text = string_to_sign(members, names)
    members["Signature"] = letterhead.signer.sign(text, letterhead.version)
    members["SigningCertURL"] = letterhead.certificate_url


def readable(attributes: Mapping[str, MessageAttributeValue]) -> dict[str, dict[str, str]]:
    """Message attributes as an envelope shows them; binary values are base64."""
    return {
        name: {
            "Type": value.data_type,
            "Value": value.binary_value or "" if value.string_value is None else value.string_value,
        }
        for name, value in attributes.items()
    }


def confirmation(
    letterhead: Letterhead, kind: str, topic_arn: str, message_id: str, token: str, at: str
) -> str:
    """A SubscriptionConfirmation or an UnsubscribeConfirmation (`kind`)."""
    link = f"{letterhead.base_url}/?Action=ConfirmSubscription&TopicArn={quote(topic_arn)}&Token={token}"
    if kind == "SubscriptionConfirmation":
        text = (
            f"You have chosen to subscribe to the topic {topic_arn}.\n"
            "To confirm the subscription, visit the SubscribeURL included in this message."
        )
    else:
        text = (
            f"You have chosen to deactivate subscription to the topic {topic_arn}.\n"
            "To cancel this operation and restore the subscription, visit the SubscribeURL included in this message."
        )
    members = {
        "Type": kind,
        "MessageId": message_id,
        "Token": token,
        "TopicArn": topic_arn,
        "Message": text,
        "SubscribeURL": link,
        "Timestamp": at,
        "SignatureVersion": letterhead.version,
    }
    sign(members, CONFIRMATION_SIGNED, letterhead)
    return _encode(members).decode()
