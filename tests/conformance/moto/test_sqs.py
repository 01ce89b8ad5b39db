"""Sends the same calls to Penstock and to moto, an independent implementation of the same documentation.

The expected responses never come from moto. Other modules contain them with their sources. This module lists each
difference between Penstock and moto with its reason. A test also fails if a listed difference no longer exists.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.conformance.moto import Call, attribute, call_outcome, moto_outcome
from tests.support.conformance.sqs import Sqs

MIB = 1_048_576
LEGACY = "AWS.SimpleQueueService."
FIFO = {"FifoQueue": "true"}


def queue(sqs: Any, name: str, **attributes: str) -> str:
    return str(sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])


def received(sqs: Any, url: str, **more: Any) -> str:
    """Sends and receives a message, and returns the handle."""
    sqs.send_message(QueueUrl=url, MessageBody="x")
    return str(sqs.receive_message(QueueUrl=url, **more)["Messages"][0]["ReceiptHandle"])


def entries(*ids: str, body: str = "x") -> list[dict[str, str]]:
    return [{"Id": entry_id, "MessageBody": body} for entry_id in ids]


# --- what is done ----------------------------------------------------------------------------------------------------
def create_again(sqs: Any, name: str) -> None:
    queue(sqs, name, DelaySeconds="1")
    queue(sqs, name, DelaySeconds="1")


def create_again_different(sqs: Any, name: str) -> None:
    queue(sqs, name, DelaySeconds="1")
    queue(sqs, name, DelaySeconds="2")


def create_again_without_attributes(sqs: Any, name: str) -> None:
    queue(sqs, name, DelaySeconds="1")
    queue(sqs, name)


def create_just_deleted(sqs: Any, name: str) -> None:
    sqs.delete_queue(QueueUrl=queue(sqs, name))
    queue(sqs, name)


def create_and_find(sqs: Any, name: str) -> None:
    queue(sqs, name)
    sqs.get_queue_url(QueueName=name)


def redrive_to_nobody(sqs: Any, name: str) -> None:
    arn = "arn:aws:sqs:us-east-1:000000000000:nobody-made-it"
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    queue(sqs, name, RedrivePolicy=policy)


def purge_twice(sqs: Any, name: str) -> None:
    url = queue(sqs, name)
    sqs.purge_queue(QueueUrl=url)
    sqs.purge_queue(QueueUrl=url)


def delete_message_twice(sqs: Any, name: str) -> None:
    url = queue(sqs, name)
    handle = received(sqs, url)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)


def delete_with_an_old_handle(sqs: Any, name: str) -> None:
    url = queue(sqs, name)
    handle = received(sqs, url, VisibilityTimeout=0)
    sqs.receive_message(QueueUrl=url)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)


def delete_with_a_foreign_handle(sqs: Any, name: str) -> None:
    handle = received(sqs, queue(sqs, name))
    sqs.delete_message(QueueUrl=queue(sqs, f"{name}-other"), ReceiptHandle=handle)


def change_after_deletion(sqs: Any, name: str) -> None:
    url = queue(sqs, name)
    handle = received(sqs, url)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=1)


def change_to(seconds: int) -> Callable[[Any, str], None]:
    def action(sqs: Any, name: str) -> None:
        url = queue(sqs, name)
        handle = received(sqs, url)
        sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=seconds)

    return action


def on(method: str, *, fifo: bool = False, missing: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    """Returns a call on a new or missing queue."""

    def action(sqs: Any, name: str) -> None:
        url = queue(sqs, f"{name}.fifo", **FIFO) if fifo else queue(sqs, name)
        getattr(sqs, method)(QueueUrl=f"{url}-none" if missing else url, **parameters)

    return action


def send(*, fifo: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    return on("send_message", fifo=fifo, **{"MessageBody": "x", **parameters})


def send_batch(*ids: str, body: str = "x") -> Callable[[Any, str], None]:
    return on("send_message_batch", Entries=entries(*ids, body=body))


def create(suffix: str, **attributes: str) -> Callable[[Any, str], None]:
    return lambda sqs, name: sqs.create_queue(QueueName=name + suffix, Attributes=attributes)


CASES = (
    Call("create again", create_again),
    Call("create again, different", create_again_different),
    Call("create again, no attributes", create_again_without_attributes),
    Call("create what was just deleted", create_just_deleted,
         "ok", "moto lets a deleted name be used again at once"),
    Call("get the url", create_and_find),
    Call("create a bad name", create(" x")),
    Call("create .fifo without FifoQueue", create(".fifo"),
         "ok", "moto accepts the name; AWS refuses it (botocore issue 3058)"),
    Call("create FIFO without .fifo", create("", **FIFO)),
    Call("create with an unknown attribute", create("", Colour="red"),
         "ok", "moto stores attributes that it does not know"),
    Call("create with a value out of range", create("", DelaySeconds="901"),
         "ok", "moto checks no ranges of queue attributes"),
    Call("redrive to no queue", redrive_to_nobody,
         LEGACY + "NonExistentQueue", "AWS speaks of the parameter: `Reason: Dead letter target does not exist.`"),
    Call("delete no queue", on("delete_queue", missing=True)),
    Call("purge twice", purge_twice),
    Call("read an unknown attribute", on("get_queue_attributes", AttributeNames=["Colour"])),
    Call("set an unknown attribute", on("set_queue_attributes", Attributes={"Colour": "red"}),
         "ok", "moto stores attributes that it does not know"),
    Call("list pages of 0", lambda sqs, name: sqs.list_queues(MaxResults=0),
         "ok", "moto does not check MaxResults"),
    Call("send to no queue", on("send_message", missing=True, MessageBody="x")),
    Call("send nothing", send(MessageBody=""),
         "ok", "moto accepts an empty body"),
    Call("send a control character", send(MessageBody="\x01"),
         "ok", "moto accepts control characters"),
    Call("send 1 MiB", send(MessageBody="x" * MIB)),
    Call("send 1 MiB + 1", send(MessageBody="x" * (MIB + 1))),
    Call("send with a delay too long", send(DelaySeconds=901)),
    Call("send with a type unknown", send(MessageAttributes=attribute("a", "Text", "x"))),
    Call("send with an empty value", send(MessageAttributes=attribute("a", "String", "")),
         "ok", "moto accepts an empty value"),
    Call("send with a reserved name", send(MessageAttributes=attribute("AWS.a", "String", "x")),
         "ok", "moto accepts the reserved prefixes"),
    Call("send a deduplication id to standard", send(MessageDeduplicationId="d"),
         "ok", "moto ignores it"),
    Call("send a group to standard", send(MessageGroupId="g")),
    Call("send to FIFO without group", send(fifo=True)),
    Call("send to FIFO without deduplication", send(fifo=True, MessageGroupId="g")),
    Call("send to FIFO with a delay", send(fifo=True, MessageGroupId="g", MessageDeduplicationId="d", DelaySeconds=1)),
    Call("batch of none", send_batch()),
    Call("batch of eleven", send_batch(*"abcdefghijk")),
    Call("batch with an id twice", send_batch("a", "a")),
    Call("batch with a bad id", send_batch("a b")),
    Call("batch too long", send_batch("a", "b", body="x" * (MIB // 2 + 1))),
    Call("batch to no queue", on("send_message_batch", missing=True, Entries=entries("a"))),
    Call("receive from no queue", on("receive_message", missing=True)),
    Call("receive eleven", on("receive_message", MaxNumberOfMessages=11)),
    Call("receive and wait too long", on("receive_message", WaitTimeSeconds=21)),
    Call("receive and hide too long", on("receive_message", VisibilityTimeout=43_201)),
    Call("delete with a forged handle", on("delete_message", ReceiptHandle="forged")),
    Call("delete twice", delete_message_twice),
    Call("delete with an old handle", delete_with_an_old_handle),
    Call("delete with a foreign handle", delete_with_a_foreign_handle),
    Call("change with a forged handle", on("change_message_visibility", ReceiptHandle="forged", VisibilityTimeout=1)),
    Call("change after deletion", change_after_deletion,
         "ReceiptHandleIsInvalid", "AWS's recorded responses: InvalidParameterValue (mapbox/ecs-watchbot issue 135)"),
    Call("change to 0", change_to(0)),
    Call("change beyond 12 hours", change_to(43_201)),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_moto_agrees(sqs: Sqs, case: Call) -> None:
    ours = call_outcome(sqs.client, case, sqs.name())
    assert moto_outcome(case) == (ours if case.moto is None else case.moto)
    assert case.moto != ours


def test_every_difference_has_a_reason() -> None:
    assert [case.name for case in CASES if bool(case.moto) != bool(case.why)] == []


# --- newer sqs actions -----------------------------------------------------------------------------------------------
# Compares tags, permissions, dead-letter sources and message move tasks with moto, by the method in the module's
# docstring.


ARN = "arn:aws:sqs:us-east-1:000000000000:"
NOT_THERE = "moto knows no message move tasks"


# --- what is done ----------------------------------------------------------------------------------------------------
def permit(*, missing: bool = False, **changes: Any) -> Callable[[Any, str], None]:
    grant = {"Label": "partner", "AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"], **changes}
    return on("add_permission", missing=missing, **grant)


def permit_twice(sqs: Any, name: str) -> None:
    url = queue(sqs, name)
    for action in ("SendMessage", "ReceiveMessage"):
        sqs.add_permission(QueueUrl=url, Label="a", AWSAccountIds=["111122223333"], Actions=[action])


def permit_and_forbid(sqs: Any, name: str) -> None:
    url = queue(sqs, name)
    sqs.add_permission(QueueUrl=url, Label="a", AWSAccountIds=["111122223333"], Actions=["SendMessage"])
    sqs.remove_permission(QueueUrl=url, Label="a")


def tag_and_untag(sqs: Any, name: str) -> None:
    url = queue(sqs, name)
    sqs.tag_queue(QueueUrl=url, Tags={"a": "1"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["a", "b"])


def tag_to_the_full(sqs: Any, name: str) -> None:
    """Sets fifty tags, and then one more tag."""
    url = queue(sqs, name)
    sqs.tag_queue(QueueUrl=url, Tags={str(number): "x" for number in range(50)})
    sqs.tag_queue(QueueUrl=url, Tags={"one more": "x"})


def with_sources(action: Callable[[Any, str, str], Any]) -> Callable[[Any, str], None]:
    """Calls `action` with the URL and the ARN of a queue that receives the dead letters of two other queues."""

    def whole(sqs: Any, name: str) -> None:
        url = queue(sqs, name)
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
        for source in ("one", "two"):
            queue(sqs, f"{name}-{source}", RedrivePolicy=policy)
        action(sqs, url, arn)

    return whole


def sources(**more: Any) -> Callable[[Any, str], None]:
    return with_sources(lambda sqs, url, arn: sqs.list_dead_letter_source_queues(QueueUrl=url, **more))


def start(**more: Any) -> Callable[[Any, str], None]:
    return with_sources(lambda sqs, url, arn: sqs.start_message_move_task(SourceArn=arn, **more))


def start_twice(sqs: Any, url: str, arn: str) -> None:
    sqs.start_message_move_task(SourceArn=arn)
    sqs.start_message_move_task(SourceArn=arn)


def start_and_cancel(sqs: Any, url: str, arn: str) -> None:
    handle = sqs.start_message_move_task(SourceArn=arn)["TaskHandle"]
    sqs.cancel_message_move_task(TaskHandle=handle)


NEWER_CASES = (
    Call("tag and untag", tag_and_untag),
    Call("tag no queue", on("tag_queue", missing=True, Tags={"a": "1"})),
    Call("51 tags at once", on("tag_queue", Tags={str(number): "x" for number in range(51)})),
    Call("51 tags in two requests", tag_to_the_full,
         "ok", "moto counts the tags of a request, not those of the queue (Developer Guide: 50 a queue)"),
    Call("an empty key", on("tag_queue", Tags={"": "x"}),
         "ok", "moto checks no keys (Developer Guide: 1 to 128 characters)"),
    Call("a long key", on("tag_queue", Tags={"k" * 129: "x"}),
         "ok", "moto checks no keys"),
    Call("a long value", on("tag_queue", Tags={"k": "v" * 257}),
         "ok", "moto checks no values (Developer Guide: at most 256 characters)"),
    Call("untag nothing", on("untag_queue", TagKeys=[]),
         "InvalidParameterValue", "TagKeys is required (API reference), and Query cannot write an empty list"),
    Call("untag no queue", on("untag_queue", missing=True, TagKeys=["a"])),
    Call("tags of no queue", on("list_queue_tags", missing=True)),
    Call("permit", permit()),
    Call("permit everything", permit(Actions=["*"])),
    Call("permit on no queue", permit(missing=True)),
    Call("permit twice under a label", permit_twice),
    Call("permit nothing", permit(Actions=[])),
    Call("permit no account", permit(AWSAccountIds=[]),
         "InvalidParameterValue", "AWSAccountIds is required (API reference): MissingParameter"),
    Call("permit somebody who is no account", permit(AWSAccountIds=["1"]),
         "ok", "moto takes any text for an account (API reference: 12 digits)"),
    Call("permit what is the owner's", permit(Actions=["DeleteQueue"])),
    Call("permit an unknown action", permit(Actions=["Fly"])),
    Call("permit eight actions", permit(Actions=["SendMessage"] * 8)),
    Call("permit under a bad label", permit(Label="a b"),
         "ok", "moto takes any label (API reference: 80 letters, digits, hyphens, underscores)"),
    Call("forbid again", permit_and_forbid),
    Call("forbid what was not permitted", on("remove_permission", Label="nobody")),
    Call("forbid on no queue", on("remove_permission", missing=True, Label="nobody")),
    Call("sources", sources()),
    Call("sources of no queue", on("list_dead_letter_source_queues", missing=True)),
    Call("sources in pages of one", sources(MaxResults=1)),
    Call("sources in pages of 1,001", sources(MaxResults=1001),
         "ok", "moto does not look at MaxResults (API reference: 1 to 1,000)"),
    Call("sources after a page that never was", sources(MaxResults=1, NextToken="?"),
         "ok", "moto does not look at NextToken"),
    Call("move", start(), "not implemented", NOT_THERE),
    Call("move from no queue", lambda sqs, name: sqs.start_message_move_task(SourceArn=f"{ARN}{name}"),
         "not implemented", NOT_THERE),
    Call("move to no queue", start(DestinationArn=f"{ARN}nobody-made-it"), "not implemented", NOT_THERE),
    Call("move too fast", start(MaxNumberOfMessagesPerSecond=501), "not implemented", NOT_THERE),
    Call("move twice at a time", with_sources(start_twice), "not implemented", NOT_THERE),
    Call("move and cancel", with_sources(start_and_cancel), "not implemented", NOT_THERE),
    Call("cancel what never ran", lambda sqs, name: sqs.cancel_message_move_task(TaskHandle="?"),
         "not implemented", NOT_THERE),
    Call("tasks of a queue", with_sources(lambda sqs, url, arn: sqs.list_message_move_tasks(SourceArn=arn)),
         "not implemented", NOT_THERE),
    Call("tasks of no queue", lambda sqs, name: sqs.list_message_move_tasks(SourceArn=f"{ARN}{name}"),
         "not implemented", NOT_THERE),
)  # fmt: skip


@pytest.mark.parametrize("case", NEWER_CASES, ids=lambda case: case.name)
def test_moto_agrees_about_newer_actions(sqs: Sqs, case: Call) -> None:
    ours = call_outcome(sqs.client, case, sqs.name())
    assert moto_outcome(case) == (ours if case.moto is None else case.moto)
    assert case.moto != ours


def test_every_difference_of_newer_actions_has_a_reason() -> None:
    assert [case.name for case in NEWER_CASES if bool(case.moto) != bool(case.why)] == []
