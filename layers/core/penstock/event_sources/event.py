"""Builds a function's event from a batch.

Source: "Using Lambda with Amazon SQS", the examples of a standard queue and of a FIFO queue,
https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html. Messages with attributes have md5OfMessageAttributes. The
examples lack md5OfMessageAttributes, but the event types of Java and Powertools contain md5OfMessageAttributes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from penstock.access.receipt_handle import ReceiptHandles
from penstock.aws.arn import read_region
from penstock.aws.named_queue import NamedQueue
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.messages import ReceivedRow
from penstock.sqs.attributes import ALL_ATTRIBUTES
from penstock.sqs.receive import build_message
from penstock.sqs.types import MessageAttributeValue

MAX_BYTES = 6 * 1_048_576
"""The maximum size of an event ("payload limit", 6 MB:
https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""

_START, _END = b'{"Records":[', b"]}"


class Record(NamedTuple):
    """A received message and its part of the event, in JSON."""

    row: ReceivedRow
    encoded: bytes


def build_record(
    row: ReceivedRow, queue: NamedQueue, receipts: ReceiptHandles, *, gathered: bool = False
) -> JsonObject:
    """Builds the message's record in the event.

    `gathered` means that the mapping has a batching window. With a batching window, AWS also writes the digest of an
    empty list of attributes (recorded at AWS).
    """
    message = build_message(row, queue, receipts.seal(queue, row.handle), ALL_ATTRIBUTES, ALL_ATTRIBUTES)
    record: JsonObject = {
        "messageId": message.message_id,
        "receiptHandle": message.receipt_handle,
        "body": message.body,
        "attributes": message.attributes,
        "messageAttributes": build_message_attributes(message.message_attributes or {}),
        "md5OfBody": message.md5_of_body,
    }
    if message.md5_of_message_attributes or gathered:
        record["md5OfMessageAttributes"] = message.md5_of_message_attributes
    region = read_region(queue.arn)
    return record | {"eventSource": "aws:sqs", "eventSourceARN": queue.arn, "awsRegion": region}


def build_message_attributes(attributes: Mapping[str, MessageAttributeValue]) -> dict[str, JsonObject]:
    """Returns message attributes in the form of a function's event."""
    members: dict[str, JsonObject] = {}
    for name, value in attributes.items():
        content = (
            {"binaryValue": value.binary_value}
            if value.binary_value is not None
            else {"stringValue": value.string_value}
        )
        members[name] = content | {"stringListValues": [], "binaryListValues": [], "dataType": value.data_type}
    return members


def encode_record(row: ReceivedRow, record: JsonObject) -> Record:
    return Record(row, msgspec.json.encode(record))


def split_events(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Splits the records, in order, into events of at most 6 MB."""
    part: list[Record] = []
    size = len(_START) + len(_END)
    for record in records:
        if part and size + len(record.encoded) + 1 > MAX_BYTES:
            yield part
            part, size = [], len(_START) + len(_END)
        part.append(record)
        size += len(record.encoded) + 1
    if part:
        yield part


def build_event(records: Sequence[Record]) -> bytes:
    """Returns the event in JSON."""
    return _START + b",".join(record.encoded for record in records) + _END
