"""Validates messages of Publish and PublishBatch before they are stored."""

from collections.abc import Sequence
from functools import partial

import msgspec

from penstock import errors as sqs_errors
from penstock.aws.json_text import decode_typed
from penstock.aws.message_id import as_text, build_message_id
from penstock.aws.sns_arn import PLATFORMS, TopicArn
from penstock.effects import Operation, compute
from penstock.limits.queue_limits import MAX_BATCH_ENTRIES
from penstock.sns import errors
from penstock.sns import types as sns
from penstock.sqs import digests, validation

from .attribute_checks import apply_sqs_rule, check_attributes
from .outgoing_message import DEFAULT_TEXT, OutgoingMessage
from .targets import Recipient

MAX_SUBJECT_LENGTH = 99
MAX_ID_LENGTH = 80
PROTOCOLS = ("sqs", "http", "https", "email", "email-json", "sms", "lambda", "firehose", "application", *PLATFORMS)
"""The members of a message with MessageStructure `json`: protocols of subscriptions, and platforms of mobile apps."""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode
_refuse_text = partial(errors.InvalidParameter.named, "Message")

Entry = sns.PublishRequest | sns.PublishBatchRequestEntry
Target = TopicArn | Recipient


# --- messages --------------------------------------------------------------------------------------------------------
def check_message(request: sns.PublishRequest, target: Target) -> Operation[OutgoingMessage]:
    """Validates and measures the message of a Publish. Raises InvalidParameter, ParameterValueInvalid."""
    characters = count_characters(request)
    return (yield from compute(lambda: build_message(request, target), characters))


def check_entries(
    entries: Sequence[sns.PublishBatchRequestEntry], topic: TopicArn
) -> Operation[list[tuple[str, OutgoingMessage | sqs_errors.AwsError]]]:
    """Returns each entry's message, or the error that refuses it, with the entry's id.

    Raises ParameterValueInvalid for an invalid attribute.
    """
    characters = sum(map(count_characters, entries))
    return (
        yield from compute(lambda: [(entry.id, build_message_or_error(entry, topic)) for entry in entries], characters)
    )


def count_characters(entry: Entry) -> int:
    """Returns the number of characters in a message and its attribute values."""
    attributes = (entry.message_attributes or {}).values()
    return len(entry.message) + sum(len(attribute.string_value or "") for attribute in attributes)


def build_message_or_error(
    entry: sns.PublishBatchRequestEntry, topic: TopicArn
) -> OutgoingMessage | sqs_errors.AwsError:
    """Returns an entry's message, or an error that fails only this entry. Raises ParameterValueInvalid."""
    try:
        return build_message(entry, topic)
    except errors.ParameterValueInvalid:
        raise
    except sqs_errors.AwsError as error:
        return error


def build_message(entry: Entry, target: Target) -> OutgoingMessage:
    """Validates and measures a request's message. Raises InvalidParameter, ParameterValueInvalid."""
    if not entry.message:
        raise errors.InvalidParameter.named("Empty message", member="Message")
    if entry.subject is not None:
        check_subject(entry.subject)
    attributes = check_attributes(entry.message_attributes or {})
    platform = None
    if isinstance(target, Recipient):
        platform = target.platform
    else:
        check_ids(entry, target)
    texts = build_texts(entry, platform)
    attribute_bytes = digests.size_of_attributes(attributes) if attributes else 0
    return OutgoingMessage(
        as_text(build_message_id()), texts, attributes, attribute_bytes,
        len(entry.message.encode()) + attribute_bytes, entry.subject, entry.message_group_id,
        entry.message_deduplication_id,
    )  # fmt: skip


# --- parts of a message ----------------------------------------------------------------------------------------------
def build_texts(entry: Entry, platform: str | None) -> dict[str, str]:
    """Returns the text for each protocol. A message with MessageStructure `json` has texts by protocol, or a
    `default`.

    `platform` is the platform of the only mobile app that receives the message. A message with a text for this platform
    needs no default. Some programs send the structure `string` with a plain text (aws-sdk-js 1368).
    """
    if entry.message_structure is None or entry.message_structure.lower() == "string":
        return {DEFAULT_TEXT: check_text(entry.message)}
    if entry.message_structure != "json":
        raise errors.InvalidParameter.named("MessageStructure")
    try:
        members = decode_typed(_members, entry.message)
    except (msgspec.MsgspecError, RecursionError) as error:
        problem = "Message Structure - JSON message body failed to parse"
        raise errors.InvalidParameter.named(problem, member="Message") from error
    texts = {name: text for name in ("default", *PROTOCOLS) if (text := decode_text(members.get(name))) is not None}
    if platform in texts:
        texts.setdefault("default", texts[platform])
    if "default" not in texts:
        raise build_default_error(platform)
    chosen = {name: text for name, text in texts.items() if name != "default"}
    return {name: check_text(text) for name, text in ({DEFAULT_TEXT: texts["default"]} | chosen).items()}


def decode_text(member: msgspec.Raw | None) -> str | None:
    """Decodes a member that is a text."""
    return _text(member) if member is not None and bytes(memoryview(member)[:1]) == b'"' else None


def check_text(text: str) -> str:
    """Returns the text if SQS accepts it as a message body. Raises InvalidParameter."""
    apply_sqs_rule(validation.check_message_body, text, _refuse_text)
    return text


def check_subject(text: str) -> None:
    """Validates a subject: 1-99 characters, no line breaks or control characters (Publish, API reference)."""
    if not 1 <= len(text) <= MAX_SUBJECT_LENGTH or not text.isprintable() or text != text.strip():
        raise errors.InvalidParameter.named("Subject")


def check_ids(entry: Entry, topic: TopicArn) -> None:
    """Validates the group and deduplication ids, and whether the topic allows them. Raises InvalidParameter."""
    group, deduplication = entry.message_group_id, entry.message_deduplication_id
    if topic.fifo and not group:
        raise build_missing_group()
    if deduplication is not None and not topic.fifo:
        raise errors.InvalidParameter.named(
            "MessageDeduplicationId",
            "The request includes MessageDeduplicationId parameter that is not valid for this topic type",
        )
    for name, value, check in (
        ("MessageGroupId", group, validation.check_group_id),
        ("MessageDeduplicationId", deduplication, validation.check_deduplication_id),
    ):
        if value is not None:
            apply_sqs_rule(check, value, partial(errors.InvalidParameter.named, name))


def check_batch(entries: Sequence[sns.PublishBatchRequestEntry]) -> None:
    """Validates a batch: 1-10 entries with distinct ids of 1-80 characters."""
    if not entries:
        raise errors.TopicEmptyBatchRequest
    if len(entries) > MAX_BATCH_ENTRIES:
        raise errors.TopicTooManyEntriesInBatchRequest
    for entry in entries:
        if not validation.is_entry_id(entry.id):
            raise build_id_error(entry.id)
    if len({entry.id for entry in entries}) < len(entries):
        raise errors.TopicBatchEntryIdsNotDistinct


# --- errors ----------------------------------------------------------------------------------------------------------
def build_length_error() -> errors.InvalidParameter:
    """Returns the error for a message longer than the topic's MaximumMessageSize, or than MAX_MESSAGE_BYTES."""
    return errors.InvalidParameter.named("Message too long", member="Message")


def build_id_error(entry_id: str) -> errors.TopicInvalidBatchEntryId:
    """Returns the error for the Id of a batch entry, which has 1-80 of `[A-Za-z0-9_-]` (texts as recorded at AWS)."""
    start = "The Id of a batch entry in the batch request"
    if len(entry_id) > MAX_ID_LENGTH:
        return errors.TopicInvalidBatchEntryId(f"{start} is too long: {entry_id}")
    return errors.TopicInvalidBatchEntryId(f"{start} contains an impermissible character: {entry_id}")


def build_default_error(platform: str | None) -> errors.InvalidParameter:
    """Returns the error for a message of MessageStructure `json` without a text for its recipients."""
    if platform is None:
        text = "Message Structure - No default entry in JSON message body"
        return errors.InvalidParameter.named(text, member="Message")
    return errors.InvalidParameter.named(f"JSON must contain an entry for 'default' or '{platform}'.", member="Message")


def build_missing_group() -> errors.InvalidParameter:
    """Returns the error for a message without a group on a FIFO topic."""
    return errors.InvalidParameter.named(
        "The MessageGroupId parameter is required for FIFO topics", member="MessageGroupId"
    )


def build_deduplication_error() -> errors.InvalidParameter:
    """Returns the error for a missing deduplication id on a FIFO topic that does not derive the id from the
    content."""
    return errors.InvalidParameter.named(
        "The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
        member="MessageDeduplicationId",
    )
