"""Publish and PublishBatch make one SQL call, which is one transaction for all subscriptions of a topic.

The container merges concurrent requests' calls for one topic.
"""

from collections.abc import Callable, Mapping, Sequence

from penstock import errors as sqs_errors
from penstock.access.quotas import TOO_MANY_DELIVERIES, explain_deliveries_quota
from penstock.aws.sns_arn import TopicArn
from penstock.context import Context
from penstock.effects import BatchCall, Operation
from penstock.limits.queue_limits import MAX_MESSAGE_BYTES
from penstock.observing.reports import Published
from penstock.postgres.statements.sns.topics import PUBLISH_MESSAGES, PublishedRow
from penstock.sns import errors
from penstock.sns import types as sns
from penstock.sns.topics import describe_topic, read_stored_attributes

from .attribute_checks import check_attribute_types
from .direct_publish import check_recipient, send_to_recipient
from .message_checks import (
    build_deduplication_error,
    build_length_error,
    build_missing_group,
    build_texts,
    check_batch,
    check_entries,
    check_message,
)
from .outgoing_message import OutgoingMessage
from .publications import NO_ENVELOPE, TopicCache, encode_publications
from .targets import Recipient, find_target, read_topic_arn

TOO_LONG = "MessageTooLong"  # the error code of queue.publish_messages

ERRORS: Mapping[str, Callable[[], errors.SnsError]] = {
    TOO_LONG: build_length_error,
    "DeduplicationIdRequired": build_deduplication_error,
}
"""The error of one message in a batch, by the code in the column `error`."""


def publish(request: sns.PublishRequest, context: Context) -> Operation[sns.PublishResult]:
    """Publishes one message. The response follows the commit."""
    check_attribute_types([("", request.message_attributes)])
    target = find_target(request, context)
    try:
        message = yield from check_message(request, target)
    except errors.InvalidParameter:
        if isinstance(target, Recipient) and request.message_structure == "json":
            yield from check_recipient(target)  # AWS checks the endpoint before it reads the JSON
        raise
    if isinstance(target, Recipient):
        yield from send_to_recipient(message, target, context)
        return sns.PublishResult(message_id=message.message_id)
    if message.size > MAX_MESSAGE_BYTES:
        raise build_length_error()
    (published,) = yield from store(target, [message], message.size, context)
    if published.error is not None:
        error = ERRORS[published.error]()
        raise error
    return sns.PublishResult(
        message_id=published.message_id, sequence_number=format_sequence_number(published.sequence_number)
    )


def publish_batch(request: sns.PublishBatchRequest, context: Context) -> Operation[sns.PublishBatchResult]:
    """Publishes up to ten messages in one transaction. Refused messages fail individually.

    An invalid attribute, or a missing group or deduplication id, fails the whole call.
    """
    topic = read_topic_arn(request.topic_arn, context)
    entries = request.publish_batch_request_entries
    check_attribute_types(
        (f"publishBatchRequestEntries.{number}.member.", entry.message_attributes)
        for number, entry in enumerate(entries, 1)
    )
    check_batch(entries)
    if topic.fifo:
        yield from check_fifo_batch(entries, topic)
    checked = yield from check_entries(entries, topic)
    accepted = [(name, message) for name, message in checked if isinstance(message, OutgoingMessage)]
    size = sum(message.size for _, message in accepted)
    if size > MAX_MESSAGE_BYTES:
        raise errors.TopicBatchRequestTooLong
    result = sns.PublishBatchResult(
        successful=[],
        failed=[build_failed_entry(name, error) for name, error in checked if isinstance(error, sqs_errors.AwsError)],
    )
    if not accepted:
        yield from describe_topic(topic)
        return result
    rows = yield from store(topic, [message for _, message in accepted], size, context)
    if any(row.error == TOO_LONG for row in rows):  # the whole request is too long, so all rows have this error
        raise errors.TopicBatchRequestTooLong
    for (name, _), row in zip(accepted, rows, strict=True):
        report_entry(result, name, row)
    return result


def check_fifo_batch(entries: Sequence[sns.PublishBatchRequestEntry], topic: TopicArn) -> Operation[None]:
    """Raises InvalidParameter for an entry without a group, or without a deduplication id that the topic requires."""
    if not all(entry.message_group_id for entry in entries):
        for entry in entries:
            build_texts(entry, None)  # AWS reads the JSON first, and a fault in it fails the whole call
        raise build_missing_group()
    if not all(entry.message_deduplication_id for entry in entries):
        attributes = read_stored_attributes((yield from describe_topic(topic)))
        if attributes.get("ContentBasedDeduplication") != "true":
            raise build_deduplication_error()


def store(
    topic: TopicArn, messages: Sequence[OutgoingMessage], size: int, context: Context
) -> Operation[list[PublishedRow]]:
    """Signs and stores the messages. Repeats both steps if the database requires another signature version.

    Raises NotFound, and Throttled beyond QUOTA_DELIVERIES.
    """
    topics_known = context.environment.cache(TopicCache)
    version = topics_known.choose_version_for(str(topic), messages)
    while True:
        rows = yield from BatchCall(
            PUBLISH_MESSAGES,
            (yield from encode_publications(topic, messages, version, size, context)),
            (str(topic), version),
            merge_key=str(topic),
            size_bytes=2 * size,  # each message contains its text twice: alone and in an envelope
        )
        published = sorted(rows)
        first, *_ = published  # each of the following errors concerns all messages
        if first.error == "NotFound":
            raise errors.NotFound
        if first.error == TOO_MANY_DELIVERIES:
            raise errors.Throttled(explain_deliveries_quota(context.environment.settings))
        if first.error != "OtherSignatureVersion":
            if any(row.detail == NO_ENVELOPE for row in published):
                topics_known.learn_no_envelope(str(topic))
            yield Published(str(topic), sum(row.error is None for row in published))
            return published
        version = topics_known.learn_signature_version(str(topic), str(first.detail))


# --- responses --------------------------------------------------------------------------------------------------------
def report_entry(result: sns.PublishBatchResult, name: str, row: PublishedRow) -> None:
    """Adds an entry's success or error to the batch's result."""
    if row.error is not None:
        result.failed.append(build_failed_entry(name, ERRORS[row.error]()))
        return
    number = format_sequence_number(row.sequence_number)
    result.successful.append(sns.PublishBatchResultEntry(id=name, message_id=row.message_id, sequence_number=number))


def build_failed_entry(name: str, error: sqs_errors.AwsError) -> sns.BatchResultErrorEntry:
    return sns.BatchResultErrorEntry(
        id=name, sender_fault=error.sender_fault, code=error.query_code, message=error.message
    )


def format_sequence_number(number: int | None) -> str | None:
    """Returns a number of 20 digits, which rises within a FIFO topic."""
    return None if number is None else f"{number:020d}"
