"""Runs boto3 against `make lambda`: every call becomes an event for an awslambdaric process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle
from threading import Thread
from typing import Any

import boto3
import psycopg
import pytest

from tests.support import client_setup
from tests.support.clients.boto3_client import call
from tests.support.clients.scenario import FIFO, STANDARD, fifo, run_scenario, standard
from tests.support.database import Database
from tests.support.programs.local_lambda import Gateway
from tests.support.programs.penstock_service import running_service, until_row
from tests.support.sql.calls import arn_of


def client(service: str, address: str) -> Any:
    """Returns a client with the SDK's default settings, including retries."""
    return boto3.client(
        service, endpoint_url=address, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )


@pytest.fixture(params=["http_api", "balancer"])
def address(request: pytest.FixtureRequest, gateway: Gateway) -> str:
    return str(getattr(gateway, request.param))


def test_both_scenarios_succeed(address: str) -> None:
    """On the HTTP API, one function answers all requests. Behind the load balancer, each action has a separate
    function."""
    name = f"scenario-{address.rpartition(':')[2]}"
    sqs = client("sqs", address)
    assert run_scenario(standard(name), partial(call, sqs)) == STANDARD
    assert run_scenario(fifo(f"{name}.fifo"), partial(call, sqs)) == FIFO


def test_topics_and_rest(address: str) -> None:
    name = f"topic-{address.rpartition(':')[2]}"
    sqs, sns = client("sqs", address), client("sns", address)
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    topic = sns.create_topic(Name=name)["TopicArn"]
    arn = f"arn:aws:sqs:us-east-1:000000000000:{name}"
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    sns.publish(TopicArn=topic, Message="hello")
    (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"]
    assert message["Body"] == "hello"
    queues = client_setup.get(f"{address}/v1/queues", timeout=60).json()
    assert name in str(queues)


def test_paths_of_queues(address: str) -> None:
    """The gateway also passes the path forms in conformance/aws/test_raw_query.py to the functions."""
    name = f"paths-{address.rpartition(':')[2]}"
    client("sqs", address).create_queue(QueueName=name)
    queue = f"/000000000000/{name}"
    send, none = {"Action": "SendMessage", "MessageBody": "m"}, {"Action": "None"}
    for path in (queue, f"{queue}/", f"/us-east-1{queue}", f"/{name}"):
        assert client_setup.post(f"{address}{path}", data=send).status_code == 200, path
    for path in (f"/v1/queues/{name}", f"/%76%31/queues/{name}"):
        found = client_setup.get(f"{address}{path}", timeout=60, follow_redirects=True)
        assert (found.status_code, found.json()["name"]) == (200, name), path
    unknown = client_setup.post(f"{address}/a/b/c/d", data=none)
    assert (unknown.status_code, "<Code>InvalidAction</Code>" in unknown.text) == (400, True)


def test_a_schedule_fires_by_the_scheduled_function(gateway: Gateway) -> None:
    sqs, scheduler = client("sqs", gateway.balancer), client("scheduler", gateway.balancer)
    url = sqs.create_queue(QueueName="fired")["QueueUrl"]
    at = datetime.now(UTC) + timedelta(seconds=3)
    scheduler.create_schedule(
        Name="soon",
        ScheduleExpression=f"at({at:%Y-%m-%dT%H:%M:%S})",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={
            "Arn": "arn:aws:sqs:us-east-1:000000000000:fired",
            "RoleArn": "arn:aws:iam::000000000000:role/r",
            "Input": "now",
        },
    )
    deadline = time.monotonic() + 90
    while not (found := sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages")):
        assert time.monotonic() < deadline, "it did not fire"
    assert [message["Body"] for message in found] == ["now"]


# --- side by side ----------------------------------------------------------------------------------------------------
# The container and the functions serve the same queues at the same time. Clients switch the deployment with every call.


WAITING = "select 1 from queue.watcher w join queue.queues q using (queue_id) where q.arn = '{}'"


@pytest.fixture(scope="module")
def deployments(shared: Database, gateway: Gateway) -> Iterator[list[Any]]:
    """Yields clients for the container and for the load balancer and the HTTP API of the functions."""
    with running_service(shared.pooled_dsn, shared.api_dsn) as service:
        yield [client("sqs", address) for address in (service.url, gateway.http_api, gateway.balancer)]


def test_send_via_one_receive_via_another_delete_via_a_third(deployments: list[Any]) -> None:
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
    """The test sends every message twice, through two deployments. The queue stores one copy, and delivers the group in
    order, one message at a time."""
    attributes = {"FifoQueue": "true", "VisibilityTimeout": "600"}
    url = deployments[0].create_queue(QueueName="shared.fifo", Attributes=attributes)["QueueUrl"]
    turns = cycle(deployments)
    numbers = []
    for n in range(12):
        ids = {"MessageGroupId": "g", "MessageDeduplicationId": str(n)}
        sent, again = (
            next(turns).send_message(QueueUrl=url, MessageBody=str(n), **ids)["SequenceNumber"] for _ in range(2)
        )
        assert sent == again
        numbers.append(int(sent))
    assert numbers == sorted(set(numbers))
    bodies = []
    for _ in range(12):
        (message,) = next(turns).receive_message(QueueUrl=url, MaxNumberOfMessages=1)["Messages"]
        assert "Messages" not in next(turns).receive_message(QueueUrl=url)  # The group is in flight.
        next(turns).delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        bodies.append(message["Body"])
    assert bodies == [str(n) for n in range(12)]


@pytest.mark.parametrize("sender", [1, 2], ids=["http_api", "balancer"])
def test_a_send_by_a_function_wakes_a_long_poll_of_the_container(
    deployments: list[Any], shared: Database, sender: int
) -> None:
    """The container registers its long poll in the database. The function's commit then notifies the container."""
    name = f"awaited-{sender}"
    url = deployments[0].create_queue(QueueName=name)["QueueUrl"]
    responses: list[Any] = []
    poll = Thread(target=lambda: responses.append(deployments[0].receive_message(QueueUrl=url, WaitTimeSeconds=20)))
    with psycopg.connect(shared.api_dsn, autocommit=True) as listener:
        listener.execute("listen penstock")
        poll.start()
        until_row(shared.dsn, WAITING.format(arn_of(name)))
        deployments[sender].send_message(QueueUrl=url, MessageBody="wake up")
        (notified,) = listener.notifies(timeout=20, stop_after=1)
    poll.join()
    assert arn_of(name) in notified.payload
    assert [message["Body"] for message in responses[0]["Messages"]] == ["wake up"]
