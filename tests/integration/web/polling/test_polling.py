"""Tests the worker `poll`: events, batches, failures, filters and order.

The sources are "Using Lambda with Amazon SQS", "Handling errors for an SQS event source in Lambda", and "Using event
filtering with an Amazon SQS event source" (AWS Lambda Developer Guide).
"""

import json
import threading
from collections import defaultdict
from typing import Any

import psycopg
import pytest
from aws_lambda_powertools.utilities.batch import (
    AsyncBatchProcessor,
    BatchProcessor,
    EventType,
    async_process_partial_response,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes import SQSEvent
from aws_lambda_powertools.utilities.parser.models import SqsModel

from tests.support.mappings.harness import Harness
from tests.support.wait import wait_until

REPORTS = ["ReportBatchItemFailures"]


def ignore(_: Any) -> None:
    """Implements a function that succeeds."""


def send(harness: Harness, url: str, *bodies: str, **members: Any) -> None:
    for body in bodies:
        harness.sqs.send_message(QueueUrl=url, MessageBody=body, **members)


# --- events ----------------------------------------------------------------------------------------------------------
def test_the_event_has_the_fields_of_the_documentation(harness: Harness) -> None:
    """The event contains each field of the example "Standard queue message event", and all values of the example except
    times.
    """
    url, arn = harness.queue()
    name = harness.function(ignore)
    harness.map(arn, name)
    sent = harness.sqs.send_message(
        QueueUrl=url, MessageBody="Test message.",
        MessageAttributes={
            "myAttribute": {"DataType": "String", "StringValue": "myValue"},
            "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
        },
    )  # fmt: skip
    harness.until_empty(url)
    (invocation,) = harness.invocations(name)
    assert invocation.headers["x-amz-invocation-type"] == "RequestResponse"
    (record,) = invocation.event["Records"]
    attributes = record.pop("attributes")
    assert record.pop("receiptHandle")
    assert record == {
        "messageId": sent["MessageId"],
        "body": "Test message.",
        "messageAttributes": {
            "myAttribute": {
                "stringValue": "myValue",
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": "String",
            },
            "bytes": {"binaryValue": "AAE=", "stringListValues": [], "binaryListValues": [], "dataType": "Binary"},
        },
        "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
        "md5OfMessageAttributes": sent["MD5OfMessageAttributes"],
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": "us-east-1",
    }
    assert set(attributes) == {
        "ApproximateReceiveCount", "SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp",
    }  # fmt: skip
    assert attributes["ApproximateReceiveCount"] == "1"


def test_the_event_of_a_fifo_queue(harness: Harness) -> None:
    """The event has the attributes of the example "FIFO queue message event"."""
    url, arn = harness.queue(FifoQueue="true")
    name = harness.function(ignore)
    harness.map(arn, name)
    send(harness, url, "m", MessageGroupId="1", MessageDeduplicationId="d")
    harness.until_empty(url)
    (record,) = harness.invocations(name)[0].event["Records"]
    assert "md5OfMessageAttributes" not in record
    assert set(record["attributes"]) == {
        "ApproximateReceiveCount", "SentTimestamp", "SequenceNumber", "MessageGroupId", "SenderId",
        "MessageDeduplicationId", "ApproximateFirstReceiveTimestamp",
    }  # fmt: skip


def test_powertools_reads_the_event(harness: Harness) -> None:
    """Powertools' data class and pydantic model accept Penstock's event."""
    url, arn = harness.queue()
    name = harness.function(ignore)
    harness.map(arn, name)
    attribute = {"n": {"DataType": "Number", "StringValue": "7"}}
    send(harness, url, '{"id": 1}', MessageAttributes=attribute)
    harness.until_empty(url)
    event = harness.invocations(name)[0].event
    (record,) = list(SQSEvent(event).records)
    number = record.message_attributes["n"]
    assert number is not None
    assert (record.json_body, number.string_value) == ({"id": 1}, "7")
    (parsed,) = SqsModel.model_validate(event).Records
    assert (parsed.eventSourceARN, parsed.messageAttributes["n"].stringValue) == (arn, "7")


# --- outcomes --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["BatchProcessor", "AsyncBatchProcessor"])
def test_powertools_reports_items_and_only_those_come_again(harness: Harness, kind: str) -> None:
    url, arn = harness.queue()

    def process(record: Any) -> None:
        if record.body == "bad" and record.attributes.approximate_receive_count == "1":
            harness.show_again(record.raw_event)
            raise ValueError(record.body)

    async def process_async(record: Any) -> None:
        process(record)

    def code(event: Any) -> Any:
        if kind == "BatchProcessor":
            return process_partial_response(event, process, BatchProcessor(EventType.SQS), None)
        return async_process_partial_response(event, process_async, AsyncBatchProcessor(EventType.SQS), None)

    send(harness, url, "good", "bad", "fine")
    name = harness.function(code)
    harness.map(arn, name, FunctionResponseTypes=REPORTS, BatchSize=10)
    harness.until_empty(url)
    assert sorted(harness.seen(name)) == ["bad", "bad", "fine", "good"]


@pytest.mark.parametrize(
    "response",
    [b"{", {"batchItemFailures": [{"itemIdentifier": ""}]}, {"batchItemFailures": [{"itemIdentifier": None}]},
     {"batchItemFailures": [{"badKeyName": "x"}]}],
)  # fmt: skip
def test_a_response_that_cannot_be_read_fails_the_batch(harness: Harness, response: Any) -> None:
    """ "Lambda treats a batch as a complete failure if …"."""
    url, arn = harness.queue()
    responses = iter([response])

    def code(event: Any) -> Any:
        if (given := next(responses, None)) is not None:
            harness.show_again(event["Records"][0])
        return given

    name = harness.function(code)
    harness.map(arn, name, FunctionResponseTypes=REPORTS)
    send(harness, url, "m")
    harness.until_empty(url)
    assert harness.seen(name) == ["m", "m"]


@pytest.mark.parametrize("response", [b"", None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}])
def test_a_response_that_means_success(harness: Harness, response: Any) -> None:
    """ "Lambda treats a batch as a complete success if …"."""
    url, arn = harness.queue()
    name = harness.function(lambda _: response)
    uuid = harness.map(arn, name, FunctionResponseTypes=REPORTS)
    send(harness, url, "m")
    harness.until_empty(url)
    assert harness.seen(name) == ["m"]
    wait_until(lambda: harness.last_result(uuid) == "OK")


def test_a_batch_that_always_fails_goes_to_the_dead_letters(harness: Harness) -> None:
    dead_url, dead_arn = harness.queue()
    policy = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 2})
    url, arn = harness.queue(RedrivePolicy=policy)

    def code(event: Any) -> None:
        harness.show_again(event["Records"][0])
        raise ValueError("always")

    name = harness.function(code)
    uuid = harness.map(arn, name)
    send(harness, url, "poison")
    wait_until(lambda: harness.depth(dead_url) == 1)
    assert harness.seen(name) == ["poison", "poison"]
    assert harness.last_result(uuid) == "PROBLEM: the function failed"


@pytest.mark.parametrize("reports", [False, True])
def test_the_error_of_an_invocation_is_the_error_of_the_dead_letter(harness: Harness, reports: bool) -> None:
    """With reports of items, only the reported message has an error."""
    dead_url, dead_arn = harness.queue()
    url, arn = harness.queue(RedrivePolicy=json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 1}))
    records: list[Any] = []

    def code(event: Any) -> Any:
        records.extend(event["Records"])
        if not reports:
            raise ValueError("no stock")
        return {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["messageId"]}]}

    uuid = harness.map(arn, harness.function(code), FunctionResponseTypes=REPORTS if reports else [])
    send(harness, url, "poison")
    with psycopg.connect(harness.dsn, autocommit=True) as db:
        query = "select count(*) from queue.failure f join queue.queues q using (queue_id) where q.arn = %s"
        wait_until(lambda: db.execute(query, (arn,)).fetchone() == (1,))
    harness.show_again(records[0])
    wait_until(lambda: harness.depth(dead_url) == 1)
    (letter,) = harness.sqs.receive_message(QueueUrl=dead_url, MessageAttributeNames=["All"])["Messages"]
    error = "the function reported the message in batchItemFailures" if reports else "no stock"
    assert letter["MessageAttributes"] == {"PenstockError": {"StringValue": error, "DataType": "String"}}
    wait_until(lambda: harness.last_result(uuid) == ("OK" if reports else "PROBLEM: the function failed"))


def test_without_reports_the_response_says_nothing(harness: Harness) -> None:
    url, arn = harness.queue()
    name = harness.function(lambda event: {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["messageId"]}]})
    harness.map(arn, name)
    send(harness, url, "m")
    harness.until_empty(url)
    assert harness.seen(name) == ["m"]


# --- batches ---------------------------------------------------------------------------------------------------------
def test_a_window_gathers_a_batch(harness: Harness) -> None:
    """The batch contains more than ten messages, so it needs several receives. AWS adds the digest of empty attributes
    only for mappings with a batching window (recorded at AWS).
    """
    url, arn = harness.queue()
    name = harness.function(ignore)
    harness.map(arn, name, BatchSize=25, MaximumBatchingWindowInSeconds=300)
    send(harness, url, *map(str, range(25)))
    harness.until_empty(url)
    (invocation,) = harness.invocations(name)
    assert len(invocation.bodies) == 25
    assert {record["md5OfMessageAttributes"] for record in invocation.event["Records"]} == {None}


def test_an_event_has_6_mb_at_most(harness: Harness) -> None:
    url, arn = harness.queue()
    name = harness.function(ignore)
    send(harness, url, *["x" * 1_000_000] * 8)
    harness.map(arn, name, BatchSize=11, MaximumBatchingWindowInSeconds=1)
    harness.until_empty(url)
    sizes = [len(invocation.bodies) for invocation in harness.invocations(name)]
    assert sum(sizes) == 8
    assert max(sizes) <= 6


def test_concurrency_has_a_limit(harness: Harness) -> None:
    url, arn = harness.queue()
    gate = threading.Event()
    name = harness.function(lambda _: gate.wait(30))
    send(harness, url, *map(str, range(6)))
    harness.functions.most_at_once = 0
    harness.map(arn, name, BatchSize=1, ScalingConfig={"MaximumConcurrency": 2})
    harness.functions.wait(lambda: len(harness.invocations(name)) == 2)
    gate.set()
    harness.until_empty(url)
    assert sorted(harness.seen(name)) == list("012345")
    assert harness.functions.most_at_once == 2


def test_a_filter_deletes_what_it_leaves_out(harness: Harness) -> None:
    url, arn = harness.queue()
    name = harness.function(ignore)
    pattern = json.dumps({"body": {"kind": ["order"], "n": [{"numeric": [">", 5]}]}})
    send(harness, url, '{"kind": "order", "n": 6}', '{"kind": "order", "n": 5}', '{"kind": "other"}', "plain text")
    harness.map(arn, name, FilterCriteria={"Filters": [{"Pattern": pattern}]})
    harness.until_empty(url)
    assert harness.seen(name) == ['{"kind": "order", "n": 6}']


def test_a_filter_deletes_no_message_because_of_a_parser(harness: Harness) -> None:
    """RFC 8259 allows lone surrogates, huge numbers and deep nesting in JSON. If a message is too complex for the
    filter, the service passes the message to the function."""
    url, arn = harness.queue()
    name = harness.function(ignore)
    passing = [
        r'{"a":"thanks \ud83d","b":1}',
        '{"a":1e400,"b":1}',
        r'{"a":"x\u0000","b":1}',
        '{"b":2,"a":' + "[" * 2_000 + "]" * 2_000 + "}",
        '{"b":2,"a":' + "[" * 40 + "]" * 40 + "}",
    ]
    send(harness, url, *passing, r'{"a":"\ud83d","b":2}', '{"a":1e400}', '{"a":"\\ud8","b":1}')
    harness.map(arn, name, FilterCriteria={"Filters": [{"Pattern": '{"body":{"b":[1]}}'}]})
    harness.until_empty(url)
    assert sorted(harness.seen(name)) == sorted(passing)


def test_a_filter_of_text_and_of_what_is_not_the_body(harness: Harness) -> None:
    url, arn = harness.queue()
    name = harness.function(ignore)
    patterns = [{"body": ["yes"]}, {"messageAttributes": {"k": {"stringValue": ["v"]}}}]
    filters = [{"Pattern": json.dumps(pattern)} for pattern in patterns]
    harness.map(arn, name, FilterCriteria={"Filters": filters})
    send(harness, url, "yes", "no")
    send(harness, url, "by attribute", MessageAttributes={"k": {"DataType": "String", "StringValue": "v"}})
    harness.until_empty(url)
    assert sorted(harness.seen(name)) == ["by attribute", "yes"]


# --- order -----------------------------------------------------------------------------------------------------------
def test_fifo_groups_keep_their_order_through_failures(harness: Harness) -> None:
    """The messages of a group succeed in order, even if some invocations fail."""
    url, arn = harness.queue(FifoQueue="true", ContentBasedDeduplication="true")
    handled: dict[str, list[int]] = defaultdict(list)
    failed: set[str] = set()

    def code(event: Any) -> Any:
        failures = []
        stopped = False
        for record in event["Records"]:
            group, number = record["body"].split("-")
            if stopped or (int(number) % 7 == 3 and record["body"] not in failed):
                failed.add(record["body"])
                harness.show_again(record)
                failures.append({"itemIdentifier": record["messageId"]})
                stopped = True
            else:
                handled[group].append(int(number))
        return {"batchItemFailures": failures}

    for number in range(12):
        for group in "abcd":
            send(harness, url, f"{group}-{number}", MessageGroupId=group)
    harness.map(arn, harness.function(code), FunctionResponseTypes=REPORTS, ScalingConfig={"MaximumConcurrency": 4})
    harness.until_empty(url)
    assert handled == {group: list(range(12)) for group in "abcd"}


# --- targets ---------------------------------------------------------------------------------------------------------
def test_a_url_gets_the_same_event(harness: Harness) -> None:
    url, arn = harness.queue()
    harness.functions.functions["/hook"] = ignore
    uuid = harness.map(arn, f"{harness.functions.url}/hook")
    send(harness, url, "m")
    harness.until_empty(url)
    assert harness.seen("/hook") == ["m"]
    assert harness.get(uuid)["FunctionArn"] == f"{harness.functions.url}/hook"


def test_changes_take_effect(harness: Harness) -> None:
    """A disabled mapping does not invoke its function. After a change of the function, the mapping invokes only the new
    function.
    """
    url, arn = harness.queue()
    old, new = harness.function(ignore), harness.function(ignore)
    uuid = harness.map(arn, old, Enabled=False)
    send(harness, url, "m")
    harness.client.update_event_source_mapping(UUID=uuid, FunctionName=new, Enabled=True)
    harness.until_empty(url)
    assert (harness.seen(old), harness.seen(new)) == ([], ["m"])
