"""What the worker `poll` does with messages: events, batches, failures, filters, order.

Sources: "Using Lambda with Amazon SQS", "Handling errors for an SQS event source in Lambda", "Using event filtering
with an Amazon SQS event source" (AWS Lambda Developer Guide).
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from typing import Any

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

from tests.support.wait import wait_until

from .conftest import World

REPORTS = ["ReportBatchItemFailures"]


def ignore(_: Any) -> None:
    """A function that succeeds."""


def send(world: World, url: str, *bodies: str, **members: Any) -> None:
    for body in bodies:
        world.sqs.send_message(QueueUrl=url, MessageBody=body, **members)


# --- events ----------------------------------------------------------------------------------------------------------
def test_the_event_has_the_fields_of_the_documentation(world: World) -> None:
    """The example "Standard queue message event", field by field; its values where they do not depend on the moment."""
    url, arn = world.queue()
    name = world.function(ignore)
    world.map(arn, name)
    sent = world.sqs.send_message(
        QueueUrl=url, MessageBody="Test message.",
        MessageAttributes={
            "myAttribute": {"DataType": "String", "StringValue": "myValue"},
            "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
        },
    )  # fmt: skip
    world.until_empty(url)
    (invocation,) = world.invocations(name)
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
            "bytes": {
                "binaryValue": "AAE=",
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": "Binary",
            },
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


def test_the_event_of_a_fifo_queue(world: World) -> None:
    """The attributes of the example "FIFO queue message event"."""
    url, arn = world.queue(FifoQueue="true")
    name = world.function(ignore)
    world.map(arn, name)
    send(world, url, "m", MessageGroupId="1", MessageDeduplicationId="d")
    world.until_empty(url)
    (record,) = world.invocations(name)[0].event["Records"]
    assert set(record["attributes"]) == {
        "ApproximateReceiveCount", "SentTimestamp", "SequenceNumber", "MessageGroupId", "SenderId",
        "MessageDeduplicationId", "ApproximateFirstReceiveTimestamp",
    }  # fmt: skip


def test_powertools_reads_the_event(world: World) -> None:
    """Its data class and its pydantic model accept what we send."""
    url, arn = world.queue()
    name = world.function(ignore)
    world.map(arn, name)
    attribute = {"n": {"DataType": "Number", "StringValue": "7"}}
    send(world, url, '{"id": 1}', MessageAttributes=attribute)
    world.until_empty(url)
    event = world.invocations(name)[0].event
    (record,) = list(SQSEvent(event).records)
    number = record.message_attributes["n"]
    assert number is not None
    assert (record.json_body, number.string_value) == ({"id": 1}, "7")
    (parsed,) = SqsModel.model_validate(event).Records
    assert (parsed.eventSourceARN, parsed.messageAttributes["n"].stringValue) == (arn, "7")


# --- outcomes --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["BatchProcessor", "AsyncBatchProcessor"])
def test_powertools_reports_items_and_only_those_come_again(world: World, kind: str) -> None:
    url, arn = world.queue()

    def one(record: Any) -> None:
        if record.body == "bad" and record.attributes.approximate_receive_count == "1":
            world.show_again(record.raw_event)
            raise ValueError(record.body)

    async def one_async(record: Any) -> None:
        one(record)

    def code(event: Any) -> Any:
        if kind == "BatchProcessor":
            return process_partial_response(event, one, BatchProcessor(EventType.SQS), None)
        return async_process_partial_response(event, one_async, AsyncBatchProcessor(EventType.SQS), None)

    send(world, url, "good", "bad", "fine")
    name = world.function(code)
    world.map(arn, name, FunctionResponseTypes=REPORTS, BatchSize=10)
    world.until_empty(url)
    assert sorted(world.seen(name)) == ["bad", "bad", "fine", "good"]


@pytest.mark.parametrize(
    "answer", [b"{", {"batchItemFailures": [{"itemIdentifier": ""}]}, {"batchItemFailures": [{"itemIdentifier": None}]},
               {"batchItemFailures": [{"badKeyName": "x"}]}],
)  # fmt: skip
def test_an_answer_that_cannot_be_read_fails_the_batch(world: World, answer: Any) -> None:
    """ "Lambda treats a batch as a complete failure if …"."""
    url, arn = world.queue()
    answers = iter([answer])

    def code(event: Any) -> Any:
        if (given := next(answers, None)) is not None:
            world.show_again(event["Records"][0])
        return given

    name = world.function(code)
    world.map(arn, name, FunctionResponseTypes=REPORTS)
    send(world, url, "m")
    world.until_empty(url)
    assert world.seen(name) == ["m", "m"]


@pytest.mark.parametrize("answer", [b"", None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}])
def test_an_answer_that_means_success(world: World, answer: Any) -> None:
    """ "Lambda treats a batch as a complete success if …"."""
    url, arn = world.queue()
    name = world.function(lambda _: answer)
    uuid = world.map(arn, name, FunctionResponseTypes=REPORTS)
    send(world, url, "m")
    world.until_empty(url)
    assert world.seen(name) == ["m"]
    wait_until(lambda: world.get(uuid)["LastProcessingResult"] == "OK")


def test_a_batch_that_always_fails_goes_to_the_dead_letters(world: World) -> None:
    dead_url, dead_arn = world.queue()
    policy = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 2})
    url, arn = world.queue(RedrivePolicy=policy)

    def code(event: Any) -> None:
        world.show_again(event["Records"][0])
        raise ValueError("always")

    name = world.function(code)
    uuid = world.map(arn, name)
    send(world, url, "poison")
    wait_until(lambda: world.depth(dead_url) == 1)
    assert world.seen(name) == ["poison", "poison"]
    assert world.get(uuid)["LastProcessingResult"] == "PROBLEM: the function failed"


def test_without_reports_the_answer_says_nothing(world: World) -> None:
    url, arn = world.queue()
    name = world.function(
        lambda event: {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["messageId"]}]}
    )
    world.map(arn, name)
    send(world, url, "m")
    world.until_empty(url)
    assert world.seen(name) == ["m"]


# --- batches ---------------------------------------------------------------------------------------------------------
def test_a_window_gathers_a_batch(world: World) -> None:
    """More than ten messages, which one receive does not bring."""
    url, arn = world.queue()
    name = world.function(ignore)
    world.map(arn, name, BatchSize=25, MaximumBatchingWindowInSeconds=300)
    send(world, url, *map(str, range(25)))
    world.until_empty(url)
    assert [len(one.bodies) for one in world.invocations(name)] == [25]


def test_an_event_has_6_mb_at_most(world: World) -> None:
    url, arn = world.queue()
    name = world.function(ignore)
    send(world, url, *["x" * 1_000_000] * 8)
    world.map(arn, name, BatchSize=11, MaximumBatchingWindowInSeconds=1)
    world.until_empty(url)
    sizes = [len(one.bodies) for one in world.invocations(name)]
    assert sum(sizes) == 8
    assert max(sizes) <= 6


def test_concurrency_has_a_limit(world: World) -> None:
    url, arn = world.queue()
    gate = threading.Event()
    name = world.function(lambda _: gate.wait(30))
    send(world, url, *map(str, range(6)))
    world.functions.most_at_once = 0
    world.map(arn, name, BatchSize=1, ScalingConfig={"MaximumConcurrency": 2})
    world.functions.wait(lambda: len(world.invocations(name)) == 2)
    gate.set()
    world.until_empty(url)
    assert sorted(world.seen(name)) == list("012345")
    assert world.functions.most_at_once == 2


def test_a_filter_deletes_what_it_leaves_out(world: World) -> None:
    url, arn = world.queue()
    name = world.function(ignore)
    pattern = json.dumps({"body": {"kind": ["order"], "n": [{"numeric": [">", 5]}]}})
    send(
        world,
        url,
        '{"kind": "order", "n": 6}',
        '{"kind": "order", "n": 5}',
        '{"kind": "other"}',
        "plain text",
    )
    world.map(arn, name, FilterCriteria={"Filters": [{"Pattern": pattern}]})
    world.until_empty(url)
    assert world.seen(name) == ['{"kind": "order", "n": 6}']


def test_a_filter_of_text_and_of_what_is_not_the_body(world: World) -> None:
    url, arn = world.queue()
    name = world.function(ignore)
    patterns = [{"body": ["yes"]}, {"messageAttributes": {"k": {"stringValue": ["v"]}}}]
    filters = [{"Pattern": json.dumps(pattern)} for pattern in patterns]
    world.map(arn, name, FilterCriteria={"Filters": filters})
    send(world, url, "yes", "no")
    send(world, url, "by attribute", MessageAttributes={"k": {"DataType": "String", "StringValue": "v"}})
    world.until_empty(url)
    assert sorted(world.seen(name)) == ["by attribute", "yes"]


# --- order -----------------------------------------------------------------------------------------------------------
def test_fifo_groups_keep_their_order_through_failures(world: World) -> None:
    """Each message succeeds in the order of its group, whatever fails meanwhile."""
    url, arn = world.queue(FifoQueue="true", ContentBasedDeduplication="true")
    handled: dict[str, list[int]] = defaultdict(list)
    failed: set[str] = set()

    def code(event: Any) -> Any:
        failures = []
        stopped = False
        for record in event["Records"]:
            group, number = record["body"].split("-")
            if stopped or (int(number) % 7 == 3 and record["body"] not in failed):
                failed.add(record["body"])
                world.show_again(record)
                failures.append({"itemIdentifier": record["messageId"]})
                stopped = True
            else:
                handled[group].append(int(number))
        return {"batchItemFailures": failures}

    for number in range(12):
        for group in "abcd":
            send(world, url, f"{group}-{number}", MessageGroupId=group)
    world.map(
        arn, world.function(code), FunctionResponseTypes=REPORTS, ScalingConfig={"MaximumConcurrency": 4}
    )
    world.until_empty(url)
    assert handled == {group: list(range(12)) for group in "abcd"}


# --- targets ---------------------------------------------------------------------------------------------------------
def test_a_url_gets_the_same_event(world: World) -> None:
    url, arn = world.queue()
    world.functions.functions["/hook"] = ignore
    uuid = world.map(arn, f"{world.functions.url}/hook")
    send(world, url, "m")
    world.until_empty(url)
    assert world.seen("/hook") == ["m"]
    assert world.get(uuid)["FunctionArn"] == f"{world.functions.url}/hook"


def test_changes_take_effect(world: World) -> None:
    """A mapping that is off gets nothing, its new function gets what the old one does not."""
    url, arn = world.queue()
    old, new = world.function(ignore), world.function(ignore)
    uuid = world.map(arn, old, Enabled=False)
    send(world, url, "m")
    world.client.update_event_source_mapping(UUID=uuid, FunctionName=new, Enabled=True)
    world.until_empty(url)
    assert (world.seen(old), world.seen(new)) == ([], ["m"])
