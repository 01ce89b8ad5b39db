"""ListDeadLetterSourceQueues (API reference): which queues name this one in their RedrivePolicy."""

from __future__ import annotations

import json
from typing import Any

from tests.support.conformance.sqs import Sqs


def source_of(sqs: Sqs, dead: str) -> str:
    redrive = json.dumps({"deadLetterTargetArn": sqs.arn(dead), "maxReceiveCount": 3})
    return sqs.create(RedrivePolicy=redrive)


def listed(sqs: Sqs, dead: str) -> list[str]:
    """The whole list; an empty one has no element in the flattened XML of the Query protocol."""
    return list(sqs.client.list_dead_letter_source_queues(QueueUrl=dead).get("queueUrls", []))


def pages(sqs: Sqs, dead: str, size: int) -> list[list[str]]:
    """All pages of `size`, by following NextToken."""
    found: list[list[str]] = []
    more: dict[str, Any] = {}
    while True:
        answer = sqs.client.list_dead_letter_source_queues(QueueUrl=dead, MaxResults=size, **more)
        found.append(answer["queueUrls"])
        if "NextToken" not in answer:
            return found
        more = {"NextToken": answer["NextToken"]}


def test_the_sources_are_listed(sqs: Sqs) -> None:
    dead, other = sqs.create(), sqs.create()
    sources = {source_of(sqs, dead) for _ in range(3)}
    source_of(sqs, other)
    assert set(listed(sqs, dead)) == sources


def test_a_queue_without_sources_has_an_empty_list(sqs: Sqs) -> None:
    assert listed(sqs, sqs.create()) == []


def test_a_source_whose_policy_was_removed_is_not_listed(sqs: Sqs) -> None:
    dead = sqs.create()
    source = source_of(sqs, dead)
    sqs.client.set_queue_attributes(QueueUrl=source, Attributes={"RedrivePolicy": ""})
    assert listed(sqs, dead) == []


def test_pages_hold_every_source_once(sqs: Sqs) -> None:
    dead = sqs.create()
    sources = [source_of(sqs, dead) for _ in range(5)]
    found = pages(sqs, dead, 2)
    assert [len(page) for page in found] == [2, 2, 1]
    assert sorted(url for page in found for url in page) == sorted(sources)


def test_bad_pages_and_missing_queues_are_refused(sqs: Sqs) -> None:
    dead = sqs.create()
    method = "list_dead_letter_source_queues"
    assert sqs.code(method, QueueUrl=dead, NextToken="made up") == "InvalidParameterValue"
    assert sqs.code(method, QueueUrl=dead, MaxResults=1001) == "InvalidParameterValue"
    sqs.client.delete_queue(QueueUrl=dead)
    assert sqs.code(method, QueueUrl=dead) == "AWS.SimpleQueueService.NonExistentQueue"
