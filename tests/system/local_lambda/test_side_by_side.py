"""The container and the functions serve the same queues at once; clients go from one to the other with every call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from threading import Thread
from typing import Any

import psycopg
import pytest

from tests.support.database import Database
from tests.support.programs.local_lambda import Gateway
from tests.support.programs.penstock_service import running_service, until_row
from tests.support.sql.calls import arn_of
from tests.system.local_lambda.test_end_to_end import client

WAITING = "select 1 from queue.watcher w join queue.queues q using (queue_id) where q.arn = '{}'"


@pytest.fixture(scope="module")
def deployments(shared: Database, gateway: Gateway) -> Iterator[list[Any]]:
    """Clients of the container and of both fronts of the functions."""
    with running_service(shared.pooled_dsn, shared.api_dsn) as service:
        yield [client("sqs", address) for address in (service.url, gateway.http_api, gateway.balancer)]


def test_send_via_one_receive_via_another_delete_via_a_third(deployments: list[Any]) -> None:
    """In every order of the deployments."""
    deployments[0].create_queue(QueueName="shared", Attributes={"VisibilityTimeout": "600"})
    urls = [deployment.get_queue_url(QueueName="shared")["QueueUrl"] for deployment in deployments]
    for first in range(len(deployments)):
        for step in (1, 2):
            turn = [(first + step * n) % len(deployments) for n in range(len(deployments))]
            send, receive, delete = ((deployments[n], urls[n]) for n in turn)
            body = f"{turn}"
            send[0].send_message(QueueUrl=send[1], MessageBody=body)
            (message,) = receive[0].receive_message(QueueUrl=receive[1], WaitTimeSeconds=5)["Messages"]
            assert message["Body"] == body
            delete[0].delete_message(QueueUrl=delete[1], ReceiptHandle=message["ReceiptHandle"])
    for deployment, url in zip(deployments, urls, strict=True):
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = deployment.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        assert set(found.values()) == {"0"}


def test_order_and_deduplication_of_a_fifo_queue(deployments: list[Any]) -> None:
    """Every message is sent twice, via two deployments, and stored once; the group comes in order, one at a time."""
    attributes = {"FifoQueue": "true", "VisibilityTimeout": "600"}
    url = deployments[0].create_queue(QueueName="shared.fifo", Attributes=attributes)["QueueUrl"]
    turns = cycle(deployments)
    numbers = []
    for n in range(12):
        ids = {"MessageGroupId": "g", "MessageDeduplicationId": str(n)}
        sent, again = (
            next(turns).send_message(QueueUrl=url, MessageBody=str(n), **ids)["SequenceNumber"]
            for _ in range(2)
        )
        assert sent == again
        numbers.append(int(sent))
    assert numbers == sorted(set(numbers))
    bodies = []
    for _ in range(12):
        (message,) = next(turns).receive_message(QueueUrl=url, MaxNumberOfMessages=1)["Messages"]
        assert "Messages" not in next(turns).receive_message(QueueUrl=url)  # the group is in flight
        next(turns).delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        bodies.append(message["Body"])
    assert bodies == [str(n) for n in range(12)]


@pytest.mark.parametrize("sender", [1, 2], ids=["http_api", "balancer"])
def test_a_send_by_a_function_wakes_a_long_poll_of_the_container(
    deployments: list[Any], shared: Database, sender: int
) -> None:
    """The container says in the database that it waits; the function's commit notifies it."""
    name = f"awaited-{sender}"
    url = deployments[0].create_queue(QueueName=name)["QueueUrl"]
    answers: list[Any] = []
    poll = Thread(
        target=lambda: answers.append(deployments[0].receive_message(QueueUrl=url, WaitTimeSeconds=20))
    )
    with psycopg.connect(shared.api_dsn, autocommit=True) as listener:
        listener.execute("listen penstock")
        poll.start()
        until_row(shared.dsn, WAITING.format(arn_of(name)))
        deployments[sender].send_message(QueueUrl=url, MessageBody="wake up")
        (notified,) = listener.notifies(timeout=20, stop_after=1)
    poll.join()
    assert arn_of(name) in notified.payload
    assert [message["Body"] for message in answers[0]["Messages"]] == ["wake up"]
