"""Sends long messages through every deployment with AWS's limits on: real processes of awslambdaric, and the container.

`penstock.limits.response_limit` and `tests.support.local_lambda.limits` have the limits and their sources.
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
    """Yields a client of SQS for each deployment. The deployments serve the same queues."""
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
    """Ten messages have 700 KB in their requests. A receive counts up to three before it gives one up.

    Each message is received once; or it stays uncounted, the receive fails with the typed error that names the
    deployment, and the container receives it.
    """
    sqs = deployments[deployment]
    name = f"long-{deployment.replace('_', '-')}-{ord(character)}"
    fifo = {"FifoQueue": "true"} if suffix else {}
    dead = sqs.create_queue(QueueName=f"{name}-dead{suffix}", Attributes=fifo)["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": arn_of(f"{name}-dead{suffix}"), "maxReceiveCount": 3})
    url = sqs.create_queue(QueueName=f"{name}{suffix}", Attributes={"RedrivePolicy": policy, **fifo})["QueueUrl"]
    length = 700_000 // len(json.dumps(character)[1:-1])  # boto3 writes it this way in the request.
    for number in range(10):
        ids = {"MessageGroupId": str(number), "MessageDeduplicationId": str(number)} if suffix else {}
        sqs.send_message(QueueUrl=url, MessageBody=f"{number}{character * length}", **ids)
    # The characters have four and three bytes in the response, and two in the request.
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
    """Sends the longest message (SendMessage: 1 MiB) through the deployments that are documented to carry
    it.
    """
    sqs = deployments[deployment]
    url = sqs.create_queue(QueueName=f"mib-{deployment.replace('_', '-')}-{ord(character)}")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=character * MIB)
    (message,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert message["Body"] == character * MIB


def test_a_mib_is_refused_by_the_load_balancer(deployments: dict[str, Any]) -> None:
    """The status is 413, as "Use Lambda functions as targets" says of bodies over 1 MB. A message sent elsewhere is not
    received."""
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
    """The messages have one length of escapes. A receive returns as many messages as fit, and one fewer if the
    messages have some more characters.

    A quote has four bytes in the response. 3,500 bytes are for the text around each message and around all of them.
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
    """Returns the first two characters of each message, and how often it was received, until there are no more."""
    found: list[tuple[str, str]] = []
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["ApproximateReceiveCount"]
    ).get("Messages"):
        found += [(m["Body"][:2], m["Attributes"]["ApproximateReceiveCount"]) for m in messages]
    return found


def visible(sqs: Any, url: str) -> int:
    attribute = "ApproximateNumberOfMessages"
    return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[attribute])["Attributes"][attribute])
