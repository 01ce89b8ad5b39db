"""Tests batch processing of Powertools for AWS Lambda with messages from ReceiveMessage, as Lambda's poller passes
them.

The poller deletes messages that the function does not report as failed. The others stay until the end of the
visibility timeout, which is 0 in these tests. Events have the form in the Lambda developer guide, "Using Lambda with
Amazon SQS".
"""

from __future__ import annotations

import base64
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    SqsFifoPartialProcessor,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from tests.support.clients.service_client import Deployment, counts

# A receive may return only some of the messages, so a message may need as many polls as receives.
_POLLS = 20


class Poller:
    """Imitates Lambda's event source mapping of one queue, with ReportBatchItemFailures."""

    def __init__(self, sqs: Any, name: str, **attributes: str) -> None:
        self._sqs = sqs
        attributes["VisibilityTimeout"] = "600"
        self.url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])
        self._arn = found["Attributes"]["QueueArn"]

    def poll(self, processor: Any, handle: Any) -> None:
        """Receives once, invokes the function, deletes the successful messages and makes the rest visible."""
        answer = self._sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"]
        )
        messages = answer.get("Messages", [])
        if not messages:
            return
        event = {"Records": [self._record(message) for message in messages]}
        result = process_partial_response(event, record_handler=handle, processor=processor)
        failed = {failure["itemIdentifier"] for failure in result["batchItemFailures"]}
        self._finish([message for message in messages if message["MessageId"] not in failed])
        self._give_back([message for message in messages if message["MessageId"] in failed])

    def _record(self, message: dict[str, Any]) -> dict[str, Any]:
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message["Attributes"],
            "messageAttributes": {
                name: {
                    "dataType": value["DataType"],
                    "stringValue": value.get("StringValue"),
                    "binaryValue": base64.b64encode(value.get("BinaryValue", b"")).decode(),
                    "stringListValues": [],
                    "binaryListValues": [],
                }
                for name, value in message.get("MessageAttributes", {}).items()
            },
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self._arn,
            "awsRegion": self._arn.split(":")[3],
        }

    def _finish(self, messages: list[dict[str, Any]]) -> None:
        entries = [{"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"]} for m in messages]
        if entries:
            assert "Failed" not in self._sqs.delete_message_batch(QueueUrl=self.url, Entries=entries)

    def _give_back(self, messages: list[dict[str, Any]]) -> None:
        entries = [
            {"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"], "VisibilityTimeout": 0} for m in messages
        ]
        if entries:
            answer = self._sqs.change_message_visibility_batch(QueueUrl=self.url, Entries=entries)
            assert "Failed" not in answer


def test_records_that_failed_come_back_and_the_others_do_not(up: Deployment, sqs: Any) -> None:
    poller = Poller(sqs, "powertools")
    entries = [
        {
            "Id": str(n),
            "MessageBody": f'{{"n": {n}}}',
            "MessageAttributes": {
                "half": {"DataType": "Number", "StringValue": str(n / 2)},
                "bytes": {"DataType": "Binary", "BinaryValue": bytes([n, 255])},
            },
        }
        for n in range(10)
    ]
    sqs.send_message_batch(QueueUrl=poller.url, Entries=entries)
    handled: list[tuple[int, str, str, bytes]] = []

    def handle(record: SQSRecord) -> None:
        n, attempt = record.json_body["n"], record.attributes.approximate_receive_count
        if n in (2, 5) and attempt == "1":
            raise ValueError(n)
        half, data = record.message_attributes["half"], record.message_attributes["bytes"]
        assert half
        assert data
        handled.append((n, attempt, half.string_value or "", base64.b64decode(data.binary_value or "")))

    # Only a batch in which every message failed is an error of the function. The whole batch then comes back.
    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    for _ in range(_POLLS):
        poller.poll(processor, handle)
    assert sorted(handled) == [(n, "2" if n in (2, 5) else "1", str(n / 2), bytes([n, 255])) for n in range(10)]
    assert counts(up, "powertools") == ["0", "0", "0"]


@pytest.mark.parametrize("skip_group", [False, True])
def test_the_order_of_a_fifo_group_outlives_a_failure(up: Deployment, sqs: Any, skip_group: bool) -> None:
    queue = f"powertools-{skip_group}.fifo"
    poller = Poller(sqs, queue, FifoQueue="true", ContentBasedDeduplication="true")
    for body in ("a1", "b1", "a2", "b2", "a3"):
        sqs.send_message(QueueUrl=poller.url, MessageBody=body, MessageGroupId=body[0])
    handled: list[str] = []

    def handle(record: SQSRecord) -> None:
        if record.body == "a2" and record.attributes.approximate_receive_count == "1":
            raise ValueError(record.body)
        assert record.attributes.message_group_id == record.body[0]
        handled.append(record.body)

    processor = SqsFifoPartialProcessor(skip_group_on_error=skip_group)
    processor.raise_on_entire_batch_failure = False
    for _ in range(_POLLS):
        poller.poll(processor, handle)
    assert [body for body in handled if body[0] == "a"] == ["a1", "a2", "a3"]
    assert [body for body in handled if body[0] == "b"] == ["b1", "b2"]
    assert counts(up, queue) == ["0", "0", "0"]
