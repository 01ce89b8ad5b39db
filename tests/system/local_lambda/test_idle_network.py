"""Tests that connections without traffic for too long are forgotten, and that their user finds out only at the next
use.

The source is "Introducing NLB TCP configurable idle timeout",
https://aws.amazon.com/blogs/networking-and-content-delivery/introducing-nlb-tcp-configurable-idle-timeout/: the default
is 350 s without traffic. A later sender gets a RST.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from penstock_web.server import listening_socket
from tests.support.database import Database
from tests.support.functions.invocations import json_request, running
from tests.support.local_lambda.events import event_of, response_of
from tests.support.local_lambda.fleet import Fleet
from tests.support.local_lambda.idle_network import HOST, IdleNetwork, Loss, address_of, through
from tests.support.local_lambda.template import read_stack
from tests.support.programs.local_lambda import from_sources


class Clock:
    """Implements a clock that stands still until the test changes it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def echo_server(received: list[bytes]) -> AsyncIterator[tuple[str, int]]:
    answering: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.append(asyncio.current_task())
        with suppress(ConnectionResetError):
            while data := await reader.read(100):
                received.append(data)
                writer.write(data)
        writer.close()

    server = await asyncio.start_server(answer, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()
        await asyncio.gather(*(task for task in answering if task))


@asynccontextmanager
async def network(target: tuple[str, int], loss: Loss, clock: Clock) -> AsyncIterator[tuple[IdleNetwork, int]]:
    """Yields the network and its port."""
    listener = listening_socket(HOST, 0, reuse_port=False)
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
    """The data arrives neither at once nor later, and a new connection works."""
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
    while not condition():  # noqa: ASYNC110 - what is awaited happens in this loop
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
def test_addresses(url: str, address: tuple[str, int] | None) -> None:
    assert address_of(url) == address


def test_only_host_and_port_change() -> None:
    url = "postgresql://user:p%40ss@db.example:6432/penstock?sslmode=require"
    assert through(url, 7) == "postgresql://user:p%40ss@127.0.0.1:7/penstock?sslmode=require"


async def send(fleet: Fleet) -> int:
    request = json_request("SendMessage", QueueUrl="http://x/000000000000/q", MessageBody="x")
    answer = response_of(json.loads(await fleet.invoke("SqsSendMessage", event_of("http_api", request))))
    return answer.status


@pytest.mark.parametrize(
    ("driver", "loss", "statuses"),
    [
        # The call was under way when the connection broke, so its outcome is unknown (docs/operate/lambda_limits.md).
        ("psycopg", "reset", [503, 200]),
        pytest.param("psycopg", "silence", [503, 200], marks=pytest.mark.slow),
        # BEGIN got no answer, so the call certainly had no effect and is made again.
        ("pg8000", "reset", [200, 200]),
        pytest.param("pg8000", "silence", [200, 200], marks=pytest.mark.slow),
    ],
)
async def test_a_function_whose_connection_is_forgotten(
    database: Database, tmp_path: Path, driver: str, loss: Loss, statuses: list[int]
) -> None:
    """The client finds out in time, and the next invocation has a new connection.

    By the function's clock, the connection was used a moment ago. Otherwise the function would replace it.
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
