"""Tests AWS's limits in real awslambdaric processes: a size at the limit works, but a slightly larger size fails.

AWS documents the expected results:

"Lambda quotas", https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    6 MB for a synchronous invocation's request and response; 512 MB in /tmp
"Configuring reserved concurrency for a function",
https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
    a function never has more environments than its reserved concurrency; Lambda throttles further requests
"Understanding the Lambda execution environment lifecycle",
https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
    Lambda freezes environments between invocations, and sometimes ends them
"""

from __future__ import annotations

import asyncio
import errno
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from penstock_web.server import open_listening_socket
from tests.support.database import Database
from tests.support.functions.invocations import PYTHON, function, json_request, running
from tests.support.local_lambda.environment import is_possible
from tests.support.local_lambda.events import event_of, response_of
from tests.support.local_lambda.fleet import Fleet
from tests.support.local_lambda.idle_network import HOST, IdleNetwork, Loss, address_of, through
from tests.support.local_lambda.limits import FunctionError, RequestTooLargeError, TooManyRequestsError
from tests.support.local_lambda.template import read_stack
from tests.support.programs.local_lambda import from_sources
from tests.support.wait import wait_until

MB = 1024 * 1024
CODE = """
import os, threading, time
import extra

seen = {"writes": 0}


def length(event, context):
    return len(event["text"])


def text(event, context):
    return "x" * event["length"]


def sleeps(event, context):
    time.sleep(600)


def pid(event, context):
    return os.getpid()


def writes(event, context):
    try:
        with open(event["path"], "w") as file:
            file.write("x")
            if event.get("bytes"):
                os.posix_fallocate(file.fileno(), 0, event["bytes"])
    except OSError as error:
        return error.errno
    return 0
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "layer/python").mkdir(parents=True)
    (tmp_path / "layer/python/extra.py").write_text("")
    (tmp_path / "function.py").write_text(CODE)
    return tmp_path


async def call(fleet: Fleet, name: str, event: dict[str, Any]) -> Any:
    return json.loads(await fleet.invoke(name, event))


def event_of_size(size: int) -> dict[str, str]:
    return {"text": "x" * (size - len(json.dumps({"text": ""})))}


async def test_an_event_has_at_most_6_mb(code: Path) -> None:
    allowed, too_large = event_of_size(6 * MB), event_of_size(6 * MB + 1)
    async with running(function(code, "length")) as fleet:
        assert await call(fleet, "length", allowed) == len(allowed["text"])
        with pytest.raises(RequestTooLargeError):
            await fleet.invoke("length", too_large)


async def test_the_characters_of_an_event_count_as_utf_8(code: Path) -> None:
    """Lambda counts UTF-8 bytes instead of JSON escapes, which are three times as long."""
    text = {"text": "ü" * (2 * MB)}
    async with running(function(code, "length")) as fleet:
        assert await call(fleet, "length", text) == 2 * MB


async def test_a_result_has_at_most_6_mb(code: Path) -> None:
    """Lambda counts the JSON text, which includes two quotation marks."""
    async with running(function(code, "text")) as fleet:
        assert len(await fleet.invoke("text", {"length": 6 * MB - 2})) == 6 * MB
        with pytest.raises(FunctionError, match=r"Function\.ResponseSizeTooLarge"):
            await fleet.invoke("text", {"length": 6 * MB - 1})
        assert await call(fleet, "text", {"length": 3}) == "xxx"


@pytest.mark.parametrize(("reserved", "most", "allowed"), [(2, 10, 2), (None, 3, 3), (0, 10, 0)])
async def test_more_invocations_at_once_than_allowed_are_refused(
    code: Path, reserved: int | None, most: int, allowed: int
) -> None:
    other = function(code, "pid", most=1)
    async with running(function(code, "sleeps", most=reserved), other, most=most) as fleet:
        under_way = [asyncio.ensure_future(fleet.invoke("sleeps", {})) for _ in range(allowed)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequestsError):
            await fleet.invoke("sleeps", {})
        assert await call(fleet, "pid", {}) > 0  # The function has a reserved concurrency.
        for invocation in under_way:
            assert not invocation.done()
            invocation.cancel()


async def test_a_place_is_free_again_when_an_invocation_has_ended(code: Path) -> None:
    async with running(function(code, "pid", most=1)) as fleet:
        assert await call(fleet, "pid", {}) == await call(fleet, "pid", {})


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process does is read from /proc")
async def test_between_invocations_an_environment_is_frozen(code: Path) -> None:
    async with running(function(code, "pid")) as fleet:
        pid = await call(fleet, "pid", {})
        for _ in range(2):
            await asyncio.to_thread(wait_until, lambda: state_of(pid) == "T")  # stopped by a signal: proc(5)
            assert await call(fleet, "pid", {}) == pid


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize(("recycle_after", "same"), [(1, [1, 1, 1, 1]), (2, [2, 2]), (0, [4])])
async def test_an_environment_ends_after_so_many_invocations(code: Path, recycle_after: int, same: list[int]) -> None:
    """`same` lists how many consecutive invocations ran in the same process."""
    async with running(function(code, "pid"), recycle_after=recycle_after) as fleet:
        pids = [await call(fleet, "pid", {}) for _ in range(4)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == same


needs_namespaces = pytest.mark.skipif(not is_possible(PYTHON), reason="this user may not create mount namespaces")


@needs_namespaces
@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/tmp/{name}", 0),
        ("{code}/{name}", errno.EROFS),
        ("{code}/layer/python/{name}", errno.EROFS),
        ("/var/tmp/{name}", errno.EROFS),
        ("/dev/shm/{name}", errno.EROFS),
    ],
)
async def test_only_tmp_can_be_written_to(code: Path, path: str, error: int) -> None:
    path = path.format(code=code, name=f"penstock-test-{uuid4()}")
    async with running(function(code, "writes")) as fleet:
        assert await call(fleet, "writes", {"path": path}) == error
    assert not exists(path)  # Each environment has a separate /tmp.


@needs_namespaces
@pytest.mark.slow
@pytest.mark.parametrize(("size", "error"), [(511 * MB, 0), (512 * MB + 1, errno.ENOSPC)])
async def test_tmp_has_512_mb(code: Path, size: int, error: int) -> None:
    async with running(function(code, "writes")) as fleet:
        assert await call(fleet, "writes", {"path": "/tmp/x", "bytes": size}) == error


async def test_no_bytecode_is_written(code: Path) -> None:
    async with running(function(code, "pid")) as fleet:
        await call(fleet, "pid", {})
    assert not exists(f"{code}/__pycache__")


def exists(path: str) -> bool:
    return Path(path).exists()


# --- idle network ----------------------------------------------------------------------------------------------------
# Tests a network that forgets idle connections: a client notices the loss only when it next uses the connection.
#
# Source: "Introducing NLB TCP configurable idle timeout",
# https://aws.amazon.com/blogs/networking-and-content-delivery/introducing-nlb-tcp-configurable-idle-timeout/. The
# default is 350 s without traffic. A client that sends later receives a RST.


class Clock:
    """Imitates a clock that only the test advances."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def echo_server(received: list[bytes]) -> AsyncIterator[tuple[str, int]]:
    answering: list[asyncio.Task[None] | None] = []

    async def response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.append(asyncio.current_task())
        with suppress(ConnectionResetError):
            while data := await reader.read(100):
                received.append(data)
                writer.write(data)
        writer.close()

    server = await asyncio.start_server(response, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()
        await asyncio.gather(*(task for task in answering if task))


@asynccontextmanager
async def network(target: tuple[str, int], loss: Loss, clock: Clock) -> AsyncIterator[tuple[IdleNetwork, int]]:
    listener = open_listening_socket(HOST, 0, reuse_port=False)
    port = listener.getsockname()[1]
    made = IdleNetwork(target, loss, clock=clock)
    async with made.running(listener):
        yield made, port


@pytest.mark.parametrize("idle_seconds", [349, 350])
@pytest.mark.parametrize("loss", ["reset", "silence"])
async def test_a_connection_that_is_idle_for_less_is_kept(loss: Loss, idle_seconds: float) -> None:
    clock = Clock()
    async with echo_server([]) as target, network(target, loss, clock) as (_, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        for _ in range(3):
            writer.write(b"x")
            assert await reader.read(100) == b"x"
            clock.now += idle_seconds
        writer.close()


async def test_a_sender_on_a_forgotten_connection_gets_a_reset() -> None:
    received: list[bytes] = []
    clock = Clock()
    async with echo_server(received) as target, network(target, "reset", clock) as (_, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"before")
        assert await reader.read(100) == b"before"
        clock.now += 350.1
        writer.write(b"after")
        with pytest.raises(ConnectionResetError):
            await reader.read(100)
    assert received == [b"before"]


async def test_bytes_on_a_silent_connection_do_not_arrive() -> None:
    """The network drops the data. A new connection works."""
    received: list[bytes] = []
    clock = Clock()
    async with echo_server(received) as target, network(target, "silence", clock) as (lossy, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"before")
        assert await reader.read(100) == b"before"
        clock.now += 350.1
        writer.write(b"after")
        await until(lambda: lossy.forgotten == 1)
        new_reader, new_writer = await asyncio.open_connection(HOST, port)
        new_writer.write(b"new")
        assert await new_reader.read(100) == b"new"
        for each in (writer, new_writer):
            each.close()
    assert received == [b"before", b"new"]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - the awaited change happens in this event loop
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("postgresql://user:secret@db.example:6432/penstock", ("db.example", 6432)),
        ("postgresql://user@db.example/penstock?sslmode=require", ("db.example", 5432)),
        ("postgresql://user@one:5432,two:5432/penstock", None),
        ("postgresql://user@db.example/penstock?sslmode=verify-full", None),
        ("postgresql:///penstock?host=/var/run/postgresql", None),
        ("host=db.example dbname=penstock", None),
    ],
)
def test_an_address_has_the_host_and_port_of_a_url(url: str, address: tuple[str, int] | None) -> None:
    assert address_of(url) == address


def test_only_host_and_port_change() -> None:
    url = "postgresql://user:p%40ss@db.example:6432/penstock?sslmode=require"
    assert through(url, 7) == "postgresql://user:p%40ss@127.0.0.1:7/penstock?sslmode=require"


async def send(fleet: Fleet) -> int:
    request = json_request("SendMessage", QueueUrl="http://x/000000000000/q", MessageBody="x")
    response = response_of(json.loads(await fleet.invoke("SqsSendMessage", event_of("http_api", request))))
    return response.status


@pytest.mark.parametrize(
    ("driver", "loss", "statuses"),
    [
        # The call was running when the connection broke, so the outcome is unknown (docs/operate/lambda_limits.md).
        ("psycopg", "reset", [503, 200]),
        pytest.param("psycopg", "silence", [503, 200], marks=pytest.mark.slow),
        # BEGIN received no response, so the call had no effect, and the driver retries it.
        ("pg8000", "reset", [200, 200]),
        pytest.param("pg8000", "silence", [200, 200], marks=pytest.mark.slow),
    ],
)
async def test_a_function_whose_connection_is_forgotten(
    database: Database, tmp_path: Path, driver: str, loss: Loss, statuses: list[int]
) -> None:
    """The client notices the loss in time, and the next invocation opens a new connection.

    By the function's clock, the connection was used a moment ago. Otherwise the function would replace the connection.
    """
    clock = Clock()
    target = address_of(database.pooled_dsn)
    assert target is not None
    async with network(target, loss, clock) as (_, port):
        variables = {
            "DATABASE_URL": through(database.pooled_dsn, port),
            "QUEUE_DATABASE_DRIVER": driver,
            "QUEUE_ACCESS": "off",
        }
        stack = read_stack(from_sources(tmp_path), {}, variables)
        async with running(stack.functions["SqsSendMessage"], stack.functions["SqsCreateQueue"]) as fleet:
            await fleet.invoke("SqsCreateQueue", event_of("http_api", json_request("CreateQueue", QueueName="q")))
            assert await send(fleet) == 200
            clock.now += 351
            assert [await send(fleet), await send(fleet)] == statuses
