"""Publish and PublishBatch: one SQL call, one transaction for all subscriptions of a topic.

The container merges the calls of concurrent requests for one topic into one.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from penstock import errors as sqs_errors
from penstock.access.quotas import TOO_MANY_WEBHOOKS, too_many_webhooks
from penstock.aws.topic_arn import TopicArn
from penstock.context import Context
from penstock.effects import BatchCall, Operation, compute
from penstock.postgres.statements.topics import PUBLISH_MESSAGES, PublishedRow, PublishEntry
from penstock.reports import Published

from . import direct_publish, envelopes, errors
from . import types as sns
from .filter_policy import facts as filter_facts
from .message_checks import (
    check_batch,
    deduplication_id_required,
    group_required,
    length_of,
    outgoing_message,
    too_long,
)
from .outgoing_message import DEFAULT_TEXT, OutgoingMessage
from .topics import describe_topic, read_stored_attributes, topic_arn

MOST_BYTES = 1_048_576  # of a topic's MaximumMessageSize, which is compared in SQL
TOO_LONG = "MessageTooLong"  # the code that queue.publish_messages returns

_json = msgspec.json.Encoder()


def publish(request: sns.PublishRequest, context: Context) -> Operation[sns.PublishResult]:
    """Publishes one message. The answer comes after the commit."""
    if request.phone_number is not None or is_platform_endpoint(request):
        return (yield from direct_publish.publish_to_one(request, context))
    topic = target_topic(request, context)
    message = yield from compute(lambda: outgoing_message(request, topic), length_of(request))
    if message.size > MOST_BYTES:
        raise too_long()
    (published,) = yield from store(topic, [message], message.size, context)
    if published.error is not None:
        raise error_of(published.error)
    return sns.PublishResult(
        message_id=published.message_id, sequence_number=sequence_number(published.sequence_number)
    )


def publish_batch(request: sns.PublishBatchRequest, context: Context) -> Operation[sns.PublishBatchResult]:
    """Publishes up to ten messages in one transaction; those that cannot be accepted fail one by one.

    But a bad attribute, or a missing group or deduplication id, fails the call.
    """
    topic = topic_arn(request.topic_arn, context)
    entries = request.publish_batch_request_entries
    check_batch(entries)
    if topic.fifo and not all(entry.message_group_id for entry in entries):
        raise group_required()
    if topic.fifo and not all(entry.message_deduplication_id for entry in entries):
        attributes = read_stored_attributes((yield from describe_topic(topic)))
        if attributes.get("ContentBasedDeduplication") != "true":
            raise deduplication_id_required()
    checked = yield from compute(
        lambda: [(entry.id, checked_entry(entry, topic)) for entry in entries], sum(map(length_of, entries))
    )
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

    Raises NotFound, and Throttled beyond QUOTA_WEBHOOKS.
    """
    topics_known = context.environment.cache(envelopes.TopicCache)
    version = topics_known.version_for(str(topic), messages)
    while True:
        entries = []
        for message in messages:
            contents = yield from envelopes.envelope_contents(topic, message, version, context)
            entries.append((yield from compute(partial(entry_of, message, contents, size), message.size)))
        rows = yield from BatchCall(
            PUBLISH_MESSAGES,
            entries,
            (str(topic), version),
            merge_key=str(topic),
            size_bytes=2 * size,  # each message as it is, and in its envelope
        )
        published = sorted(rows)
        first, *_ = published  # these three are errors of all messages
        if first.error == "NotFound":
            raise errors.NotFound
        if first.error == TOO_MANY_WEBHOOKS:
            raise errors.Throttled(too_many_webhooks(context.environment.settings))
        if first.error != "OtherSignatureVersion":
            if any(row.detail == envelopes.NO_ENVELOPE for row in published):
                topics_known.learn_no_envelope(str(topic))
            yield Published(str(topic), sum(row.error is None for row in published))
            return published
        version = topics_known.learn_signature_version(str(topic), str(first.detail))


def target_topic(request: sns.PublishRequest, context: Context) -> TopicArn:
    """The topic to publish to. Raises InvalidParameter."""
    arn = request.topic_arn or request.target_arn
    if not arn:
        raise errors.InvalidParameter.named("TopicArn or TargetArn", "no value for required parameter")
    return topic_arn(arn, context)


def is_platform_endpoint(request: sns.PublishRequest) -> bool:
    """Whether a request is for an endpoint of a mobile app."""
    return bool(request.target_arn) and ":endpoint/" in (request.target_arn or "")


def checked_entry(
    entry: sns.PublishBatchRequestEntry, topic: TopicArn
) -> OutgoingMessage | sqs_errors.AwsError:
    """The message, or the error for which it cannot be accepted. Raises ParameterValueInvalid for a bad attribute."""
    try:
        return outgoing_message(entry, topic)
    except errors.ParameterValueInvalid:
        raise
    except sqs_errors.AwsError as error:
        return error


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


# --- answers ---------------------------------------------------------------------------------------------------------
def error_of(code: str) -> errors.SnsError:
    """The typed error for a code of the column `error`."""
    if code == TOO_LONG:
        return too_long()
    if code == "DeduplicationIdRequired":
        return deduplication_id_required()
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
