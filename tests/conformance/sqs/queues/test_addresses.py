"""QueueUrls. Source: docs/compatibility.md: any host; the last two path segments are account and queue name."""

from __future__ import annotations

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
    ],
)
def test_forms_of_one_address(sqs: Sqs, form: str) -> None:
    url = sqs.create()
    address = form.format(endpoint=sqs.endpoint_url, name=url.rpartition("/")[2])
    sqs.send(address, "hello")
    message = sqs.one(address)
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


@pytest.mark.parametrize(
    "address", ["", "http://x", "http://x/", "http://x/queue", "http://x/1/q", "x/\x00/y"]
)
def test_addresses_without_an_account(sqs: Sqs, address: str) -> None:
    """InvalidAddress: "The specified ID is invalid" (botocore's model), 404 as in the Query model."""
    refusal = sqs.refusal("send_message", QueueUrl=address, MessageBody="x")
    assert (refusal.code, refusal.status) == ("InvalidAddress", 404)
