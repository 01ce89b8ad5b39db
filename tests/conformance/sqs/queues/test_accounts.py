"""Accounts and regions. Source: docs/compatibility.md: both come from the request, and both keep queues apart."""

from __future__ import annotations

from tests.support.conformance.sqs import Sqs

ACCOUNT, REGION = "111122223333", "eu-central-1"


def test_regions_keep_queues_apart(sqs: Sqs) -> None:
    name = sqs.name()
    other = sqs.caller(region=REGION)
    url = sqs.client.create_queue(QueueName=name)["QueueUrl"]
    assert other.code("get_queue_url", QueueName=name) == "AWS.SimpleQueueService.NonExistentQueue"
    there = other.client.create_queue(QueueName=name)["QueueUrl"]
    sqs.send(url, "here")
    assert other.arn(there) == f"arn:aws:sqs:{REGION}:000000000000:{name}"
    assert (sqs.counts(url), other.counts(there)) == ((1, 0, 0), (0, 0, 0))
    other.client.delete_queue(QueueUrl=there)
    assert sqs.one(url)["Body"] == "here"


def test_accounts_keep_queues_apart(sqs: Sqs) -> None:
    """An access key id of 12 digits is the account id; every other key belongs to the default account."""
    name = sqs.name()
    other = sqs.caller(account=ACCOUNT)
    url = sqs.client.create_queue(QueueName=name)["QueueUrl"]
    assert other.code("get_queue_url", QueueName=name) == "AWS.SimpleQueueService.NonExistentQueue"
    there = other.client.create_queue(QueueName=name)["QueueUrl"]
    assert there == url.replace("000000000000", ACCOUNT)
    assert other.arn(there) == f"arn:aws:sqs:us-east-1:{ACCOUNT}:{name}"
    sqs.send(url, "here")
    assert (sqs.counts(url), other.counts(there)) == ((1, 0, 0), (0, 0, 0))
    assert other.client.list_queues(QueueNamePrefix=name)["QueueUrls"] == [there]
    assert sqs.client.list_queues(QueueNamePrefix=name)["QueueUrls"] == [url]


def test_keys_of_one_account_share_its_queues(sqs: Sqs) -> None:
    url = sqs.create()
    another = sqs.caller(account="AKIAIOSFODNN7EXAMPLE")
    another.send(url, "from another key")
    assert sqs.one(url)["Body"] == "from another key"


def test_the_url_names_the_account(sqs: Sqs) -> None:
    """A QueueUrl of another account addresses that account's queue; GetQueueUrl finds it by its owner."""
    owner = sqs.caller(account=ACCOUNT)
    name = sqs.name()
    url = owner.client.create_queue(QueueName=name)["QueueUrl"]
    sqs.send(url, "from a stranger")
    assert owner.one(url)["Body"] == "from a stranger"
    assert sqs.client.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=ACCOUNT)["QueueUrl"] == url
    code = sqs.code("get_queue_url", QueueName=name, QueueOwnerAWSAccountId="999999999999")
    assert code == "AWS.SimpleQueueService.NonExistentQueue"


def test_the_sender_is_the_account(sqs: Sqs) -> None:
    """ReceiveMessage, SenderId; the account as long as there is no access control (our choice)."""
    url = sqs.create()
    sqs.send(url)
    assert sqs.one(url, AttributeNames=["SenderId"])["Attributes"] == {"SenderId": "000000000000"}
