"""What AWS allows only once a minute: PurgeQueue, and a name again after DeleteQueue; and the settings that lift it."""

from __future__ import annotations

from tests.support.conformance.deployments import NO_WAITING_PERIODS
from tests.support.conformance.sqs import Sqs


def test_purge_takes_every_message(sqs: Sqs) -> None:
    """PurgeQueue: "Deletes available messages in a queue (including in-flight messages)"; delayed ones too."""
    url = sqs.create()
    sqs.send_all(url, "a", "b")
    sqs.send(url, "later", DelaySeconds=900)
    sqs.receive(url, 1)
    sqs.client.purge_queue(QueueUrl=url)
    assert sqs.counts(url) == (0, 0, 0)
    assert sqs.poll(url) == []
    sqs.send(url, "new")
    assert sqs.one(url)["Body"] == "new"


def test_purge_of_a_fifo_queue(sqs: Sqs) -> None:
    """PurgeQueue: of any type. A group is free again afterwards."""
    url = sqs.create_fifo(ContentBasedDeduplication="true")
    sqs.send_all(url, "a", "b", MessageGroupId="g")
    sqs.receive(url, 1)
    sqs.client.purge_queue(QueueUrl=url)
    assert sqs.counts(url) == (0, 0, 0)
    sqs.send(url, "new", MessageGroupId="g")
    assert sqs.one(url)["Body"] == "new"


def test_purge_once_in_60_seconds(sqs: Sqs) -> None:
    """PurgeQueue, PurgeQueueInProgress: again within 60 seconds."""
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
    """Switchable off by a setting (QUEUE_PURGE_INTERVAL_SECONDS=0)."""
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
    """Switchable off by a setting (QUEUE_RECREATE_INTERVAL_SECONDS=0). Old handles are of no use."""
    hurried = sqs.with_settings(NO_WAITING_PERIODS)
    url = hurried.create()
    hurried.send_all(url, "old", "older")
    received = hurried.one(url)
    hurried.client.delete_queue(QueueUrl=url)
    assert hurried.client.create_queue(QueueName=url.rpartition("/")[2])["QueueUrl"] == url
    assert (hurried.counts(url), hurried.poll(url)) == ((0, 0, 0), [])
    handle = {"QueueUrl": url, "ReceiptHandle": received["ReceiptHandle"]}
    assert hurried.code("delete_message", **handle) == "ReceiptHandleIsInvalid"
    assert (
        hurried.code("change_message_visibility", **handle, VisibilityTimeout=0) == "ReceiptHandleIsInvalid"
    )
    entries = [{"Id": "a", "ReceiptHandle": received["ReceiptHandle"]}]
    (failed,) = hurried.client.delete_message_batch(QueueUrl=url, Entries=entries)["Failed"]
    assert (failed["Id"], failed["Code"]) == ("a", "ReceiptHandleIsInvalid")
