"""boto3 against `make lambda`: every call is an event for a real process of awslambdaric."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal

import boto3
import pytest

from tests.support import plain_http
from tests.support.clients.boto3_client import call
from tests.support.clients.scenario import FIFO, STANDARD, fifo, run_scenario, standard
from tests.support.programs.local_lambda import Gateway

Front = Literal["http_api", "balancer"]


def client(service: str, address: str) -> Any:
    """With the SDK's own settings: retries included, as everybody has them."""
    return boto3.client(
        service,
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
    )


@pytest.fixture(params=["http_api", "balancer"])
def address(request: pytest.FixtureRequest, gateway: Gateway) -> str:
    return str(getattr(gateway, request.param))


def test_both_stories(address: str) -> None:
    """On the HTTP API one function answers; behind the load balancer each action has its own."""
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
    queues = plain_http.get(f"{address}/v1/queues", timeout=60).json()
    assert name in str(queues)


def test_paths_of_queues(address: str) -> None:
    """The forms of conformance/aws/test_raw_query.py get through the fronts of the functions, too."""
    name = f"paths-{address.rpartition(':')[2]}"
    client("sqs", address).create_queue(QueueName=name)
    queue = f"/000000000000/{name}"
    send, none = {"Action": "SendMessage", "MessageBody": "m"}, {"Action": "None"}
    for path in (queue, f"{queue}/", f"/us-east-1{queue}", f"/{name}"):
        assert plain_http.post(f"{address}{path}", data=send).status_code == 200, path
    unknown = plain_http.post(f"{address}/a/b/c/d", data=none)
    assert (unknown.status_code, "<Code>InvalidAction</Code>" in unknown.text) == (400, True)


def test_a_schedule_fires_by_the_scheduled_function(gateway: Gateway) -> None:
    """What the gateway invokes without being asked."""
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
