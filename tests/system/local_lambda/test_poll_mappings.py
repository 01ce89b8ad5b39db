"""Tests event source mappings without a container: an invocation of PollMappings polls until the next invocation
begins.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.database import Database
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.functions.invocations import json_request, query_request, running_stack
from tests.support.local_lambda.events import Request, event_of, response_of
from tests.support.local_lambda.fleet import Fleet
from tests.support.local_lambda.limits import FunctionError
from tests.support.mappings.harness import Functions, running_functions
from tests.support.sql.move_tasks import dead_queue, poison, tasks
from tests.support.wait import wait_until

QUEUE_URL = "http://sqs.internal/000000000000/jobs"
MAPPINGS = "/2015-03-31/event-source-mappings"
NAMES = ("PollMappings", "Gateway")
ON = {"EventSourceMappings": "on", "LambdaFunctions": "arn:aws:lambda:us-east-1:000000000000:function:f*"}


async def response(fleet: Fleet, request: Request) -> dict[str, Any]:
    response = response_of(json.loads(await fleet.invoke("Gateway", event_of("http_api", request))))
    assert response.status < 300, response.body
    found: dict[str, Any] = json.loads(response.body or b"{}")
    return found


@asynccontextmanager
async def running(
    database: Database, folder: Path, functions: Functions, worker_seconds: int = 65
) -> AsyncIterator[Fleet]:
    """Runs the stack with a mapping for a queue whose visibility timeout is two seconds."""
    variables = {
        "DATABASE_URL": database.pooled_dsn,
        "QUEUE_LAMBDA_ENDPOINT": functions.url,
        "QUEUE_LAMBDA_WORKER_SECONDS": str(worker_seconds),
    }
    async with running_stack(folder, ON, variables, *NAMES) as fleet:
        await response(fleet, json_request("CreateQueue", QueueName="jobs", Attributes={"VisibilityTimeout": "2"}))
        mapping = {
            "EventSourceArn": "arn:aws:sqs:us-east-1:000000000000:jobs", "FunctionName": "f",
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
        }  # fmt: skip
        await response(fleet, Request(method="POST", path=MAPPINGS, body=json.dumps(mapping).encode()))
        yield fleet


async def send(fleet: Fleet, *bodies: str) -> None:
    entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
    await response(fleet, json_request("SendMessageBatch", QueueUrl=QUEUE_URL, Entries=entries))


def is_empty(database: Database) -> bool:
    """Returns whether the queue has neither visible nor invisible messages."""
    with psycopg.connect(database.dsn) as db:
        row = db.execute("select count(*) from queue.live_message where finished_at is null").fetchone()
    return row == (0,)


def invoke(fleet: Fleet) -> asyncio.Task[bytes]:
    return asyncio.create_task(asyncio.wait_for(fleet.invoke("PollMappings", {}), None))


async def test_one_invocation_polls_for_what_comes_meanwhile(database: Database, tmp_path: Path) -> None:
    """The queue is empty when the invocation begins. SQS redelivers messages that the function reports as failed."""
    failed_once = threading.Event()

    def fails_once(event: Any) -> Any:
        bad = [r["messageId"] for r in event["Records"] if r["body"] == "bad" and not failed_once.is_set()]
        if bad:
            failed_once.set()
        return {"batchItemFailures": [{"itemIdentifier": broken} for broken in bad]}

    with running_functions(f=fails_once) as functions:
        async with running(database, tmp_path, functions) as fleet:
            invocation = invoke(fleet)
            await send(fleet, "good", "bad")
            await asyncio.to_thread(wait_until, lambda: functions.seen().count("bad") >= 2)
            await asyncio.to_thread(wait_until, lambda: is_empty(database))
            assert "good" in functions.seen()
            assert not invocation.done()
            invocation.cancel()
            with suppress(asyncio.CancelledError):
                await invocation


async def test_the_end_of_an_invocation_waits_for_functions(database: Database, tmp_path: Path) -> None:
    """The invocation receives for a second, and returns when the functions that it invoked have returned."""
    goes_on = threading.Event()

    def waits(_: Any) -> None:
        assert goes_on.wait(60)

    with running_functions(f=waits) as functions:
        async with running(database, tmp_path, functions, worker_seconds=1) as fleet:
            await response(
                fleet, json_request("SetQueueAttributes", QueueUrl=QUEUE_URL, Attributes={"VisibilityTimeout": "600"})
            )
            await send(fleet, "m")
            invocation = invoke(fleet)
            await asyncio.to_thread(wait_until, lambda: functions.under_way == 1)
            await asyncio.to_thread(wait_until, lambda: not is_polled(database))
            assert not invocation.done()
            goes_on.set()
            assert json.loads(await invocation) == {
                "polled": 1, "filtered": 0, "invocations": 1, "failed": 0, "handled": 1,
            }  # fmt: skip
            assert is_empty(database)


def is_polled(database: Database) -> bool:
    """Returns whether a polling invocation has leased the mapping."""
    with psycopg.connect(database.dsn) as db:
        row = db.execute("select count(*) from queue.poller where alive_until > clock_timestamp()").fetchone()
    return row != (0,)


async def test_an_invocation_that_is_killed_loses_nothing(database: Database, tmp_path: Path) -> None:
    goes_on = threading.Event()

    def waits(_: Any) -> None:
        assert goes_on.wait(60)

    with running_functions(f=waits) as functions:
        async with running(database, tmp_path, functions) as fleet:
            await send(fleet, *(str(n) for n in range(10)))
            invocation = invoke(fleet)
            await asyncio.to_thread(wait_until, lambda: functions.under_way > 0)
            (environment,) = [
                environment for environment in fleet.environments if environment.function.name == "PollMappings"
            ]
            await environment.stop()
            with pytest.raises(FunctionError):
                await invocation
            goes_on.set()
            assert not is_empty(database)
            with psycopg.connect(database.dsn, autocommit=True) as db:  # The update simulates a minute.
                db.execute("update queue.poller set alive_until = clock_timestamp()")
            invocation = invoke(fleet)
            await asyncio.to_thread(wait_until, lambda: is_empty(database))
            assert set(functions.seen()) == {str(n) for n in range(10)}
            invocation.cancel()
            with suppress(asyncio.CancelledError):
                await invocation


async def test_without_the_parameter_there_are_no_mappings(database: Database, tmp_path: Path) -> None:
    variables = {"DATABASE_URL": database.pooled_dsn}
    async with running_stack(tmp_path, {}, variables, *NAMES) as fleet:
        request = Request(method="GET", path=MAPPINGS)
        response = response_of(json.loads(await fleet.invoke("Gateway", event_of("http_api", request))))
        assert response.status == 404
        assert json.loads(await fleet.invoke("PollMappings", {})) == {
            "polled": 0, "filtered": 0, "invocations": 0, "failed": 0, "handled": 0,
        }  # fmt: skip


# --- polling functions -----------------------------------------------------------------------------------------------
# Tests webhooks, schedules and move tasks without a container: a running invocation also processes new work.


TOPIC = "arn:aws:sns:us-east-1:000000000000:news"
JOBS_URL = "http://sqs.internal/000000000000/fired"


async def answer_function(fleet: Fleet, request: Request, function: str) -> bytes:
    response = response_of(json.loads(await fleet.invoke(function, event_of("http_api", request))))
    assert response.status == 200, response.body
    return response.body


@asynccontextmanager
async def invoked_once(
    database: Database, folder: Path, name: str, *others: str, **given: str
) -> AsyncIterator[tuple[Fleet, asyncio.Task[bytes]]]:
    """Yields a scheduled function and its only invocation."""
    variables = {"DATABASE_URL": database.pooled_dsn, "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8", **given}
    async with running_stack(folder, {}, variables, name, *others) as fleet:
        invocation = asyncio.create_task(asyncio.wait_for(fleet.invoke(name, {}), None))
        try:
            yield fleet, invocation
        finally:
            invocation.cancel()


async def posted(receiver: Receiver, kind: str) -> None:
    """Waits for a POST with the given message type."""

    def has_come() -> bool:
        return any(kind in request.body.decode() for request in receiver.requests)

    await asyncio.to_thread(wait_until, has_come)


async def test_one_invocation_confirms_and_delivers(database: Database, tmp_path: Path) -> None:
    """No topic exists when the invocation begins. A second invocation would begin a minute later."""
    version = {"Version": "2010-03-31"}
    with running_receiver() as receiver:
        async with invoked_once(database, tmp_path, "Deliver", "Gateway") as (fleet, invocation):
            await answer_function(fleet, query_request("CreateTopic", Name="news", **version), "Gateway")
            subscribe = {"TopicArn": TOPIC, "Protocol": "http", "Endpoint": receiver.url("/")}
            await answer_function(fleet, query_request("Subscribe", **subscribe, **version), "Gateway")
            await posted(receiver, "SubscriptionConfirmation")
            token = json.loads(receiver.requests[0].body)["Token"]
            confirm = query_request("ConfirmSubscription", TopicArn=TOPIC, Token=token, **version)
            await answer_function(fleet, confirm, "Gateway")
            await answer_function(
                fleet, query_request("Publish", TopicArn=TOPIC, Message="hello", **version), "Gateway"
            )
            await posted(receiver, "hello")
            assert not invocation.done()


async def test_one_invocation_invokes_functions_that_subscribe(database: Database, tmp_path: Path) -> None:
    version = {"Version": "2010-03-31"}
    with running_functions(f=lambda _: None) as functions:
        address = {"QUEUE_LAMBDA_ENDPOINT": functions.url}
        async with invoked_once(database, tmp_path, "Deliver", "Gateway", **address) as (fleet, invocation):
            await answer_function(fleet, query_request("CreateTopic", Name="news", **version), "Gateway")
            endpoint = "arn:aws:lambda:us-east-1:000000000000:function:f"
            subscribe = {"TopicArn": TOPIC, "Protocol": "lambda", "Endpoint": endpoint}
            await answer_function(fleet, query_request("Subscribe", **subscribe, **version), "Gateway")
            publish = query_request("Publish", TopicArn=TOPIC, Message="hello", **version)
            await answer_function(fleet, publish, "Gateway")
            await asyncio.to_thread(wait_until, lambda: bool(functions.invocations))
            (record,) = functions.invocations[0].event["Records"]
            assert record["Sns"]["Message"] == "hello"
            assert not invocation.done()


async def test_one_invocation_fires_what_is_written_meanwhile(database: Database, tmp_path: Path) -> None:
    functions = ("Gateway", "SchedulerCreateSchedule")
    async with invoked_once(database, tmp_path, "FireSchedules", *functions) as (fleet, invocation):
        await answer_function(fleet, json_request("CreateQueue", QueueName="fired"), "Gateway")
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
        await answer_function(fleet, request, "SchedulerCreateSchedule")
        found: list[str] = []
        while not found:
            body = await answer_function(
                fleet, json_request("ReceiveMessage", QueueUrl=JOBS_URL, WaitTimeSeconds=2), "Gateway"
            )
            found = [message["Body"] for message in json.loads(body).get("Messages", [])]
            assert not invocation.done()
        assert found == ["now"]


async def test_one_invocation_works_on_tasks_that_begin_meanwhile(database: Database, tmp_path: Path) -> None:
    async with invoked_once(database, tmp_path, "Move", "Gateway") as (fleet, invocation):
        for number in range(2):  # The second invocation begins when the first invocation ends.
            with psycopg.connect(database.api_dsn, autocommit=True) as db:
                dead, source = dead_queue(db, f"-{number}", "jobs")
                poison(db, source, dead, "letter")
            await answer_function(fleet, json_request("StartMessageMoveTask", SourceArn=dead), "Gateway")
            await asyncio.to_thread(wait_until, partial(is_moved, database, dead))
            assert not invocation.done()


def is_moved(database: Database, source: str) -> bool:
    with psycopg.connect(database.api_dsn) as db:
        return [task.status for task in tasks(db, source)] == ["COMPLETED"]
