"""Webhooks, schedules and move tasks on functions alone: an invocation that is under way takes what comes meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import psycopg

from tests.support.database import Database
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.functions.invocations import json_request, query_request, running_stack
from tests.support.local_lambda.events import Request, event_of, response_of
from tests.support.local_lambda.fleet import Fleet
from tests.support.mappings.functions import running_functions
from tests.support.sql.move_tasks import dead_queue, poison, tasks
from tests.support.wait import wait_until

TOPIC = "arn:aws:sns:us-east-1:000000000000:news"
QUEUE_URL = "http://sqs.internal/000000000000/fired"


async def answer(fleet: Fleet, request: Request, function: str) -> bytes:
    response = response_of(json.loads(await fleet.invoke(function, event_of("http_api", request))))
    assert response.status == 200, response.body
    return response.body


@asynccontextmanager
async def invoked_once(
    database: Database, folder: Path, name: str, *others: str, **given: str
) -> AsyncIterator[tuple[Fleet, asyncio.Task[bytes]]]:
    """A scheduled function, and the one invocation of it."""
    variables = {"DATABASE_URL": database.pooled_dsn, "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8", **given}
    async with running_stack(folder, {}, variables, name, *others) as fleet:
        invocation = asyncio.create_task(asyncio.wait_for(fleet.invoke(name, {}), None))
        try:
            yield fleet, invocation
        finally:
            invocation.cancel()


async def posted(receiver: Receiver, kind: str) -> None:
    """Waits for a POST of this kind of message."""

    def has_come() -> bool:
        return any(kind in request.body.decode() for request in receiver.requests)

    await asyncio.to_thread(wait_until, has_come)


async def test_one_invocation_confirms_and_delivers(database: Database, tmp_path: Path) -> None:
    """At its beginning there was no topic. A second invocation would come a minute later."""
    version = {"Version": "2010-03-31"}
    with running_receiver() as receiver:
        async with invoked_once(database, tmp_path, "Deliver", "Gateway") as (fleet, invocation):
            await answer(fleet, query_request("CreateTopic", Name="news", **version), "Gateway")
            subscribe = {"TopicArn": TOPIC, "Protocol": "http", "Endpoint": receiver.url("/")}
            await answer(fleet, query_request("Subscribe", **subscribe, **version), "Gateway")
            await posted(receiver, "SubscriptionConfirmation")
            token = json.loads(receiver.requests[0].body)["Token"]
            confirm = query_request("ConfirmSubscription", TopicArn=TOPIC, Token=token, **version)
            await answer(fleet, confirm, "Gateway")
            await answer(
                fleet, query_request("Publish", TopicArn=TOPIC, Message="hello", **version), "Gateway"
            )
            await posted(receiver, "hello")
            assert not invocation.done()


async def test_one_invocation_invokes_functions_that_subscribe(database: Database, tmp_path: Path) -> None:
    version = {"Version": "2010-03-31"}
    with running_functions(f=lambda _: None) as functions:
        address = {"QUEUE_LAMBDA_ENDPOINT": functions.url}
        async with invoked_once(database, tmp_path, "Deliver", "Gateway", **address) as (
            fleet,
            invocation,
        ):
            await answer(fleet, query_request("CreateTopic", Name="news", **version), "Gateway")
            endpoint = "arn:aws:lambda:us-east-1:000000000000:function:f"
            subscribe = {"TopicArn": TOPIC, "Protocol": "lambda", "Endpoint": endpoint}
            await answer(fleet, query_request("Subscribe", **subscribe, **version), "Gateway")
            publish = query_request("Publish", TopicArn=TOPIC, Message="hello", **version)
            await answer(fleet, publish, "Gateway")
            await asyncio.to_thread(wait_until, lambda: bool(functions.invocations))
            (record,) = functions.invocations[0].event["Records"]
            assert record["Sns"]["Message"] == "hello"
            assert not invocation.done()


async def test_one_invocation_fires_what_is_written_meanwhile(database: Database, tmp_path: Path) -> None:
    functions = ("Gateway", "SchedulerCreateSchedule")
    async with invoked_once(database, tmp_path, "FireSchedules", *functions) as (fleet, invocation):
        await answer(fleet, json_request("CreateQueue", QueueName="fired"), "Gateway")
        at = datetime.now(UTC) + timedelta(seconds=3)
        schedule = {
            "ScheduleExpression": f"at({at:%Y-%m-%dT%H:%M:%S})",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {
                "Arn": "arn:aws:sqs:us-east-1:000000000000:fired",
                "RoleArn": "arn:aws:iam::000000000000:role/r",
                "Input": "now",
            },
        }
        request = Request(path="/schedules/soon", body=json.dumps(schedule).encode())
        await answer(fleet, request, "SchedulerCreateSchedule")
        found: list[str] = []
        while not found:
            body = await answer(
                fleet, json_request("ReceiveMessage", QueueUrl=QUEUE_URL, WaitTimeSeconds=2), "Gateway"
            )
            found = [message["Body"] for message in json.loads(body).get("Messages", [])]
            assert not invocation.done()
        assert found == ["now"]


async def test_one_invocation_works_on_tasks_that_begin_meanwhile(database: Database, tmp_path: Path) -> None:
    async with invoked_once(database, tmp_path, "Move", "Gateway") as (fleet, invocation):
        for number in range(2):  # the second one begins when the first is over
            with psycopg.connect(database.api_dsn, autocommit=True) as db:
                dead, source = dead_queue(db, f"-{number}", "jobs")
                poison(db, source, dead, "letter")
            await answer(fleet, json_request("StartMessageMoveTask", SourceArn=dead), "Gateway")
            await asyncio.to_thread(wait_until, partial(is_moved, database, dead))
            assert not invocation.done()


def is_moved(database: Database, source: str) -> bool:
    with psycopg.connect(database.api_dsn) as db:
        return [task.status for task in tasks(db, source)] == ["COMPLETED"]
