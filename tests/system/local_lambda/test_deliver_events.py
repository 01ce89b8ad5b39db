"""Tests the deliveries of event buses to Lambda functions and the replays of archives, by the worker of the container
and by the function DeliverEvents.

Sources: "Targets" and "JSONata expressions" of the custom event bus (Amazon EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html), "Amazon SNS message replay for FIFO topic
subscribers" (https://docs.aws.amazon.com/sns/latest/dg/message-archiving-and-replay-subscriber.html). AWS does not
document the identifiers in batchItemFailures, so Penstock chose the event ids.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import psycopg
import pytest

from penstock.aws.codec import cbor
from tests.support.database import Database, TestServer
from tests.support.functions.invocations import cbor_request, running_stack
from tests.support.local_lambda.events import event_of, response_of
from tests.support.local_lambda.fleet import Fleet
from tests.support.local_lambda.limits import FunctionError
from tests.support.mappings.harness import Functions, running_functions
from tests.support.programs.local_lambda import from_sources, running_gateway
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until

ROLE = "arn:aws:iam::000000000000:role/bus"
LISTED = "arn:aws:lambda:us-east-1:000000000000:function:f*"
BY_ID = "{% {'id': $events.SystemMetadata.`aws:EventId`, 'n': $events.Data.detail.n} %}"


class Deployment:
    """A deployment, and the functions that it may invoke."""

    def __init__(self, address: str, functions: Functions) -> None:
        self.functions = functions
        self.events, self.sqs, self.sns = (
            boto3.client(
                service, endpoint_url=address, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
            )
            for service in ("eventbridgev2", "sqs", "sns")
        )

    def add_function(self, name: str, code: Callable[[Any], Any]) -> str:
        self.functions.functions[name] = code
        return LISTED.replace("f*", name)

    def subscribe(self, bus: str, name: str, target: str, expression: str | None = None, **members: Any) -> None:
        """Creates a subscriber. Another member than one of CreateSubscriber is a parameter of the function."""
        parameters = {key: members.pop(key) for key in list(members) if key == "InvocationType"}
        if expression is not None:
            members["Transformer"] = {"Type": "JSONATA", "JsonataConfiguration": {"Expression": expression}}
        invoke: dict[str, Any] = {"TargetArn": target, "RoleArn": ROLE}
        if parameters:
            invoke["LambdaParameters"] = parameters
        self.events.create_subscriber(Name=name, EventBusArn=bus, InvokeConfiguration=invoke, **members)

    def publish(self, bus: str, numbers: Sequence[int], group: str | None = None) -> None:
        system = {} if group is None else {"SystemMetadata": {"EventGroupId": group}}
        entries = [
            {"Source": "shop", "DetailType": "order", "Detail": json.dumps({"n": number}), **system}
            for number in numbers
        ]
        assert self.events.put_events(EventBusArn=bus, Entries=entries)["FailedEntryCount"] == 0

    def add_queue(self, name: str, **attributes: str) -> tuple[str, str]:
        url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url, f"arn:aws:sqs:us-east-1:000000000000:{name}"

    def receive(self, url: str, number: int) -> list[str]:
        """Receives and deletes until the queue has returned this number of messages."""
        found: list[str] = []

        def is_complete() -> bool:
            response = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            for message in response.get("Messages", []):
                found.append(message["Body"])
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            return len(found) >= number

        wait_until(is_complete)
        return found


@pytest.fixture(scope="module", params=["container", "lambda"])
def deployment(
    request: pytest.FixtureRequest, postgres: TestServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    with postgres.database() as database, running_functions() as functions:
        settings = {"QUEUE_LAMBDA_ENDPOINT": functions.url, "QUEUE_LAMBDA_FUNCTIONS": LISTED}
        if request.param == "container":
            with running_service(database.pooled_dsn, database.api_dsn, **settings) as service:
                yield Deployment(service.url, functions)
            return
        addresses = {"DATABASE_URL": database.pooled_dsn, "DATABASE_DIRECT_URL": database.api_dsn}
        build = from_sources(tmp_path_factory.mktemp("build"))
        with running_gateway(build, "--most", "20", "--schedules-pause", "1", **addresses, **settings) as gateway:
            yield Deployment(gateway.http_api, functions)


def list_received(deployment: Deployment, function: str) -> list[Any]:
    """Returns the events that a function has received in arrays."""
    invocations = [each for each in deployment.functions.invocations if each.name == function]
    return [event for each in invocations for event in json.loads(each.body)]


def test_functions_receive_what_expressions_build(deployment: Deployment) -> None:
    """A function that runs later receives each event. Of a function that reports one event as failed, this event alone
    is tried again. An event whose expression fails goes to the failure queue."""
    failed = threading.Event()

    def report(events: Any) -> Any:
        bad = [event["id"] for event in events if event["n"] == 2 and not failed.is_set()]
        if bad:
            failed.set()
        return {"batchItemFailures": [{"itemIdentifier": event_id} for event_id in bad]}

    bus = deployment.events.create_event_bus(Name="expressions")["EventBusArn"]
    url, failures = deployment.add_queue("failures")
    later, now = deployment.add_function("f-later", lambda _: None), deployment.add_function("f-now", report)
    deployment.subscribe(bus, "later", later, "{% {'squared': $power($events.Data.detail.n, 2)} %}")
    deployment.subscribe(bus, "now", now, BY_ID, InvocationType="REQUEST_RESPONSE")
    deployment.subscribe(
        bus, "failing", deployment.add_function("f-failing", lambda _: None),
        "{% $events.Data.detail.n = 3 ? $error('three') : $string($events.Data.detail.n) %}",
        OnFailureConfiguration={"Arn": failures}, RetryPolicy={"MaxRetryAttempts": 0},
    )  # fmt: skip
    deployment.publish(bus, range(5))
    wait_until(lambda: len(list_received(deployment, "f-now")) == 6)
    wait_until(lambda: len(list_received(deployment, "f-later")) == 5)
    assert sorted(event["n"] for event in list_received(deployment, "f-now")) == [0, 1, 2, 2, 3, 4]
    assert sorted(event["squared"] for event in list_received(deployment, "f-later")) == [0, 1, 4, 9, 16]
    kinds = {(each.name, each.is_event) for each in deployment.functions.invocations}
    assert kinds >= {("f-later", True), ("f-now", False)}
    (record,) = [json.loads(body) for body in deployment.receive(url, 1)]
    assert record["errorCode"] == "INPUT_TRANSFORMATION_FAILURE"
    wait_until(lambda: len(list_received(deployment, "f-failing")) == 4)
    assert sorted(list_received(deployment, "f-failing")) == ["0", "1", "2", "4"]


def test_a_group_keeps_its_order_when_the_function_fails(deployment: Deployment) -> None:
    """A batch of one event is the event itself."""
    received: list[int] = []

    def fail_once(event: Any) -> None:
        received.append(event["n"])
        if received == [0, 1]:
            raise ValueError

    bus = deployment.events.create_event_bus(Name="groups")["EventBusArn"]
    deployment.subscribe(
        bus, "ordered", deployment.add_function("f-ordered", fail_once), BY_ID, Type="FIFO",
        InvocationType="REQUEST_RESPONSE", BatchConfiguration={"MaxBatchSize": 1, "MaxBatchWindowInSeconds": 0},
    )  # fmt: skip
    deployment.publish(bus, range(5), "g")
    wait_until(lambda: len(received) == 6)
    assert received == [0, 1, 1, 2, 3, 4]


def test_a_function_receives_what_was_published_before_its_subscriber(deployment: Deployment) -> None:
    bus = deployment.events.create_event_bus(Name="stored")["EventBusArn"]
    deployment.publish(bus, range(3))
    deployment.subscribe(
        bus, "replaying", deployment.add_function("f-replaying", lambda _: None),
        "{% [$events.Data.detail.n, $events.SystemMetadata.`aws:DeliveryType`] %}",
        StartingPosition="POINT_IN_TIME", PointInTimeConfiguration={"PointType": "HORIZON"},
    )  # fmt: skip
    wait_until(lambda: len(list_received(deployment, "f-replaying")) == 3)
    deployment.publish(bus, [3])
    wait_until(lambda: len(list_received(deployment, "f-replaying")) == 4)
    found = sorted(list_received(deployment, "f-replaying"))
    assert found == [[0, "REPLAY"], [1, "REPLAY"], [2, "REPLAY"], [3, "LIVE"]]


def test_an_archive_is_replayed_to_a_new_subscription(deployment: Deployment) -> None:
    policy = {"FifoTopic": "true", "ArchivePolicy": '{"MessageRetentionPeriod":"1"}'}
    topic = deployment.sns.create_topic(Name="archived.fifo", Attributes=policy)["TopicArn"]
    for number in range(3):
        deployment.sns.publish(
            TopicArn=topic, Message=str(number), MessageGroupId="g", MessageDeduplicationId=str(number)
        )
    url, queue = deployment.add_queue("replayed.fifo", FifoQueue="true")
    replay = json.dumps({"PointType": "Timestamp", "StartingPoint": "2026-01-01T00:00:00.000Z"})
    attributes = {"RawMessageDelivery": "true", "ReplayPolicy": replay}
    deployment.sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue, Attributes=attributes)
    assert deployment.receive(url, 3) == ["0", "1", "2"]
    deployment.sns.publish(TopicArn=topic, Message="3", MessageGroupId="g", MessageDeduplicationId="3")
    assert deployment.receive(url, 1) == ["3"]


# --- an invocation that is killed ------------------------------------------------------------------------------------
async def call(fleet: Fleet, action: str, **members: Any) -> Any:
    request = event_of("http_api", cbor_request(action, members))
    response = response_of(json.loads(await fleet.invoke("Gateway", request)))
    assert response.status == 200, response.body
    return cbor.decode(response.body)


async def test_an_invocation_that_is_killed_loses_nothing(database: Database, tmp_path: Path) -> None:
    """DeliverEvents is killed while it waits for a function. Its next invocation sends the events again after the
    lease."""
    goes_on = threading.Event()
    received: list[int] = []

    def work(events: Any) -> None:
        received.extend(event["n"] for event in events)
        assert goes_on.wait(60)

    with running_functions(f=work) as functions:
        variables = {"DATABASE_URL": database.pooled_dsn, "QUEUE_LAMBDA_ENDPOINT": functions.url}
        async with running_stack(tmp_path, {"LambdaFunctions": LISTED}, variables, "DeliverEvents", "Gateway") as fleet:
            bus = (await call(fleet, "CreateEventBus", Name="killed"))["EventBusArn"]
            invoke = {
                "TargetArn": LISTED.replace("f*", "f"), "RoleArn": ROLE,
                "LambdaParameters": {"InvocationType": "REQUEST_RESPONSE"},
            }  # fmt: skip
            transformer = {"Type": "JSONATA", "JsonataConfiguration": {"Expression": BY_ID}}
            await call(
                fleet, "CreateSubscriber", Name="s", EventBusArn=bus, InvokeConfiguration=invoke,
                Transformer=transformer,
            )  # fmt: skip
            entries = [{"Source": "s", "DetailType": "t", "Detail": f'{{"n": {n}}}'} for n in range(5)]
            await call(fleet, "PutEvents", EventBusArn=bus, Entries=entries)
            invocation = asyncio.create_task(fleet.invoke("DeliverEvents", {}))
            await asyncio.to_thread(wait_until, lambda: functions.under_way > 0)
            (environment,) = [each for each in fleet.environments if each.function.name == "DeliverEvents"]
            await environment.stop()
            with pytest.raises(FunctionError):
                await invocation
            goes_on.set()
            assert count_waiting(database) == 5
            with psycopg.connect(database.dsn, autocommit=True) as db:  # The update simulates the end of the lease.
                db.execute("update queue.event_retry set due_at = clock_timestamp()")
            invocation = asyncio.create_task(fleet.invoke("DeliverEvents", {}))
            await asyncio.to_thread(wait_until, lambda: count_waiting(database) == 0)
            assert sorted(received) == sorted([*range(5), *range(5)])
            invocation.cancel()
            with suppress(asyncio.CancelledError):
                await invocation


def count_waiting(database: Database) -> int:
    with psycopg.connect(database.dsn) as db:
        (count,) = db.execute("select count(*) from queue.event_retry").fetchone() or (0,)
    return int(count)
