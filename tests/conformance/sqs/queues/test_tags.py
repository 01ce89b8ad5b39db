"""Tags of queues. Sources: TagQueue, UntagQueue, ListQueueTags (API reference); Developer Guide, "Tags": 50 a queue."""

from __future__ import annotations

import pytest

from tests.support.conformance.sqs import Sqs


def tags(sqs: Sqs, url: str) -> dict[str, str]:
    return dict(sqs.client.list_queue_tags(QueueUrl=url).get("Tags", {}))


def test_tags_are_added_replaced_and_removed(sqs: Sqs) -> None:
    """A new tag with a key identical to that of an existing tag overwrites the existing tag."""
    url = sqs.create()
    assert tags(sqs, url) == {}
    sqs.client.tag_queue(QueueUrl=url, Tags={"team": "blue", "stage": "test", "empty": ""})
    sqs.client.tag_queue(QueueUrl=url, Tags={"team": "green", "größe": "☃"})
    assert tags(sqs, url) == {"team": "green", "stage": "test", "empty": "", "größe": "☃"}
    sqs.client.untag_queue(QueueUrl=url, TagKeys=["team", "not there"])
    assert tags(sqs, url) == {"stage": "test", "empty": "", "größe": "☃"}


def test_keys_are_case_sensitive(sqs: Sqs) -> None:
    url = sqs.create()
    sqs.client.tag_queue(QueueUrl=url, Tags={"Key": "1", "key": "2"})
    sqs.client.untag_queue(QueueUrl=url, TagKeys=["key"])
    assert tags(sqs, url) == {"Key": "1"}


def test_a_queue_is_created_with_tags(sqs: Sqs) -> None:
    url = sqs.client.create_queue(QueueName=sqs.name(), tags={"team": "blue"})["QueueUrl"]
    assert tags(sqs, url) == {"team": "blue"}


def test_tags_do_not_change_the_attributes(sqs: Sqs) -> None:
    """Terraform compares attributes and tags apart."""
    url = sqs.create(DelaySeconds="3")
    before = sqs.attributes(url)
    sqs.client.tag_queue(QueueUrl=url, Tags={"team": "blue"})
    assert sqs.attributes(url) == before


def test_fifty_tags_are_the_most(sqs: Sqs) -> None:
    url = sqs.create()
    many = {f"key-{number}": "value" for number in range(50)}
    sqs.client.tag_queue(QueueUrl=url, Tags=many)
    sqs.client.tag_queue(QueueUrl=url, Tags={"key-0": "another"})
    assert sqs.code("tag_queue", QueueUrl=url, Tags={"one more": ""}) == "InvalidParameterValue"
    assert tags(sqs, url) == {**many, "key-0": "another"}


@pytest.mark.parametrize("bad", [{"k" * 129: "v"}, {"k": "v" * 257}, {"": "v"}])
def test_long_and_empty_tags_are_refused(sqs: Sqs, bad: dict[str, str]) -> None:
    """A key of 1-128 characters, value of at most 256."""
    url = sqs.create()
    assert sqs.code("tag_queue", QueueUrl=url, Tags=bad) == "InvalidParameterValue"
    assert tags(sqs, url) == {}


def test_a_queue_that_is_not_there_has_no_tags(sqs: Sqs) -> None:
    url = sqs.create()
    sqs.client.delete_queue(QueueUrl=url)
    missing = "AWS.SimpleQueueService.NonExistentQueue"
    assert sqs.code("tag_queue", QueueUrl=url, Tags={"a": "b"}) == missing
    assert sqs.code("untag_queue", QueueUrl=url, TagKeys=["a"]) == missing
    assert sqs.code("list_queue_tags", QueueUrl=url) == missing
