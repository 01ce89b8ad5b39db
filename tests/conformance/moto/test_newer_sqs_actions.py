"""moto as a second voice on tags, permissions, dead-letter sources and message move tasks; how is in test_sqs.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.moto.test_sqs import Case, on, outcome, outcome_of_moto, queue
from tests.support.conformance.sqs import Sqs

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
    """Fifty tags, and then one."""
    url = queue(sqs, name)
    sqs.tag_queue(QueueUrl=url, Tags={str(number): "x" for number in range(50)})
    sqs.tag_queue(QueueUrl=url, Tags={"one more": "x"})


def with_sources(action: Callable[[Any, str, str], Any]) -> Callable[[Any, str], None]:
    """Done to a queue that two others send their dead letters to; `action` gets its URL and ARN."""

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


CASES = (
    Case("tag and untag", tag_and_untag),
    Case("tag no queue", on("tag_queue", missing=True, Tags={"a": "1"})),
    Case("51 tags at once", on("tag_queue", Tags={str(number): "x" for number in range(51)})),
    Case("51 tags in two requests", tag_to_the_full,
         "ok", "moto counts the tags of a request, not those of the queue (Developer Guide: 50 a queue)"),
    Case("an empty key", on("tag_queue", Tags={"": "x"}),
         "ok", "moto checks no keys (Developer Guide: 1 to 128 characters)"),
    Case("a long key", on("tag_queue", Tags={"k" * 129: "x"}),
         "ok", "moto checks no keys"),
    Case("a long value", on("tag_queue", Tags={"k": "v" * 257}),
         "ok", "moto checks no values (Developer Guide: at most 256 characters)"),
    Case("untag nothing", on("untag_queue", TagKeys=[]),
         "InvalidParameterValue", "TagKeys is required (API reference), and Query cannot write an empty list"),
    Case("untag no queue", on("untag_queue", missing=True, TagKeys=["a"])),
    Case("tags of no queue", on("list_queue_tags", missing=True)),
    Case("permit", permit()),
    Case("permit everything", permit(Actions=["*"])),
    Case("permit on no queue", permit(missing=True)),
    Case("permit twice under a label", permit_twice),
    Case("permit nothing", permit(Actions=[])),
    Case("permit no account", permit(AWSAccountIds=[]),
         "InvalidParameterValue", "AWSAccountIds is required (API reference): MissingParameter"),
    Case("permit somebody who is no account", permit(AWSAccountIds=["1"]),
         "ok", "moto takes any text for an account (API reference: 12 digits)"),
    Case("permit what is the owner's", permit(Actions=["DeleteQueue"])),
    Case("permit an unknown action", permit(Actions=["Fly"])),
    Case("permit eight actions", permit(Actions=["SendMessage"] * 8)),
    Case("permit under a bad label", permit(Label="a b"),
         "ok", "moto takes any label (API reference: 80 letters, digits, hyphens, underscores)"),
    Case("forbid again", permit_and_forbid),
    Case("forbid what was not permitted", on("remove_permission", Label="nobody")),
    Case("forbid on no queue", on("remove_permission", missing=True, Label="nobody")),
    Case("sources", sources()),
    Case("sources of no queue", on("list_dead_letter_source_queues", missing=True)),
    Case("sources in pages of one", sources(MaxResults=1)),
    Case("sources in pages of 1,001", sources(MaxResults=1001),
         "ok", "moto does not look at MaxResults (API reference: 1 to 1,000)"),
    Case("sources after a page that never was", sources(MaxResults=1, NextToken="?"),
         "ok", "moto does not look at NextToken"),
    Case("move", start(), "not implemented", NOT_THERE),
    Case("move from no queue", lambda sqs, name: sqs.start_message_move_task(SourceArn=f"{ARN}{name}"),
         "not implemented", NOT_THERE),
    Case("move to no queue", start(DestinationArn=f"{ARN}nobody-made-it"), "not implemented", NOT_THERE),
    Case("move too fast", start(MaxNumberOfMessagesPerSecond=501), "not implemented", NOT_THERE),
    Case("move twice at a time", with_sources(start_twice), "not implemented", NOT_THERE),
    Case("move and cancel", with_sources(start_and_cancel), "not implemented", NOT_THERE),
    Case("cancel what never ran", lambda sqs, name: sqs.cancel_message_move_task(TaskHandle="?"),
         "not implemented", NOT_THERE),
    Case("tasks of a queue", with_sources(lambda sqs, url, arn: sqs.list_message_move_tasks(SourceArn=arn)),
         "not implemented", NOT_THERE),
    Case("tasks of no queue", lambda sqs, name: sqs.list_message_move_tasks(SourceArn=f"{ARN}{name}"),
         "not implemented", NOT_THERE),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_moto_agrees(sqs: Sqs, case: Case) -> None:
    ours = outcome(sqs.client, case, sqs.name())
    assert outcome_of_moto(case) == (ours if case.moto is None else case.moto)
    assert case.moto != ours


def test_every_difference_has_a_reason() -> None:
    assert [case.name for case in CASES if bool(case.moto) != bool(case.why)] == []
