"""Tests the requests that the fast path handles, and their responses. HTTP: RFC 9112; limits:
docs/explain/internals.md."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

import pytest

from penstock.access.receipt_handle import ReceiptHandles
from penstock.aws.named_queue import NamedQueue
from penstock.effects import Woken
from penstock.environment import Environment
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import CHANGE_VISIBILITIES, RECEIVE_MESSAGES
from penstock.settings import Settings
from penstock_web.batching.write_backpressure import HIGH_WATER_BYTES, STALLED_SECONDS
from penstock_web.http.aws_protocols import AwsApplication
from penstock_web.http.limits import HttpLimits
from penstock_web.runtime.deadlines import Deadlines
from tests.support.web.fakes import HEADER, ORDERS, FakeDatabase, Reply, build_resources, message
from tests.support.web.http_connection import Client
from tests.support.web.virtual_clock import settle

pytestmark = pytest.mark.virtual_time

IDLE_SECONDS = HttpLimits().idle_seconds
LONG_WAY = b"the long way"


class Application:
    """Runs an application with the fast path. The application records the bodies of requests that ASGI handles."""

    def __init__(self, database: FakeDatabase) -> None:
        self.resources = build_resources(database)
        environment = Environment(Settings.read({}), ReceiptHandles(b"k" * 32))
        self.aws_application = AwsApplication(environment, self.resources, Deadlines(30))
        self.bodies: list[bytes] = []

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        body, more = b"", True
        while more:
            part = await receive()
            body += part.get("body", b"")
            more = part.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"12")]})
        await send({"type": "http.response.body", "body": LONG_WAY})


class Connection(Client):
    """Connects to the service without sockets."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.database = FakeDatabase(reply or stored)
        self.application = Application(self.database)
        super().__init__(self.application, self.application.aws_application)

    @property
    def calls(self) -> list[Statement[Row]]:
        """Returns the database calls."""
        return [statement for statement, _ in self.database.calls]


def stored(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
    """Imitates a database that stores messages and returns one message for a receive."""
    if statement is RECEIVE_MESSAGES:
        return [HEADER, message(1)]
    return [(1, 1, None, None, None, None)]


def request(action: str, *headers: str, version: str = "HTTP/1.1", path: str = "/", **members: object) -> bytes:
    body = json.dumps({"QueueUrl": "http://x/000000000000/orders", **members}).encode()
    head = [
        f"POST {path} {version}",
        "host: x",
        f"x-amz-target: AmazonSQS.{action}",
        "content-type: application/x-amz-json-1.0",
        f"content-length: {len(body)}",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


SEND = request("SendMessage", MessageBody="hello")
RECEIVE = request("ReceiveMessage")


async def test_a_whole_request_takes_the_short_way() -> None:
    connection = Connection()
    response = await connection.say(SEND)
    head, _, body = response.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert f"content-length: {len(body)}".encode() in head
    assert json.loads(body)["MD5OfMessageBody"] == "5d41402abc4b2a76b9719d911017c592"
    assert not connection.application.bodies
    assert not connection.transport.closed


async def test_a_request_whose_head_comes_in_two_parts_takes_the_fast_path() -> None:
    connection = Connection()
    assert (await connection.say(SEND[:30], SEND[30:])).count(b"HTTP/1.1 200") == 1
    assert not connection.application.bodies


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((SEND[:-3], SEND[-3:]), id="body in two parts"),
        pytest.param((SEND[: SEND.index(b"{")], SEND[SEND.index(b"{") :]), id="head first"),
        pytest.param((request("SendMessage", version="HTTP/1.0"),), id="HTTP/1.0"),
        pytest.param((request("SendMessage", "connection: close"),), id="last request"),
        pytest.param((request("SendMessage", "expect: 100-continue"),), id="expects 100-continue"),
        pytest.param((request("SendMessage", path="/%30"),), id="escaped path"),
        pytest.param((request("SendMessage", path="/v1/queues"),), id="other API"),
        pytest.param((request("SendMessage", MessageBody="x" * 65_536),), id="long"),
        pytest.param((request("SendMessage", MessageBody="&" * 1_001),), id="1,001 parameters"),
    ],
)
async def test_everything_else_goes_the_long_way(parts: tuple[bytes, ...]) -> None:
    connection = Connection()
    response = await connection.say(*parts)
    assert response.endswith(LONG_WAY)
    assert response.count(b"HTTP/1.1 200") == 1
    sent = b"".join(parts)
    assert connection.application.bodies == [sent[sent.index(b"{") :]]
    assert not connection.calls


async def test_a_long_response_is_written_whole() -> None:
    """The server writes the head and the body separately, because joining them would copy megabytes."""
    body = "x" * 100_000

    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        return [HEADER, message(1, body)]

    connection = Connection(reply=reply)
    head, _, document = (await connection.say(RECEIVE)).partition(b"\r\n\r\n")
    assert f"content-length: {len(document)}".encode() in head
    assert json.loads(document)["Messages"][0]["Body"] == body


async def test_chunks_of_one_read_are_one_body() -> None:
    head, _, body = SEND.partition(b"\r\n\r\n")
    head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"content-length"))
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:5], body[5:])) + b"0\r\n\r\n"

    connection = Connection()
    response = await connection.say(head + b"\r\ntransfer-encoding: chunked\r\n\r\n" + chunks)
    assert b"5d41402abc4b2a76b9719d911017c592" in response


async def test_pipelined_requests_are_answered_in_their_order() -> None:
    """RFC 9112, 9.3.2: "A server … MUST send the corresponding responses in the same order"."""

    connection = Connection()
    connection.database.hold()
    assert await connection.say(SEND + SEND) == b""
    connection.database.release()
    await settle()
    response = await connection.say()
    assert response.count(b"HTTP/1.1 200") == 2
    assert response.index(b"5d41402abc4b2a76b9719d911017c592") < response.index(LONG_WAY)
    assert connection.transport.reading
    assert (await connection.say(SEND)).count(b"HTTP/1.1 200") == 3


async def test_messages_for_a_client_that_left_go_back() -> None:
    connection = Connection()
    connection.database.hold()
    await connection.say(RECEIVE)
    connection.connection.connection_lost(None)
    connection.database.release()
    await settle()
    assert connection.calls == [RECEIVE_MESSAGES, CHANGE_VISIBILITIES]
    assert connection.transport.written == b""


async def test_a_send_of_a_client_who_left_is_stored_all_the_same() -> None:
    connection = Connection()
    connection.database.hold()
    await connection.say(SEND)
    connection.connection.connection_lost(None)
    connection.database.release()
    await settle()
    assert len(connection.calls) == 1
    assert connection.transport.written == b""


async def test_a_request_that_takes_too_long_is_408_and_the_last_one() -> None:
    connection = Connection()
    connection.database.hold()
    await connection.say(SEND)
    await asyncio.sleep(31)
    response = await connection.say()
    assert response.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close\r\n" in response
    assert connection.transport.closed


async def test_a_request_at_the_end_of_the_process_is_503_and_the_last_one() -> None:
    connection = Connection()
    connection.database.hold()
    await connection.say(SEND)
    connection.application.aws_application.deadlines.stop()
    await settle()
    response = connection.transport.written
    assert response.startswith(b"HTTP/1.1 503 ")
    assert b"connection: close\r\n" in response
    assert connection.transport.closed


async def test_a_long_poll_ends_when_its_client_leaves() -> None:
    connection = Connection(reply=lambda *_: [HEADER])
    await connection.say(request("ReceiveMessage", WaitTimeSeconds=20))
    long_polls = connection.application.resources.long_polls
    assert long_polls.can_skip_receive(NamedQueue(ORDERS))  # because a request waits
    connection.connection.connection_lost(None)
    await settle()
    assert not long_polls.can_skip_receive(NamedQueue(ORDERS))


async def test_a_client_that_leaves_at_its_turn_makes_no_call() -> None:
    """The connection breaks after the message has arrived and before the request continues. The next receive returns
    the message.
    """
    connection = Connection(reply=lambda *_: [HEADER])
    await connection.say(request("ReceiveMessage", WaitTimeSeconds=20))
    long_polls = connection.application.resources.long_polls
    second = long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket())
    long_polls.wake(ORDERS, 1)
    connection.connection.connection_lost(None)
    await settle()
    assert second.result() == Woken.FOR_ONE
    assert connection.calls == [RECEIVE_MESSAGES]


async def test_an_error_of_the_database_is_500_and_says_nothing() -> None:
    def broken(*_: object) -> list[Row]:
        raise RuntimeError("secret")

    connection = Connection(reply=broken)
    response = await connection.say(SEND)
    assert response.startswith(b"HTTP/1.1 500 ")
    assert b"secret" not in response


async def test_a_connection_is_closed_after_its_idle_time_and_not_during_a_request() -> None:
    connection = Connection(reply=lambda *_: [HEADER])
    await connection.say(RECEIVE)
    await asyncio.sleep(IDLE_SECONDS - 5)
    await connection.say(request("ReceiveMessage", WaitTimeSeconds=20))
    await asyncio.sleep(19)
    assert not connection.transport.closed
    await asyncio.sleep(1)
    await settle()
    assert connection.statuses == [200, 200]
    await asyncio.sleep(IDLE_SECONDS - 1)
    assert not connection.transport.closed
    await asyncio.sleep(1)
    assert connection.transport.closed


async def test_a_slow_reader_gets_the_next_response_when_it_has_read_this_one() -> None:
    connection = Connection()
    connection.connection.pause_writing()
    await connection.say(SEND)
    assert not connection.transport.reading
    connection.connection.resume_writing()
    await settle()
    assert connection.transport.reading


async def test_unread_bytes_of_a_slow_reader_are_counted() -> None:
    connection = Connection()
    connection.transport.write_backpressure = HIGH_WATER_BYTES + 1
    for end in (connection.connection.resume_writing, lambda: connection.connection.connection_lost(None)):
        connection.connection.pause_writing()
        assert connection.write_backpressure.is_high
        end()
        assert not connection.write_backpressure.is_high


async def test_a_client_that_reads_nothing_for_a_minute_is_disconnected() -> None:
    connection = Connection()
    connection.transport.write_backpressure = 100_000
    connection.connection.pause_writing()
    await asyncio.sleep(STALLED_SECONDS)
    assert connection.transport.aborted
