"""Sends long messages through every deployment with AWS's limits: real awslambdaric processes, and the container.

`penstock.limits.response_limit` and `tests.support.local_lambda.limits` define the limits and cite their sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.support.database import Database
from tests.support.programs.local_lambda import Gateway
from tests.support.programs.penstock_service import running_service
from tests.support.sql.calls import arn_of

pytestmark = pytest.mark.slow

DEPLOYMENTS = ["container", "http_api", "balancer"]
MIB = 1_048_576


@pytest.fixture(scope="module")
def deployments(shared: Database, gateway: Gateway) -> Iterator[dict[str, Any]]:
    """Yields an SQS client for each deployment. The deployments serve the same queues."""
    with running_service(shared.pooled_dsn, shared.api_dsn) as service:
        addresses = dict(zip(DEPLOYMENTS, (service.url, gateway.http_api, gateway.balancer), strict=True))
        clients = {deployment: client(address) for deployment, address in addresses.items()}
        yield clients
        for each in clients.values():
            each.close()


def client(address: str) -> Any:
    return boto3.client(
        "sqs",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.mark.parametrize("suffix", ["", ".fifo"], ids=["standard", "fifo"])
@pytest.mark.parametrize("deployment", DEPLOYMENTS)
@pytest.mark.parametrize("character", ["x", '"', "\n", "漢"], ids=["letters", "quotes", "line feeds", "beyond ASCII"])
def test_no_message_becomes_a_dead_letter_unseen(
    deployments: dict[str, Any], deployment: str, character: str, suffix: str
) -> None:
    """The queue allows three receives of a message. Each of the ten requests has 700 KB.

    A client receives each message once, or the receive fails with the typed error that names the deployment and does
    not count. The container then receives the message.
    """
    sqs = deployments[deployment]
    name = f"long-{deployment.replace('_', '-')}-{ord(character)}"
    fifo = {"FifoQueue": "true"} if suffix else {}
    dead = sqs.create_queue(QueueName=f"{name}-dead{suffix}", Attributes=fifo)["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": arn_of(f"{name}-dead{suffix}"), "maxReceiveCount": 3})
    url = sqs.create_queue(QueueName=f"{name}{suffix}", Attributes={"RedrivePolicy": policy, **fifo})["QueueUrl"]
    length = 700_000 // len(json.dumps(character)[1:-1])  # boto3 escapes the request's body like json.dumps.
    for number in range(10):
        ids = {"MessageGroupId": str(number), "MessageDeduplicationId": str(number)} if suffix else {}
        sqs.send_message(QueueUrl=url, MessageBody=f"{number}{character * length}", **ids)
    # In the response, the characters have four and three bytes. In the request, they have two bytes.
    too_long = deployment == "balancer" and character in '"\n'
    if too_long:
        for _ in range(4):
            with pytest.raises(ClientError, match=r"an Application Load Balancer \(1 MB\)") as caught:
                sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
            assert caught.value.response["Error"]["Code"] == "ResponseTooLarge"
        assert visible(sqs, url) == 10
        sqs, url = (
            deployments["container"],
            deployments["container"].get_queue_url(QueueName=f"{name}{suffix}")["QueueUrl"],
        )
    found = received(sqs, url)
    assert sorted(found) == [(f"{number}{character}", "1") for number in range(10)]
    assert visible(sqs, dead) == visible(sqs, url) == 0


@pytest.mark.parametrize("deployment", ["container", "http_api"])
@pytest.mark.parametrize("character", ["x", '"'], ids=["letters", "quotes"])
def test_a_mib_goes_in_and_out(deployments: dict[str, Any], deployment: str, character: str) -> None:
    """Sends the longest message (SendMessage: 1 MiB) through the deployments that support it."""
    sqs = deployments[deployment]
    url = sqs.create_queue(QueueName=f"mib-{deployment.replace('_', '-')}-{ord(character)}")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=character * MIB)
    (message,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert message["Body"] == character * MIB


def test_a_mib_is_refused_by_the_load_balancer(deployments: dict[str, Any]) -> None:
    """The status is 413, because the load balancer refuses bodies over 1 MB ("Use Lambda functions as targets"). A
    client also cannot receive the longest message through the load balancer.
    """
    sqs = deployments["balancer"]
    url = sqs.create_queue(QueueName="mib-balancer")["QueueUrl"]
    with pytest.raises(ClientError) as caught:
        sqs.send_message(QueueUrl=url, MessageBody="x" * MIB)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 413
    deployments["http_api"].send_message(
        QueueUrl=deployments["http_api"].get_queue_url(QueueName="mib-balancer")["QueueUrl"], MessageBody="x" * MIB
    )
    with pytest.raises(ClientError, match="ResponseTooLarge"):
        sqs.receive_message(QueueUrl=url)


@pytest.mark.parametrize(("deployment", "limit"), [("http_api", 6_000_000), ("balancer", 1_000_000)])
def test_just_below_the_limit_it_comes_and_just_above_it_stays(
    deployments: dict[str, Any], deployment: str, limit: int
) -> None:
    """All messages have the same number of escapes. A receive returns all messages that fit. If the messages are a few
    characters longer, the receive returns one message fewer.

    A quote has four bytes in the response. The response's other text has up to 3,500 bytes.
    """
    sqs = deployments[deployment]
    count = 2 if deployment == "http_api" else 1
    for more, expected in ((0, count), (1_000, count - 1)):
        url = sqs.create_queue(QueueName=f"edge-{deployment.replace('_', '-')}-{more}")["QueueUrl"]
        quotes = (limit - 2_000) // count // 4 - 500 + more
        for _ in range(count):
            sqs.send_message(QueueUrl=url, MessageBody='"' * quotes)
        try:
            messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ResponseTooLarge"  # noqa: PT017
            messages = []
        assert [len(message["Body"]) for message in messages] == [quotes] * expected


def received(sqs: Any, url: str) -> list[tuple[str, str]]:
    """Receives until the queue is empty. Returns each message's first two characters and receive count."""
    found: list[tuple[str, str]] = []
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["ApproximateReceiveCount"]
    ).get("Messages"):
        found += [(m["Body"][:2], m["Attributes"]["ApproximateReceiveCount"]) for m in messages]
    return found


def visible(sqs: Any, url: str) -> int:
    attribute = "ApproximateNumberOfMessages"
    return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[attribute])["Attributes"][attribute])
