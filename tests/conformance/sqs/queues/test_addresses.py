"""Tests of QueueUrls. Source: docs/reference/compatibility.md. A QueueUrl can contain any host. The last two segments
of the path are the account and the name of the queue. The segment before the account is the region, unless the region
is the default region.

The request determines the account and the region, and different accounts or regions have separate queues.
"""

from __future__ import annotations

import json

import pytest

from tests.support.conformance.sqs import Sqs

GONE = "AWS.SimpleQueueService.NonExistentQueue"


@pytest.mark.parametrize(
    "form",
    [
        "{endpoint}/000000000000/{name}",
        "{endpoint}/000000000000/{name}/",
        "https://sqs.us-east-1.amazonaws.com/000000000000/{name}",
        "https://queue.amazonaws.com/000000000000/{name}",
        "http://localhost:4566/000000000000/{name}",
        "http://sqs.us-east-1.localhost.localstack.cloud:4566/000000000000/{name}",
        "https://gateway.example/stage/queues/000000000000/{name}",
        "/000000000000/{name}",
        "000000000000/{name}",
        "{name}",
        "{endpoint}/us-east-1/000000000000/{name}",
        "{endpoint}/000000000000/{name}//",
        "/{name}",
    ],
)
def test_forms_of_one_address(sqs: Sqs, form: str) -> None:
    url = sqs.create()
    address = form.format(endpoint=sqs.endpoint_url, name=url.rpartition("/")[2])
    sqs.send(address, "hello")
    message = sqs.receive_one(address)
    sqs.delete(address, message)
    assert (message["Body"], sqs.counts(url)) == ("hello", (0, 0, 0))


@pytest.mark.parametrize(
    "address",
    [
        "http://x/000000000000/none-of-that-name",
        "http://x/000000000000/a%20b",
        "http://x/000000000000/" + "x" * 5000,
        "http://x/000000000000/'; drop schema queue cascade; --",
        "http://x/000000000000/ä",
        "http://x/000000000000/..",
        "http://x/999999999999/other-account",
        "no-such-queue",
    ],
)
def test_addresses_of_no_queue(sqs: Sqs, address: str) -> None:
    """QueueDoesNotExist: "Ensure that the QueueUrl is correct and that the queue has not been deleted"."""
    assert sqs.code("send_message", QueueUrl=address, MessageBody="x") == GONE
    assert sqs.code("receive_message", QueueUrl=address) == GONE
    assert sqs.code("get_queue_attributes", QueueUrl=address) == GONE
    assert sqs.code("purge_queue", QueueUrl=address) == GONE


@pytest.mark.parametrize("address", ["", "http://x", "http://x/", "http://x/queue", "http://x/1/q", "x/\x00/y"])
def test_addresses_without_an_account(sqs: Sqs, address: str) -> None:
    """The response to an impossible QueueUrl is the same as for a missing queue (recorded at AWS)."""
    refusal = sqs.refusal("send_message", QueueUrl=address, MessageBody="x")
    assert (refusal.code, refusal.status) == (GONE, 400)


def test_a_url_leads_to_its_own_region(sqs: Sqs) -> None:
    """The QueueUrls of two regions differ. Each QueueUrl leads to its queue, regardless of the region for which the
    client signed (recorded at AWS).
    """
    name = sqs.name()
    other = sqs.caller(region="eu-west-1")
    urls = [caller.client.create_queue(QueueName=name)["QueueUrl"] for caller in (sqs, other)]
    assert urls[1] == urls[0].replace("/000000000000/", "/eu-west-1/000000000000/")
    for url, body in zip(urls, ("here", "there"), strict=True):
        for caller in (sqs, other):
            caller.send(url, body)
    for caller, url, body in ((sqs, urls[1], "there"), (other, urls[0], "here")):
        assert caller.counts(url) == (2, 0, 0)
        assert {message["Body"] for message in caller.receive(url, 2)} == {body}
    assert sqs.counts(f"https://sqs.eu-west-1.amazonaws.com/000000000000/{name}") == (0, 2, 0)
    assert other.client.list_queues(QueueNamePrefix=name)["QueueUrls"] == [urls[1]]
    assert other.client.get_queue_url(QueueName=name)["QueueUrl"] == urls[1]
    assert other.counts(name) == (0, 2, 0)  # a bare name is a queue in the caller's region
    redrive = {"deadLetterTargetArn": other.arn(urls[1]), "maxReceiveCount": 1}
    source = other.create(RedrivePolicy=json.dumps(redrive))
    for caller in (sqs, other):
        assert caller.client.list_dead_letter_source_queues(QueueUrl=urls[1])["queueUrls"] == [source]


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
    assert sqs.receive_one(url)["Body"] == "here"


def test_accounts_keep_queues_apart(sqs: Sqs) -> None:
    """An access key id of 12 digits is the account id, and every other key belongs to the default account."""
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
    assert sqs.receive_one(url)["Body"] == "from another key"


def test_the_url_names_the_account(sqs: Sqs) -> None:
    """A QueueUrl with another account addresses a queue of that account. GetQueueUrl finds the queue by
    QueueOwnerAWSAccountId.
    """
    owner = sqs.caller(account=ACCOUNT)
    name = sqs.name()
    url = owner.client.create_queue(QueueName=name)["QueueUrl"]
    sqs.send(url, "from a stranger")
    assert owner.receive_one(url)["Body"] == "from a stranger"
    assert sqs.client.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=ACCOUNT)["QueueUrl"] == url
    code = sqs.code("get_queue_url", QueueName=name, QueueOwnerAWSAccountId="999999999999")
    assert code == "AWS.SimpleQueueService.NonExistentQueue"


def test_the_sender_is_the_account(sqs: Sqs) -> None:
    """SenderId (ReceiveMessage) is the account if access control is off (Penstock's choice)."""
    url = sqs.create()
    sqs.send(url)
    assert sqs.receive_one(url, AttributeNames=["SenderId"])["Attributes"] == {"SenderId": "000000000000"}
