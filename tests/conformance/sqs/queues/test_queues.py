"""Tests CreateQueue, GetQueueUrl, ListQueues and DeleteQueue. Docstrings without a source quote the API reference.

On AWS, PurgeQueue and CreateQueue with a deleted name are possible only once in 60 seconds, but settings of Penstock
remove this limit.

The sources for tags are TagQueue, UntagQueue and ListQueueTags (API reference) and "Tags" (Developer Guide),
which allows 50 tags for each queue.
"""

from __future__ import annotations

import pytest

from tests.support.conformance.deployments import NO_WAITING_PERIODS
from tests.support.conformance.sqs import Sqs


def test_create_again_gives_the_same_queue(sqs: Sqs) -> None:
    """CreateQueue returns the URL of the existing queue if the name and the supplied attributes equal those of the
    queue."""
    name = sqs.name()
    url = sqs.client.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "7"})["QueueUrl"]
    again = sqs.client.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "7"})["QueueUrl"]
    without = sqs.client.create_queue(QueueName=name)["QueueUrl"]
    assert (again, without) == (url, url)
    assert sqs.attributes(url, "VisibilityTimeout") == {"VisibilityTimeout": "7"}


def test_create_again_with_a_default_that_is_spelled_out(sqs: Sqs) -> None:
    """A supplied attribute can also equal a default that the queue received at its creation."""
    name = sqs.name()
    url = sqs.client.create_queue(QueueName=name)["QueueUrl"]
    assert sqs.client.create_queue(QueueName=name, Attributes={"DelaySeconds": "0"})["QueueUrl"] == url


@pytest.mark.parametrize("second", [{"VisibilityTimeout": "8"}, {"DelaySeconds": "1"}])
def test_create_again_with_a_different_attribute(sqs: Sqs, second: dict[str, str]) -> None:
    """CreateQueue returns QueueNameExists for an existing name with a different attribute value."""
    name = sqs.name()
    sqs.client.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "7"})
    assert sqs.code("create_queue", QueueName=name, Attributes=second) == "QueueAlreadyExists"


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_a_name_of_80_characters(sqs: Sqs, suffix: str) -> None:
    """A name has up to 80 characters, including the suffix .fifo, and a name of 81 characters is
    InvalidParameterValue."""
    attributes = {"FifoQueue": "true"} if suffix else {}
    name = sqs.name()
    longest = name + "x" * (80 - len(name) - len(suffix)) + suffix
    url = sqs.client.create_queue(QueueName=longest, Attributes=attributes)["QueueUrl"]
    assert url.endswith(f"/{longest}")
    assert sqs.code("create_queue", QueueName=f"x{longest}", Attributes=attributes) == "InvalidParameterValue"


@pytest.mark.parametrize(
    "name", ["a b", "a.b", "a/b", "ä", "a\n", "", "a;drop schema queue", "'", "a\x00b", "x.fifo", ".fifo", "x" * 5000]
)
def test_names_that_no_standard_queue_has(sqs: Sqs, name: str) -> None:
    """Names contain letters, digits, hyphens and underscores. botocore issue 3058: `x.fifo` without FifoQueue."""
    assert sqs.code("create_queue", QueueName=name) == "InvalidParameterValue"


@pytest.mark.parametrize("name", ["orders", "a.fifo.fifo", ".fifo", "a b.fifo", "x.FIFO"])
def test_names_that_no_fifo_queue_has(sqs: Sqs, name: str) -> None:
    """CreateQueue: "A FIFO queue name must end with the .fifo suffix". SetQueueAttributes describes FifoQueue."""
    code = sqs.code("create_queue", QueueName=name, Attributes={"FifoQueue": "true"})
    assert code == "InvalidParameterValue"


def test_fifo_and_standard_of_one_name_are_two_queues(sqs: Sqs) -> None:
    """CreateQueue: "Queue URLs and names are case-sensitive"; `orders` and `orders.fifo` are two queues."""
    name = sqs.name()
    attributes: tuple[dict[str, str], ...] = ({}, {"FifoQueue": "true"}, {})
    names = (name, f"{name}.fifo", name.upper())
    urls = [
        sqs.client.create_queue(QueueName=name, Attributes=given)["QueueUrl"]
        for name, given in zip(names, attributes, strict=True)
    ]
    sqs.send(urls[0], "standard")
    assert len(set(urls)) == 3
    assert [sqs.counts(url)[0] for url in urls] == [1, 0, 0]


def test_get_queue_url(sqs: Sqs) -> None:
    """GetQueueUrl returns the URL that CreateQueue returned. For a missing queue, GetQueueUrl returns
    QueueDoesNotExist.
    """
    url = sqs.create()
    name = url.rpartition("/")[2]
    assert sqs.client.get_queue_url(QueueName=name)["QueueUrl"] == url
    assert sqs.code("get_queue_url", QueueName=f"{name}-none") == "AWS.SimpleQueueService.NonExistentQueue"


def test_a_new_queue_is_reachable_at_its_url(sqs: Sqs) -> None:
    """The service builds the QueueUrl from the request's Host header."""
    assert sqs.create().startswith(f"{sqs.endpoint_url}/000000000000/")


def test_list_by_prefix(sqs: Sqs) -> None:
    """ListQueues: "Only those queues whose name begins with the specified string are returned"; case-sensitive."""
    prefix = sqs.name("-list")
    urls = [sqs.client.create_queue(QueueName=f"{prefix}-{n}")["QueueUrl"] for n in range(3)]
    sqs.client.create_queue(QueueName=f"x{prefix}")
    assert sorted(sqs.client.list_queues(QueueNamePrefix=prefix)["QueueUrls"]) == urls
    assert "QueueUrls" not in sqs.client.list_queues(QueueNamePrefix=prefix.upper())


def test_an_underscore_in_a_prefix_is_no_wildcard(sqs: Sqs) -> None:
    """The prefix in ListQueues is literal text, not a pattern."""
    prefix = sqs.name("_x")
    url = sqs.client.create_queue(QueueName=prefix)["QueueUrl"]
    sqs.client.create_queue(QueueName=prefix.replace("_x", "-x"))
    assert sqs.client.list_queues(QueueNamePrefix=prefix)["QueueUrls"] == [url]


def test_list_in_pages(sqs: Sqs) -> None:
    """With MaxResults, ListQueues returns pages, and every page except the last page has a NextToken."""
    prefix = sqs.name("-page")
    urls = {sqs.client.create_queue(QueueName=f"{prefix}-{n}")["QueueUrl"] for n in range(5)}
    pages: list[list[str]] = []
    more: dict[str, str] = {}
    while True:
        response = sqs.client.list_queues(QueueNamePrefix=prefix, MaxResults=2, **more)
        pages.append(response["QueueUrls"])
        if "NextToken" not in response:
            break
        more = {"NextToken": response["NextToken"]}
    assert [len(page) for page in pages] == [2, 2, 1]
    assert {url for page in pages for url in page} == urls


def test_a_full_last_page_has_no_token(sqs: Sqs) -> None:
    """ListQueues: "If there are no additional results, NextToken is not included"."""
    prefix = sqs.name("-full")
    for number in range(2):
        sqs.client.create_queue(QueueName=f"{prefix}-{number}")
    response = sqs.client.list_queues(QueueNamePrefix=prefix, MaxResults=2)
    assert (len(response["QueueUrls"]), "NextToken" in response) == (2, False)


@pytest.mark.parametrize(
    "bad", [{"MaxResults": 0}, {"MaxResults": 1001}, {"MaxResults": 1, "NextToken": "no token of ours"}]
)
def test_pages_that_cannot_be(sqs: Sqs, bad: dict[str, object]) -> None:
    """MaxResults (ListQueues) ranges from 1 to 1000."""
    assert sqs.code("list_queues", **bad) == "InvalidParameterValue"


def test_a_deleted_queue_is_gone_with_its_messages(sqs: Sqs) -> None:
    """DeleteQueue: "any messages in the queue are no longer available"; later calls return QueueDoesNotExist."""
    url = sqs.create()
    name = url.rpartition("/")[2]
    sqs.send(url)
    sqs.client.delete_queue(QueueUrl=url)
    gone = "AWS.SimpleQueueService.NonExistentQueue"
    assert sqs.code("receive_message", QueueUrl=url) == gone
    assert sqs.code("send_message", QueueUrl=url, MessageBody="x") == gone
    assert sqs.code("get_queue_url", QueueName=name) == gone
    assert sqs.code("delete_queue", QueueUrl=url) == gone
    assert "QueueUrls" not in sqs.client.list_queues(QueueNamePrefix=name)


def test_tags_may_be_given_at_creation(sqs: Sqs) -> None:
    """CreateQueue takes up to 50 `tags` (Developer Guide, "Cost allocation tags")."""
    assert sqs.client.create_queue(QueueName=sqs.name(), tags={"team": "billing"})["QueueUrl"]
    many = {f"tag-{number}": "x" for number in range(51)}
    assert sqs.code("create_queue", QueueName=sqs.name(), tags=many) == "InvalidParameterValue"


def test_purge_takes_every_message(sqs: Sqs) -> None:
    """PurgeQueue: "Deletes available messages in a queue (including in-flight messages)", including delayed
    messages."""
    url = sqs.create()
    sqs.send_all(url, "a", "b")
    sqs.send(url, "later", DelaySeconds=900)
    sqs.receive(url, 1)
    sqs.client.purge_queue(QueueUrl=url)
    assert sqs.counts(url) == (0, 0, 0)
    assert sqs.poll(url) == []
    sqs.send(url, "new")
    assert sqs.receive_one(url)["Body"] == "new"


def test_purge_of_a_fifo_queue(sqs: Sqs) -> None:
    """PurgeQueue works on every type of queue. After the purge, no group is blocked."""
    url = sqs.create_fifo(ContentBasedDeduplication="true")
    sqs.send_all(url, "a", "b", MessageGroupId="g")
    sqs.receive(url, 1)
    sqs.client.purge_queue(QueueUrl=url)
    assert sqs.counts(url) == (0, 0, 0)
    sqs.send(url, "new", MessageGroupId="g")
    assert sqs.receive_one(url)["Body"] == "new"


def test_purge_once_in_60_seconds(sqs: Sqs) -> None:
    """The response to a second PurgeQueue within 60 seconds is PurgeQueueInProgress."""
    url = sqs.create()
    sqs.client.purge_queue(QueueUrl=url)
    sqs.send(url)
    refusal = sqs.refusal("purge_queue", QueueUrl=url)
    assert (refusal.code, refusal.status) == ("AWS.SimpleQueueService.PurgeQueueInProgress", 403)
    assert sqs.counts(url) == (1, 0, 0)
    sqs.clock.advance(61)
    sqs.client.purge_queue(QueueUrl=url)
    assert sqs.counts(url) == (0, 0, 0)


def test_purge_at_once_again_by_setting(sqs: Sqs) -> None:
    """The setting QUEUE_PURGE_INTERVAL_SECONDS=0 removes the limit."""
    hurried = sqs.with_settings(NO_WAITING_PERIODS)
    url = hurried.create()
    hurried.client.purge_queue(QueueUrl=url)
    hurried.send(url)
    hurried.client.purge_queue(QueueUrl=url)
    assert hurried.counts(url) == (0, 0, 0)


def test_a_deleted_name_again_after_60_seconds(sqs: Sqs) -> None:
    """CreateQueue, QueueDeletedRecently: "You must wait 60 seconds after deleting a queue"."""
    url = sqs.create()
    name = url.rpartition("/")[2]
    sqs.send(url, "old")
    sqs.client.delete_queue(QueueUrl=url)
    assert sqs.code("create_queue", QueueName=name) == "AWS.SimpleQueueService.QueueDeletedRecently"
    sqs.clock.advance(61)
    assert sqs.client.create_queue(QueueName=name)["QueueUrl"] == url
    assert (sqs.counts(url), sqs.poll(url)) == ((0, 0, 0), [])


def test_a_deleted_name_at_once_again_by_setting(sqs: Sqs) -> None:
    """The setting QUEUE_RECREATE_INTERVAL_SECONDS=0 removes the limit. Handles of the deleted queue do not work with
    the new queue."""
    hurried = sqs.with_settings(NO_WAITING_PERIODS)
    url = hurried.create()
    hurried.send_all(url, "old", "older")
    received = hurried.receive_one(url)
    hurried.client.delete_queue(QueueUrl=url)
    assert hurried.client.create_queue(QueueName=url.rpartition("/")[2])["QueueUrl"] == url
    assert (hurried.counts(url), hurried.poll(url)) == ((0, 0, 0), [])
    handle = {"QueueUrl": url, "ReceiptHandle": received["ReceiptHandle"]}
    assert hurried.code("delete_message", **handle) == "ReceiptHandleIsInvalid"
    assert hurried.code("change_message_visibility", **handle, VisibilityTimeout=0) == "ReceiptHandleIsInvalid"
    entries = [{"Id": "a", "ReceiptHandle": received["ReceiptHandle"]}]
    (failed,) = hurried.client.delete_message_batch(QueueUrl=url, Entries=entries)["Failed"]
    assert (failed["Id"], failed["Code"]) == ("a", "ReceiptHandleIsInvalid")


def tags(sqs: Sqs, url: str) -> dict[str, str]:
    return dict(sqs.client.list_queue_tags(QueueUrl=url).get("Tags", {}))


def test_tags_are_added_replaced_and_removed(sqs: Sqs) -> None:
    """A new tag with the key of an existing tag overwrites the existing tag."""
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
    """Terraform compares attributes and tags separately."""
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
    """A key has 1-128 characters, and a value has at most 256 characters."""
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
