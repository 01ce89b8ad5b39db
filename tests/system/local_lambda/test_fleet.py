"""Tests functions in real awslambdaric processes: responses, errors, concurrency. Source: Lambda Developer Guide."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.database import Database
from tests.support.functions.invocations import function, json_request, running, running_stack
from tests.support.local_lambda.events import event_of, response_of
from tests.support.local_lambda.fleet import Fleet, run_schedules
from tests.support.local_lambda.limits import FunctionError
from tests.support.local_lambda.template import Schedule
from tests.support.wait import wait_until

CODE = """
import asyncio, os, time
import extra

state = {"count": 0}


def echo(event, context):
    state["count"] += 1
    return {
        "event": event,
        "count": state["count"],
        "pid": os.getpid(),
        "session": os.getsid(0),
        "name": context.function_name,
        "id": context.aws_request_id,
        "left_ms": context.get_remaining_time_in_millis(),
        "layer": extra.NAME,
        "variable": os.environ.get("VARIABLE"),
        "region": os.environ["AWS_REGION"],
        "home": os.environ.get("HOME"),
    }


def raises(event, context):
    raise ValueError(event["text"])


def sleeps(event, context):
    time.sleep(60)


def exits(event, context):
    os._exit(7)


def grows(event, context):
    state["memory"] = bytearray(os.urandom(1024)) * 1024 * 64
    return len(state["memory"])


def waits(event, context):
    time.sleep(0.05)
    return os.getpid()
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "layer/python").mkdir(parents=True)
    (tmp_path / "layer/python/extra.py").write_text('NAME = "of the layer"\n')
    (tmp_path / "function.py").write_text(CODE)
    return tmp_path


async def call(fleet: Fleet, name: str, event: dict[str, Any]) -> Any:
    return json.loads(await fleet.invoke(name, event))


async def test_an_environment_answers_again_and_again(code: Path) -> None:
    async with running(function(code, "echo")) as fleet:
        first = await call(fleet, "echo", {"text": "grüße"})
        second = await call(fleet, "echo", {"text": "two"})
    assert (first["event"], first["name"], first["layer"]) == ({"text": "grüße"}, "echo", "of the layer")
    assert (first["variable"], first["region"], first["home"]) == ("given", "us-east-1", None)
    assert (first["count"], second["count"], first["pid"]) == (1, 2, second["pid"])
    assert first["id"] != second["id"]
    assert 0 < second["left_ms"] <= 30_000


async def test_ctrl_c_is_not_for_the_functions(code: Path) -> None:
    """A terminal sends the signal to its whole session. Without protection, each function would print a traceback."""
    async with running(function(code, "echo")) as fleet:
        response = await call(fleet, "echo", {})
    assert response["session"] == response["pid"]


async def test_an_exception_leaves_the_environment_as_it_is(code: Path) -> None:
    async with running(function(code, "raises")) as fleet:
        for text in ("one", "two"):
            with pytest.raises(FunctionError, match=text):
                await fleet.invoke("raises", {"text": text})
        assert len(fleet.environments) == 1


@pytest.mark.parametrize(
    ("name", "seconds", "memory", "said"),
    [
        ("sleeps", 1.5, 512, "timed out after 1.5 seconds"),
        ("exits", 30, 512, r"its process ended \(7\)"),
        ("grows", 30, 64, "used more than 64 MB"),
        ("missing", 30, 512, "missing"),
    ],
)
async def test_failures_of_a_process_end_its_environment(
    code: Path, name: str, seconds: float, memory: int, said: str
) -> None:
    async with running(function(code, name, seconds, memory)) as fleet:
        with pytest.raises(FunctionError, match=said):
            await fleet.invoke(name, {})


async def test_a_fleet_has_an_environment_for_each_concurrent_request(code: Path) -> None:
    """The number of environments equals the number of concurrent requests. The gateway reuses idle environments."""
    async with running(function(code, "waits"), most=3) as fleet:
        waited = [pid for _ in range(5) for pid in await asyncio.gather(*(call(fleet, "waits", {}) for _ in range(3)))]
    assert len(set(waited)) == 3


async def test_idle_environments_make_room(code: Path) -> None:
    functions = [function(code, "echo")._replace(name=f"echo{n}") for n in range(4)]
    async with running(*functions, most=1) as fleet:
        for _ in range(2):
            for each in functions:
                # The environment ended between the invocations.
                assert (await call(fleet, each.name, {}))["count"] == 1
        assert len(fleet.environments) == 2


async def test_a_forgotten_environment_is_made_anew(code: Path) -> None:
    async with running(function(code, "echo")) as fleet:
        first = await call(fleet, "echo", {})
        await fleet.stop_idle("echo")
        second = await call(fleet, "echo", {})
        assert len(fleet.environments) == 1
    assert (first["count"], second["count"]) == (1, 1)
    assert first["pid"] != second["pid"]


async def test_instead_of_a_rate_one_after_the_other() -> None:
    """The schedule's rate is one day, but the test sets the pause to zero. Two invocations never overlap."""
    running, seen = 0, asyncio.Semaphore(0)

    async def invoke(name: str, event: object) -> bytes:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0)
        running -= 1
        seen.release()
        return b"null"

    task = asyncio.create_task(run_schedules([Schedule("echo", 86_400)], invoke, 0))
    for _ in range(3):
        await seen.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_schedules_invoke(code: Path) -> None:
    seen = asyncio.Semaphore(0)

    async def invoke(name: str, event: object) -> bytes:
        seen.release()
        if name == "raises":
            raise FunctionError("logged, and nothing else")
        return b"null"

    schedules = [Schedule("echo", 0.01), Schedule("raises", 0.01)]
    task = asyncio.create_task(run_schedules(schedules, invoke))
    for _ in range(10):
        await seen.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# --- long polls ------------------------------------------------------------------------------------------------------
# Tests long polls at the gateway with reserved concurrency, in real processes: senders find a free environment.
#
# A function never has more environments than its reserved concurrency, and Lambda throttles further requests:
# "Configuring reserved concurrency for a function",
#
# https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html

URL = "http://sqs.internal/000000000000"
MOST = 4
WAITS = """
select exists (
    select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query like '% from queue.ready_queues(%')
"""


async def call_alone(fleet: Fleet, action: str, **members: Any) -> Any:
    """Returns the gateway's response. Raises TooManyRequestsError where Lambda would throttle."""
    event = event_of("http_api", json_request(action, **members))
    response = response_of(json.loads(await fleet.invoke("Gateway", event)))
    assert response.status == 200, response.body
    return json.loads(response.body or b"{}")


async def long_poll(fleet: Fleet) -> Any:
    return await call_alone(fleet, "ReceiveMessage", QueueUrl=f"{URL}/empty", WaitTimeSeconds=20)


def is_waiting(database: Database) -> bool:
    """Returns whether a long poll has found no message and polls repeatedly."""
    with psycopg.connect(database.dsn) as connection:
        return connection.execute(WAITS.encode()).fetchone() == (True,)


async def test_long_polls_leave_room_for_senders(database: Database, tmp_path: Path) -> None:
    """The test starts as many long polls as the gateway has environments. A quarter of the long polls wait, and the
    other long polls return immediately.
    """
    variables = {"DATABASE_URL": database.pooled_dsn, "QUEUE_LAMBDA_WAIT_SECONDS": "20"}
    async with running_stack(tmp_path, {"GatewayConcurrency": str(MOST)}, variables, "Gateway") as fleet:
        for name in ("empty", "orders"):
            await call_alone(fleet, "CreateQueue", QueueName=name)
        waiting = asyncio.create_task(long_poll(fleet))
        await asyncio.to_thread(wait_until, lambda: is_waiting(database))
        others = await asyncio.gather(*(long_poll(fleet) for _ in range(MOST - 1)))
        assert others == [{}] * (MOST - 1)
        await call_alone(fleet, "SendMessage", QueueUrl=f"{URL}/orders", MessageBody="b")
        assert not waiting.done()
        await call_alone(fleet, "SendMessage", QueueUrl=f"{URL}/empty", MessageBody="for the one that waits")
        assert [m["Body"] for m in (await waiting)["Messages"]] == ["for the one that waits"]
