"""Tests the events that an application receives and sends.

The sources are the ASGI specification, "HTTP & WebSocket ASGI Message Format", and RFC 9112.
"""

import asyncio
import logging
from typing import Any

import pytest

from tests.support.web.http_connection import Client, Message, Receive, Recorder, Send, response
from tests.support.web.virtual_clock import settle

pytestmark = pytest.mark.virtual_time

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
START: Message = {"type": "http.response.start", "status": 200, "headers": []}


async def response_of(application: Any, *parts: bytes) -> tuple[bytes, bytes, bool]:
    """Returns the head and the body of the response, and whether the server closed the connection."""
    client = Client(application)
    head, _, body = (await client.say(*parts)).partition(b"\r\n\r\n")
    return head.lower(), body, client.transport.closed


def sending(*messages: Message) -> Any:
    """Returns an application that sends the given messages."""

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    return application


def part(body: bytes, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


# --- responses -------------------------------------------------------------------------------------------------------
async def test_a_whole_body_gets_its_length_and_the_date() -> None:
    """The sources are RFC 9112, 6.2, and RFC 9110, 6.6.1."""
    head, body, closed = await response_of(sending(START, part(b"hello", more=False)), GET)
    lines = head.split(b"\r\n")
    assert lines[0] == b"http/1.1 200 ok"
    assert lines[1].startswith(b"date: ")
    assert lines[1].endswith(b" gmt")
    assert lines[2:] == [b"content-length: 5"]
    assert (body, closed) == (b"hello", False)


async def test_a_body_in_parts_is_chunked() -> None:
    """Source: RFC 9112, 7.1."""
    messages = [START, part(b"hello"), part(b""), part(b"x" * 16), part(b"", more=False)]
    head, body, closed = await response_of(sending(*messages), GET)
    assert b"transfer-encoding: chunked" in head
    assert body == b"5\r\nhello\r\n10\r\n" + b"x" * 16 + b"\r\n0\r\n\r\n"
    assert not closed


async def test_a_body_in_parts_with_a_length_is_not_chunked() -> None:
    start = {**START, "headers": [(b"Content-Length", b"6")]}
    head, body, _ = await response_of(sending(start, part(b"abc"), part(b"def", more=False)), GET)
    assert head.endswith(b"content-length: 6")
    assert body == b"abcdef"


async def test_a_body_in_parts_ends_with_the_connection_in_http_1_0() -> None:
    """The server sends no Transfer-Encoding to an HTTP/1.0 client (RFC 9112, 6.1), and the body ends with the
    connection (6.3).
    """
    head, body, closed = await response_of(
        sending(START, part(b"a"), part(b"b", more=False)), b"GET / HTTP/1.0\r\n\r\n"
    )
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    assert (body, closed) == (b"ab", True)


@pytest.mark.parametrize("length", [[], [(b"content-length", b"5")]])
async def test_head_gets_the_head_alone(length: list[tuple[bytes, bytes]]) -> None:
    """Source: RFC 9110, 9.3.2."""
    head, body, closed = await response_of(
        sending({**START, "headers": length}, part(b"hello", more=False)), GET.replace(b"GET", b"HEAD")
    )
    assert (b"content-length: 5" in head) is bool(length)
    assert b"transfer-encoding" not in head
    assert (body, closed) == (b"", False)


@pytest.mark.parametrize("status", [204, 304])
async def test_some_statuses_have_no_body(status: int) -> None:
    """The sources are RFC 9110, 15.3.5 and 15.4.5."""
    head, body, _ = await response_of(sending({**START, "status": status}, part(b"", more=False)), GET)
    assert head.startswith(b"http/1.1 %d " % status)
    assert b"content-length" not in head
    assert b"transfer-encoding" not in head
    assert body == b""


async def test_an_application_may_close_the_connection() -> None:
    head, _, closed = await response_of(
        sending({**START, "headers": [(b"Connection", b"close")]}, part(b"", more=False)), GET
    )
    assert head.count(b"connection: close") == 1
    assert closed


async def test_a_long_body_is_written_whole() -> None:
    """The server does not copy the body."""
    client = Client(sending(START, part(b"x" * 100_000, more=False)))
    await client.say(GET)
    assert client.transport.writes[1:] == [b"x" * 100_000]


# --- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([], id="no response"),
        pytest.param([START], id="a head alone"),
        pytest.param([part(b"")], id="no head"),
        pytest.param([START, START], id="two heads"),
        pytest.param([{**START, "headers": [(b"a", b"b\r\nc: d")]}, part(b"", more=False)], id="response splitting"),
        pytest.param([{**START, "headers": [(b"a: b\r\nc", b"d")]}, part(b"", more=False)], id="the same by a name"),
        pytest.param([{**START, "headers": [(b"content-length", b"1")]}, part(b"ab", more=False)], id="too long"),
        pytest.param([{**START, "headers": [(b"content-length", b"3")]}, part(b"ab", more=False)], id="too short"),
    ],
)
async def test_an_application_that_fails_before_anything_was_written_is_500(
    messages: list[Message], caplog: pytest.LogCaptureFixture
) -> None:
    head, body, closed = await response_of(sending(*messages), GET)
    assert head.startswith(b"http/1.1 500 ")
    assert b"connection: close" in head
    assert (body, closed) == (b"Internal Server Error", True)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("last", [[], [START], [{**part(b"", more=False), "body": b"abc"}]])
async def test_an_application_that_fails_later_loses_its_connection(last: list[Message]) -> None:
    """The client can detect that the response is incomplete (RFC 9112, 8)."""
    start = {**START, "headers": [(b"content-length", b"5")]}
    _, body, closed = await response_of(sending(start, part(b"hel"), *last), GET)
    assert (body, closed) == (b"hel", True)


async def test_bytes_after_the_response_are_an_error_and_are_not_sent() -> None:
    client = Client(sending(START, part(b"a", more=False), part(b"b", more=False)))
    await client.say(GET)
    assert client.transport.written.endswith(b"\r\n\r\na")
    assert not client.transport.closed


async def test_a_cancelled_application_is_503() -> None:
    async def application(scope: Message, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    client = Client(application)
    await client.say(GET)
    for task in client.state.tasks:
        task.cancel()
    await settle()
    assert client.statuses == [503]
    assert client.transport.closed


# --- requests --------------------------------------------------------------------------------------------------------
async def test_a_body_arrives_in_parts() -> None:
    """The source is ASGI, "Request - receive event"."""
    received = []

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        while True:
            received.append(await receive())
            if received[-1]["type"] == "http.disconnect":
                return
            if not received[-1]["more_body"]:
                await response(send, b"")

    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n"
    await response_of(application, head + b"ab", b"cd", b"ef")
    request = {"type": "http.request"}
    assert received == [
        {**request, "body": b"ab", "more_body": True},
        {**request, "body": b"cd", "more_body": True},
        {**request, "body": b"ef", "more_body": False},
        {"type": "http.disconnect"},
    ]


async def test_the_rest_of_a_body_is_dropped_when_the_response_is_complete() -> None:
    """The next request begins at the end of the body."""
    application = Recorder()

    async def impatient(scope: Message, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            await application(scope, receive, send)
        else:
            await response(send, b"")

    client = Client(impatient)
    await client.say(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + b"a" * 100_000)
    assert client.transport.reading
    await client.say(b"a" * 100_000, GET)
    assert client.statuses == [200, 200]


EXPECTING = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n"


async def test_a_client_that_expects_it_gets_100_when_the_application_wants_the_body() -> None:
    """Source: RFC 9110, 10.1.1."""
    client = Client(Recorder())
    assert await client.say(EXPECTING) == b"HTTP/1.1 100 Continue\r\n\r\n"
    await client.say(b"ab", GET)
    assert client.statuses == [100, 200, 200]


async def test_a_client_gets_no_100_for_a_body_that_has_come() -> None:
    """RFC 9110, 10.1.1: "MAY omit sending a 100 … if it has already received some or all of the content"."""

    client = Client(Recorder())
    await client.say(EXPECTING + b"ab")
    assert client.statuses == [200]


async def test_a_client_of_http_1_0_gets_no_100() -> None:
    """RFC 9110, 10.1.1: "A server that receives a 100-continue expectation in an HTTP/1.0 request MUST ignore" it."""

    client = Client(Recorder())
    await client.say(EXPECTING.replace(b"1.1", b"1.0"), b"ab")
    assert client.statuses == [200]


async def test_a_response_instead_of_100_closes_the_connection() -> None:
    """The server does not know whether the client still sends the body (RFC 9110, 10.1.1)."""
    client = Client(sending({**START, "status": 413}, part(b"", more=False)))
    await client.say(EXPECTING, GET)
    assert client.statuses == [413]
    assert client.transport.closed
