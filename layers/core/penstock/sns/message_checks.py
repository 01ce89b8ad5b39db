"""What Publish and PublishBatch check of a message before the database gets it."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from penstock import errors as sqs_errors
from penstock.aws.message_id import new_message_id
from penstock.aws.platform_arn import PLATFORMS
from penstock.aws.topic_arn import TopicArn
from penstock.sqs import digests, validation
from penstock.sqs.types import MessageAttributeValue

from . import errors
from . import types as sns
from .outgoing_message import DEFAULT_TEXT, OutgoingMessage

MOST_SUBJECT = 99
MOST_ENTRIES = 10
PROTOCOLS = (
    "sqs",
    "http",
    "https",
    "email",
    "email-json",
    "sms",
    "lambda",
    "firehose",
    "application",
    *PLATFORMS,
)
"""Members of a message with MessageStructure `json`: protocols of subscriptions, and platforms of mobile apps."""

RESERVED = ("AWS.SNS.", "AWS.MM.")
"""Beginnings of names of attributes that say how SNS sends text messages and pushes, although SQS refuses them."""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode

Entry = sns.PublishRequest | sns.PublishBatchRequestEntry


def length_of(entry: Entry) -> int:
    """Characters of a message and of its attributes' values."""
    attributes = (entry.message_attributes or {}).values()
    return len(entry.message) + sum(len(attribute.string_value or "") for attribute in attributes)


def outgoing_message(entry: Entry, topic: TopicArn | None, platform: str | None = None) -> OutgoingMessage:
    """A message of a request, checked and measured.

    `topic`: None for one that goes to no topic. `platform`: of the mobile app that alone gets the message; a
    text for it makes the default one needless.
    """
    if not entry.message:
        raise errors.InvalidParameter.named("Empty message")
    if entry.subject is not None:
        check_subject(entry.subject)
    attributes = check_attributes(entry.message_attributes or {})
    if topic is not None:
        check_ids(entry, topic)
    attribute_bytes = digests.size_of_attributes(attributes) if attributes else 0
    return OutgoingMessage(
        new_message_id(), texts_of(entry, platform), attributes, attribute_bytes,
        len(entry.message.encode()) + attribute_bytes, entry.subject, entry.message_group_id,
        entry.message_deduplication_id,
    )  # fmt: skip


def too_long() -> errors.InvalidParameter:
    """The error for a message longer than the topic's MaximumMessageSize, or than MOST_BYTES."""
    return errors.InvalidParameter.named("Message too long")


def texts_of(entry: Entry, platform: str | None = None) -> dict[str, str]:
    """The text for each protocol. With MessageStructure `json` the message has a text for each, or its `default`.

    `string` is what programs write for a message that is a text (aws-sdk-js 1368).
    """
    if entry.message_structure is None or entry.message_structure.lower() == "string":
        return {DEFAULT_TEXT: check_text(entry.message)}
    if entry.message_structure != "json":
        raise errors.InvalidParameter.named("MessageStructure")
    try:
        members = _members(entry.message)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise errors.InvalidParameter.named(
            "Message Structure - JSON message body failed to parse"
        ) from error
    texts = {
        name: text for name in ("default", *PROTOCOLS) if (text := text_of(members.get(name))) is not None
    }
    if platform in texts:
        texts.setdefault("default", texts[platform])
    if "default" not in texts:
        raise no_default(platform)
    chosen = {name: text for name, text in texts.items() if name != "default"}
    return {name: check_text(text) for name, text in ({DEFAULT_TEXT: texts["default"]} | chosen).items()}


def no_default(platform: str | None) -> errors.InvalidParameter:
    """The error for a message of MessageStructure `json` that has no text for those who get it."""
    if platform is None:
        return errors.InvalidParameter.named("Message Structure - No default entry in JSON message body")
    return errors.InvalidParameter.named(f"JSON must contain an entry for 'default' or '{platform}'.")


def text_of(member: msgspec.Raw | None) -> str | None:
    """A member that is a text, decoded."""
    return _text(member) if member is not None and bytes(memoryview(member)[:1]) == b'"' else None


def check_text(text: str) -> str:
    """A text that SQS can carry. Raises InvalidParameter."""
    try:
        validation.check_message_body(text)
    except sqs_errors.AwsError as error:
        raise errors.InvalidParameter.named("Message", error.message) from error
    return text


def check_subject(text: str) -> None:
    """1-99 characters, no line breaks or control characters (Publish, API reference)."""
    if not 1 <= len(text) <= MOST_SUBJECT or not text.isprintable() or text != text.strip():
        raise errors.InvalidParameter.named("Subject")


def check_attributes(given: dict[str, sns.MessageAttributeValue]) -> dict[str, MessageAttributeValue]:
    """The attributes in the form of SQS, whose rules apply, except that a Number.Array is no number.

    Raises ParameterValueInvalid.
    """
    attributes = {
        name: MessageAttributeValue(
            data_type=value.data_type, string_value=value.string_value, binary_value=value.binary_value
        )
        for name, value in given.items()
    }
    for name, value in attributes.items():
        try:
            texts = value.data_type == "Number.Array"
            checked = name.removeprefix("AWS.") if name.startswith(RESERVED) else name
            validation.check_message_attributes(
                {checked: replace(value, data_type="String") if texts else value}
            )
        except sqs_errors.AwsError as error:
            raise errors.ParameterValueInvalid(error.message) from error
    return attributes


def check_ids(entry: Entry, topic: TopicArn) -> None:
    """Group and deduplication id: well formed, and right for the type of topic. Raises InvalidParameter."""
    group, deduplication = entry.message_group_id, entry.message_deduplication_id
    if topic.fifo and not group:
        raise group_required()
    if deduplication is not None and not topic.fifo:
        raise errors.InvalidParameter.named(
            "MessageDeduplicationId",
            "The request includes MessageDeduplicationId parameter that is not valid for this topic type",
        )
    for name, value, check in (
        ("MessageGroupId", group, validation.check_group_id),
        ("MessageDeduplicationId", deduplication, validation.check_deduplication_id),
    ):
        try:
            if value is not None:
                check(value)
        except sqs_errors.AwsError as error:
            raise errors.InvalidParameter.named(name, error.message) from error


def group_required() -> errors.InvalidParameter:
    """The error for a message without a group for a FIFO topic."""
    return errors.InvalidParameter.named("The MessageGroupId parameter is required for FIFO topics")


def deduplication_id_required() -> errors.InvalidParameter:
    """The error for a message without a deduplication id for a FIFO topic that makes none of the content."""
    return errors.InvalidParameter.named(
        "The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
        "provided explicitly"
    )


def check_batch(entries: Sequence[sns.PublishBatchRequestEntry]) -> None:
    """1-10 entries under distinct ids of 1-80 characters."""
    if not entries:
        raise errors.TopicEmptyBatchRequest
    if len(entries) > MOST_ENTRIES:
        raise errors.TopicTooManyEntriesInBatchRequest
    if not all(map(validation.is_entry_id, (entry.id for entry in entries))):
        raise errors.TopicInvalidBatchEntryId
    if len({entry.id for entry in entries}) < len(entries):
        raise errors.TopicBatchEntryIdsNotDistinct
