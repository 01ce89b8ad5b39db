"""SendMessage and SendMessageBatch.

All messages of a batch are validated before the valid ones are stored. `queue.send_messages` checks the conditions
that depend on the queue (size limit, deduplication) when it stores the messages.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import md5
from itertools import starmap
from typing import NamedTuple

import msgspec

from penstock import errors
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.message_id import as_text, build_message_id
from penstock.aws.named_queue import NamedQueue
from penstock.context import Context
from penstock.effects import LONG_DIGEST_BYTES, BatchCall, Operation, compute
from penstock.limits.queue_limits import MAX_MESSAGE_BYTES
from penstock.limits.response_limit import LONG_BODY_BYTES
from penstock.observing.reports import Sent
from penstock.postgres.statements.messages import SEND_MESSAGES, SendEntry, SentRow

from . import digests, handles, queues, validation
from .sql_errors import build_entry_error, build_failed_entry, build_sql_error
from .types import (
    SendMessageBatchRequest,
    SendMessageBatchRequestEntry,
    SendMessageBatchResult,
    SendMessageBatchResultEntry,
    SendMessageRequest,
    SendMessageResult,
)

_json = msgspec.json.Encoder()

WHOLE_CALL = (
    "QueueDoesNotExist",
    "DeduplicationIdRequired",
)  # if a row has one of these errors, the whole batch is refused

Entry = SendMessageRequest | SendMessageBatchRequestEntry


class AcceptedMessage(NamedTuple):
    """A validated message, with the stored parts and the digests for the response."""

    stored: SendEntry
    body_md5: str
    attributes_md5: str | None
    system_md5: str | None


def send_message(request: SendMessageRequest, context: Context) -> Operation[SendMessageResult]:
    """Stores one message. The response follows the commit."""
    queue = context.queue(request.queue_url)
    longest = count_characters(request) if request.message_attributes else len(request.message_body)
    validation.check_message_size(longest)  # refuses a long message before it is encoded
    build = partial(build_message, request, queue.arn, context.trace_header)
    message = yield from compute(build, longest, LONG_DIGEST_BYTES)
    validation.check_message_size(message.stored.size_bytes)
    if message.stored.size_bytes > LONG_BODY_BYTES:
        free_long_texts([(request, message)])
    # For one message, `store` would compute sums and sort rows. This is the most frequent call.
    size = message.stored.size_bytes
    rows = yield from BatchCall(SEND_MESSAGES, [message.stored], (False,), queue.merge_key, queue.arn, size_bytes=size)
    yield from report_sent(queue, rows, [size])
    (stored,) = rows
    if stored.error is not None:
        raise build_sql_error(stored.error, stored.detail)
    return SendMessageResult(
        md5_of_message_body=message.body_md5,
        md5_of_message_attributes=message.attributes_md5,
        md5_of_message_system_attributes=message.system_md5,
        message_id=stored.message_id or as_text(message.stored.message_id),
        sequence_number=format_sequence_number(stored),
    )


def send_message_batch(request: SendMessageBatchRequest, context: Context) -> Operation[SendMessageBatchResult]:
    """Stores up to ten messages in one transaction. Refused messages fail individually.

    A message for a FIFO queue without a group, or without a required deduplication id, fails the whole batch.
    """
    validation.check_batch(request.entries, "SendMessageBatchRequestEntry")
    queue = context.queue(request.queue_url)
    if queue.is_fifo and any(entry.message_group_id is None for entry in request.entries):
        raise errors.InvalidParameterValue("The request must contain the parameter MessageGroupId.")
    characters = check_batch_characters(request.entries)  # refuses a long batch before it is encoded
    build = partial(build_messages, request.entries, queue.arn, context.trace_header)
    checked = yield from compute(build, characters, LONG_DIGEST_BYTES)
    validation.check_batch_size(sum(starmap(measure, checked)))
    result = SendMessageBatchResult()
    accepted = [(e, m) for e, m in checked if isinstance(m, AcceptedMessage)]
    free_long_texts(accepted)
    if not accepted:
        yield from handles.check_queue(queue.arn)
    if queue.is_fifo:
        yield from check_deduplication_ids(request.entries, len(accepted), queue.arn)
    stored = (yield from store(queue, [message for _, message in accepted])) if accepted else []
    for (entry, message), row in zip(accepted, stored, strict=True):
        if row.error in WHOLE_CALL:
            raise build_sql_error(row.error, None)
        report_entry(result, entry.id, message, row)
    for entry, refused in checked:
        if isinstance(refused, errors.AwsError):
            result.failed.append(build_failed_entry(entry.id, refused))
    return result


def check_deduplication_ids(
    entries: Sequence[SendMessageBatchRequestEntry], accepted: int, arn: str
) -> Operation[None]:
    """Raises InvalidParameterValue if an entry has no deduplication id and the queue does not derive ids from bodies.

    If no entry has an id, and all entries are valid, the call that stores them reports the error instead.
    """
    given = sum(entry.message_deduplication_id is not None for entry in entries)
    if given < len(entries) and (given > 0 or accepted < len(entries)):
        found = yield from queues.describe(arn)
        if not queues.is_content_deduplicated(found):
            raise build_sql_error("DeduplicationIdRequired", None)


def store(
    queue: NamedQueue, messages: Sequence[AcceptedMessage], async_commit: bool = False
) -> Operation[list[SentRow]]:
    """Appends messages in order to one queue. Returns one row per message. The rows contain the errors; this function
    does not raise them."""
    entries = [message.stored for message in messages]
    sizes = [entry.size_bytes for entry in entries]
    rows = yield from BatchCall(
        SEND_MESSAGES, entries, (async_commit,), queue.merge_key, queue.arn, size_bytes=sum(sizes)
    )
    rows = sorted(rows)
    yield from report_sent(queue, rows, sizes)
    return rows


def report_sent(queue: NamedQueue, rows: Sequence[SentRow], sizes: Sequence[int]) -> Operation[None]:
    """Reports the sizes of the messages that were added to the queue, if the queue exists."""
    if rows[0].error != "QueueDoesNotExist":
        added = [size for size, row in zip(sizes, rows, strict=True) if row.is_new]
        yield Sent(queue.arn, len(added), added)


def check_batch_characters(entries: Sequence[SendMessageBatchRequestEntry]) -> int:
    """Returns the number of characters. Raises BatchRequestTooLong with the exact size if the batch has too many."""
    characters = sum(map(count_characters, entries))
    if characters > MAX_MESSAGE_BYTES:
        validation.check_batch_size(sum(map(count_bytes, entries)))
    return characters


def count_characters(entry: Entry) -> int:
    """Returns a lower bound of the message's size without encoding the message."""
    size = len(entry.message_body)
    for value in (entry.message_attributes or {}).values():
        size += len(value.string_value or "")
        if value.binary_value:
            size += digests.count_decoded_bytes(value.binary_value)
    return size


def measure(entry: Entry, message: AcceptedMessage | errors.AwsError) -> int:
    """Returns the size of a message. The message can be invalid."""
    return message.stored.size_bytes if isinstance(message, AcceptedMessage) else count_bytes(entry)


def count_bytes(entry: Entry) -> int:
    """Returns the message's size as SQS counts it: the bytes of the body, and of the attributes' names, types and
    values. The entry can be invalid.
    """
    return digests.count_text_bytes(entry.message_body) + digests.size_of_attributes(entry.message_attributes or {})


def free_long_texts(accepted: Iterable[tuple[Entry, AcceptedMessage]]) -> None:
    """Empties the long texts of entries, because the messages have their bytes. While a long message waits in a batch,
    only one copy stays in memory.
    """
    for entry, message in accepted:
        if len(message.stored.body) > LONG_BODY_BYTES:
            entry.message_body = ""


def build_messages(
    entries: Sequence[SendMessageBatchRequestEntry], arn: str, trace_header: str | None
) -> list[tuple[SendMessageBatchRequestEntry, AcceptedMessage | errors.AwsError]]:
    """Returns each entry with its message, or with the error that refuses the message."""
    return [(entry, build_message_or_error(entry, arn, trace_header)) for entry in entries]


def build_message_or_error(entry: Entry, arn: str, trace_header: str | None) -> AcceptedMessage | errors.AwsError:
    """Returns the message, or the error that refuses it."""
    try:
        return build_message(entry, arn, trace_header)
    except errors.AwsError as error:
        return error


def build_message(entry: Entry, arn: str, trace_header: str | None = None) -> AcceptedMessage:
    """Validates and measures a message for the queue `arn`. Raises the errors of `validation`.

    The size is not checked, because in a batch one long message makes the whole batch too long. `trace_header` is the
    AWSTraceHeader for a message without this attribute.
    """
    fifo = is_fifo_name(arn)
    body = validation.check_message_body(entry.message_body)
    size = len(body)
    attributes = attributes_md5 = system = system_md5 = None
    if entry.message_attributes:
        validation.check_message_attributes(entry.message_attributes)
        attributes_md5 = digests.compute_attributes_md5(entry.message_attributes)
        attributes = _json.encode(entry.message_attributes)
        size += digests.size_of_attributes(entry.message_attributes)
    if entry.message_system_attributes:
        validation.check_system_attributes(entry.message_system_attributes)
        system_md5 = digests.compute_attributes_md5(entry.message_system_attributes)
    if entry.message_group_id is not None or entry.message_deduplication_id is not None or fifo:
        check_ids(entry, fifo)
    if entry.message_system_attributes or trace_header or (entry.message_group_id and not fifo):
        system = encode_system_attributes(entry, trace_header)
    validation.check_range("DelaySeconds", entry.delay_seconds)
    stored = SendEntry(
        arn, build_message_id(), body, size, attributes, system, entry.delay_seconds, entry.message_group_id,
        entry.message_deduplication_id,
    )  # fmt: skip
    return AcceptedMessage(stored, md5(body, usedforsecurity=False).hexdigest(), attributes_md5, system_md5)


def encode_system_attributes(entry: Entry, trace_header: str | None) -> bytes:
    """Returns the system attributes to store: the trace header, and the message group on a standard queue.

    The trace header in a message "overrides the HTTP trace header" ("Amazon SQS and AWS X-Ray", X-Ray Developer
    Guide).
    """
    values: dict[str, str | None] = {} if trace_header is None else {"AWSTraceHeader": trace_header}
    for name, value in (entry.message_system_attributes or {}).items():
        values[name] = value.string_value
    if entry.message_group_id:
        values["MessageGroupId"] = entry.message_group_id
    return _json.encode(values)


def check_ids(entry: Entry, fifo: bool) -> None:
    """Validates the group and deduplication ids, and whether this type of queue allows them (API reference)."""
    if fifo and entry.message_group_id is None:
        raise errors.MissingParameter.named("MessageGroupId")
    if entry.message_group_id is not None:
        validation.check_group_id(entry.message_group_id)
    if entry.message_deduplication_id is not None:
        validation.check_deduplication_id(entry.message_deduplication_id)
        if not fifo:
            raise build_parameter_error("MessageDeduplicationId", entry.message_deduplication_id)
    if fifo and entry.delay_seconds:
        raise build_parameter_error("DelaySeconds", str(entry.delay_seconds))


def build_parameter_error(parameter: str, value: str) -> errors.AwsError:
    """Returns the error for a parameter that this type of queue does not have."""
    return errors.InvalidParameterValue(
        f"Value {value} for parameter {parameter} is invalid. "
        "Reason: The request include parameter that is not valid for this queue type."
    )


def format_sequence_number(stored: SentRow) -> str | None:
    """Returns a number of 20 digits, which rises within a message group."""
    return None if stored.sequence_number is None else f"{stored.sequence_number:020d}"


def report_entry(result: SendMessageBatchResult, entry_id: str, message: AcceptedMessage, row: SentRow) -> None:
    """Adds an entry's outcome to the batch's result."""
    if row.error is not None:
        result.failed.append(build_failed_entry(entry_id, build_entry_error(row.error, row.detail)))
        return
    result.successful.append(
        SendMessageBatchResultEntry(
            id=entry_id,
            message_id=row.message_id or as_text(message.stored.message_id),
            md5_of_message_body=message.body_md5,
            md5_of_message_attributes=message.attributes_md5,
            md5_of_message_system_attributes=message.system_md5,
            sequence_number=format_sequence_number(row),
        )
    )
