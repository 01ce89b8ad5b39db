"""Publish and PublishBatch: one SQL call, one transaction for all subscriptions of a topic.

The container merges the calls of concurrent requests for one topic into one.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from penstock import errors as sqs_errors
from penstock.aws.message_id import new_message_id
from penstock.aws.topic_arn import TopicArn
from penstock.context import Context
from penstock.effects import BatchCall, Operation
from penstock.postgres.statements.topics import PUBLISH_MESSAGES, PublishedRow, PublishEntry
from penstock.reports import Published
from penstock.sqs import digests, validation
from penstock.sqs.types import MessageAttributeValue

from . import envelopes, errors
from . import types as sns
from .filter_policy import facts as filter_facts
from .outgoing_message import OutgoingMessage
from .topics import describe_topic, topic_arn

MOST_BYTES = 1_048_576  # of a topic's MaximumMessageSize, which is compared in SQL
MOST_SUBJECT = 99
MOST_ENTRIES = 10
PROTOCOLS = ("sqs", "http", "https")
TOO_LONG = "MessageTooLong"  # the code that queue.publish_messages returns
DEFAULT_TEXT = "*"  # stands for all protocols that have no text of their own

_json = msgspec.json.Encoder()

Entry = sns.PublishRequest | sns.PublishBatchRequestEntry


def publish(request: sns.PublishRequest, context: Context) -> Operation[sns.PublishResult]:
    """Publishes one message. The answer comes after the commit."""
    topic = target_topic(request, context)
    message = outgoing_message(request, topic)
    if message.size > MOST_BYTES:
        raise too_long()
    (published,) = yield from store(topic, [message], message.size, context)
    if published.error is not None:
        raise error_of(published.error)
    return sns.PublishResult(
        message_id=published.message_id, sequence_number=sequence_number(published.sequence_number)
    )


def publish_batch(request: sns.PublishBatchRequest, context: Context) -> Operation[sns.PublishBatchResult]:
    """Publishes up to ten messages in one transaction; those that cannot be accepted fail one by one."""
    topic = topic_arn(request.topic_arn, context)
    entries = request.publish_batch_request_entries
    check_batch(entries)
    checked = [(entry.id, checked_entry(entry, topic)) for entry in entries]
    accepted = [(name, message) for name, message in checked if isinstance(message, OutgoingMessage)]
    size = sum(message.size for _, message in accepted)
    if size > MOST_BYTES:
        raise errors.TopicBatchRequestTooLong
    result = sns.PublishBatchResult(
        successful=[],
        failed=[
            failed_entry(name, error) for name, error in checked if isinstance(error, sqs_errors.AwsError)
        ],
    )
    if not accepted:
        yield from describe_topic(topic)
        return result
    rows = yield from store(topic, [message for _, message in accepted], size, context)
    if any(row.error == TOO_LONG for row in rows):  # then all: the whole request is too long
        raise errors.TopicBatchRequestTooLong
    for (name, _), row in zip(accepted, rows, strict=True):
        report_entry(result, name, row)
    return result


def store(
    topic: TopicArn, messages: Sequence[OutgoingMessage], size: int, context: Context
) -> Operation[list[PublishedRow]]:
    """Signs and stores the messages; again when the database answers that the topic's signature version differs.

    Raises NotFound.
    """
    topics_known = context.environment.cache(envelopes.TopicCache)
    version = topics_known.version_for(str(topic), messages)
    while True:
        entries = []
        for message in messages:
            contents = yield from envelopes.envelope_contents(topic, message, version, context)
            entries.append(entry_of(message, contents, size))
        rows = yield from BatchCall(
            PUBLISH_MESSAGES,
            entries,
            (str(topic), version),
            merge_key=str(topic),
            size_bytes=2 * size,  # each message as it is, and in its envelope
        )
        published = sorted(rows)
        first, *_ = published  # NotFound and OtherSignatureVersion are errors of all messages
        if first.error == "NotFound":
            raise errors.NotFound
        if first.error != "OtherSignatureVersion":
            if any(row.detail == envelopes.NO_ENVELOPE for row in published):
                topics_known.learn_no_envelope(str(topic))
            yield Published(str(topic), sum(row.error is None for row in published))
            return published
        version = topics_known.learn_signature_version(str(topic), str(first.detail))


def entry_of(message: OutgoingMessage, contents: Mapping[str, object], request_bytes: int) -> PublishEntry:
    """The message as the database takes it, with its texts and envelopes by protocol."""
    return PublishEntry(
        message_id=message.message_id,
        contents=_json.encode(contents),
        attributes=_json.encode(message.attributes) if message.attributes else None,
        attribute_bytes=message.attribute_bytes,
        attribute_facts=_json.encode(filter_facts.attribute_facts(message.attributes)),
        body_facts=as_facts(message.texts.get("sqs", message.texts[DEFAULT_TEXT])),
        group_id=message.group_id,
        deduplication_id=message.deduplication_id,
        subject=message.subject,
        request_bytes=request_bytes,
    )


def as_facts(text: str) -> bytes | None:
    """The facts with which a policy on the body is compared, as JSON; None when the body is no JSON object."""
    facts = filter_facts.body_facts(text)
    return None if facts is None else _json.encode(facts)


# --- checks ----------------------------------------------------------------------------------------------------------
def target_topic(request: sns.PublishRequest, context: Context) -> TopicArn:
    """The topic to publish to. Raises InvalidParameter: Penstock sends to no phones and no mobile endpoints."""
    if request.phone_number is not None:
        raise errors.InvalidParameter.named("PhoneNumber", "is not supported")
    arn = request.topic_arn or request.target_arn
    if not arn:
        raise errors.InvalidParameter.named("TopicArn or TargetArn", "no value for required parameter")
    return topic_arn(arn, context)


def checked_entry(entry: Entry, topic: TopicArn) -> OutgoingMessage | sqs_errors.AwsError:
    """The message, or the error for which it cannot be accepted."""
    try:
        return outgoing_message(entry, topic)
    except sqs_errors.AwsError as error:
        return error


def outgoing_message(entry: Entry, topic: TopicArn) -> OutgoingMessage:
    """A message of a request, checked and measured."""
    if not entry.message:
        raise errors.InvalidParameter.named("Empty message")
    if entry.subject is not None:
        check_subject(entry.subject)
    attributes = check_attributes(entry.message_attributes or {})
    check_ids(entry, topic)
    attribute_bytes = digests.size_of_attributes(attributes) if attributes else 0
    return OutgoingMessage(
        new_message_id(), texts_of(entry), attributes, attribute_bytes, len(entry.message.encode()) + attribute_bytes,
        entry.subject, entry.message_group_id, entry.message_deduplication_id,
    )  # fmt: skip


def too_long() -> errors.InvalidParameter:
    """The error for a message longer than the topic's MaximumMessageSize, or than MOST_BYTES."""
    return errors.InvalidParameter.named("Message too long")


def texts_of(entry: Entry) -> dict[str, str]:
    """The text for each protocol. With MessageStructure `json` the message has a text for each, or its `default`."""
    if entry.message_structure is None:
        return {DEFAULT_TEXT: check_text(entry.message)}
    if entry.message_structure != "json":
        raise errors.InvalidParameter.named("MessageStructure")
    try:
        texts = msgspec.json.decode(entry.message)
    except (msgspec.DecodeError, RecursionError):
        texts = None
    if not isinstance(texts, dict):
        raise errors.InvalidParameter.named("Message Structure - JSON message body failed to parse")
    if not isinstance(texts.get("default"), str):
        raise errors.InvalidParameter.named("Message Structure - No default entry in JSON message body")
    chosen = {name: texts[name] for name in PROTOCOLS if isinstance(texts.get(name), str)}
    return {name: check_text(text) for name, text in ({DEFAULT_TEXT: texts["default"]} | chosen).items()}


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
            validation.check_message_attributes(
                {name: replace(value, data_type="String") if texts else value}
            )
        except sqs_errors.AwsError as error:
            raise errors.ParameterValueInvalid(error.message) from error
    return attributes


def check_ids(entry: Entry, topic: TopicArn) -> None:
    """Group and deduplication id: well formed, and right for the type of topic. Raises InvalidParameter."""
    group, deduplication = entry.message_group_id, entry.message_deduplication_id
    if topic.fifo and not group:
        raise errors.InvalidParameter.named("The MessageGroupId parameter is required for FIFO topics")
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


# --- answers ---------------------------------------------------------------------------------------------------------
def error_of(code: str) -> errors.SnsError:
    """The typed error for a code of the column `error`."""
    if code == TOO_LONG:
        return too_long()
    if code == "DeduplicationIdRequired":
        return errors.InvalidParameter.named(
            "The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
            "provided explicitly"
        )
    return errors.NotFound()


def report_entry(result: sns.PublishBatchResult, name: str, row: PublishedRow) -> None:
    """Adds an entry's success or error to the batch's result."""
    if row.error is not None:
        result.failed.append(failed_entry(name, error_of(row.error)))
        return
    number = sequence_number(row.sequence_number)
    result.successful.append(
        sns.PublishBatchResultEntry(id=name, message_id=row.message_id, sequence_number=number)
    )


def failed_entry(name: str, error: sqs_errors.AwsError) -> sns.BatchResultErrorEntry:
    return sns.BatchResultErrorEntry(
        id=name, sender_fault=error.sender_fault, code=error.query_code, message=error.message
    )


def sequence_number(number: int | None) -> str | None:
    """20 digits, rising within a FIFO topic."""
    return None if number is None else f"{number:020d}"
