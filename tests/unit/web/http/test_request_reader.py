"""Tests which bytes form a request, and which bytes the server refuses. The sources are RFC 9112 and RFC 9110 where a
test names it."""

import asyncio
from collections.abc import MutableMapping, Sequence
from typing import Any

import pytest

from penstock_web.batching.write_backpressure import (
    HIGH_WATER_BYTES,
    MAX_WAIT_SECONDS,
    STALLED_SECONDS,
    WriteBackpressure,
)
from penstock_web.http.flow_control import LingeringClose
from penstock_web.http.limits import HttpLimits
from penstock_web.runtime.deadlines import SWEEP_SECONDS, AsgiTask, Deadlines, EndReason
from tests.support.web.http_connection import Client, Recorder, SlowClient, Transport
from tests.support.web.virtual_clock import VirtualLoop, settle

pytestmark = pytest.mark.virtual_time

POST = b"POST /a HTTP/1.1\r\nHost: x\r\n"
GET = b"GET /a HTTP/1.1\r\nHost: x\r\n"
LENGTH = b"Content-Length: 3\r\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
NEXT = b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n"


async def answered(*parts: bytes, limits: HttpLimits | None = None) -> tuple[Recorder, Client]:
    """Feeds each part in a separate read. Returns the application and the client."""
    application = Recorder()
    client = Client(application, limits=limits)
    await client.say(*parts)
    while client.state.tasks:
        await settle()
    return application, client


def bytes_of(text: bytes) -> list[bytes]:
    return [text[n : n + 1] for n in range(len(text))]


# --- refused ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(POST + LENGTH + CHUNKS + b"\r\n0\r\n\r\n", id="length and chunks"),
        pytest.param(POST + CHUNKS + LENGTH + b"\r\n0\r\n\r\n", id="chunks and length"),
        pytest.param(POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", id="two lengths"),
        pytest.param(POST + b"Content-Length: 3, 4\r\n\r\nabcd", id="a list of lengths"),
        pytest.param(POST + b"Content-Length: +3\r\n\r\nabc", id="a length with a sign"),
        pytest.param(POST + b"Content-Length: 0x3\r\n\r\nabc", id="a hexadecimal length"),
        pytest.param(POST + b"Content-Length: 99999999999999999999\r\n\r\n", id="a length of more than 64 bits"),
        pytest.param(POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", id="chunked is not last"),
        pytest.param(POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", id="an unknown coding"),
        pytest.param(
            POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunked twice"
        ),
        pytest.param(POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", id="space before the colon"),
        pytest.param(GET + b"A: b\r\n c\r\n\r\n", id="obs-fold"),
        pytest.param(b"GET /a HTTP/1.1\nHost: x\n\n", id="bare LF"),
        pytest.param(b"GET /a HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", id="bare LF in a header"),
        pytest.param(b"GET /a HTTP/1.1\r\nHost: x\rA: b\r\n\r\n", id="bare CR"),
        pytest.param(GET + b"A: b\x00c\r\n\r\n", id="NUL"),
        pytest.param(GET + b": b\r\n\r\n", id="no name"),
        pytest.param(GET + b"A b\r\n\r\n", id="no colon"),
        pytest.param(b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", id="space in the target"),
        pytest.param(b"GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n", id="bytes in the target"),
        pytest.param(b"GET a HTTP/1.1\r\nHost: x\r\n\r\n", id="no slash"),
        pytest.param(b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", id="CONNECT"),
        pytest.param(b"GET /a HTTP/1.1\r\n\r\n", id="no Host"),
        pytest.param(GET + b"Host: y\r\n\r\n", id="two Hosts"),
        pytest.param(b"FOO /a HTTP/1.1\r\nHost: x\r\n\r\n", id="unknown method"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
        pytest.param(CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n", id="chunk longer than its size"),
        pytest.param(CHUNKED + b"3\nabc\r\n0\r\n\r\n", id="bare LF after a size"),
        pytest.param(CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n", id="negative size"),
        pytest.param(CHUNKED + b"fffffffffffffffff\r\n", id="size of more than 64 bits"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("cut", [False, True], ids=["one read", "byte by byte"])
async def test_a_request_that_is_not_http_is_400_and_ends_the_connection(data: bytes, cut: bool) -> None:
    """The source is RFC 9112, 2.2, 3.2, 5.1, 5.2, 6.1, 6.3, 7.1 and 9.3. The server does not interpret the remaining
    bytes as a request."""
    application, client = await answered(*(bytes_of(data) if cut else [data]), NEXT)
    assert client.statuses == [400]
    assert b"connection: close\r\n" in client.transport.written
    assert client.transport.closed
    assert application.bodies == []


@pytest.mark.parametrize("version", [b"0.9", b"2.0"])
async def test_another_version_is_505(version: bytes) -> None:
    """Source: RFC 9110, 15.6.6."""
    _, client = await answered(b"GET /a HTTP/%b\r\nHost: x\r\n\r\n" % version)
    assert client.statuses == [505]
    assert client.transport.closed


async def test_a_broken_body_ends_its_request_which_is_not_begun_or_learns_of_it() -> None:
    """The application must not process the first part as the whole body."""
    application, client = await answered(CHUNKED, b"3\r\nabc\r\n", b"zz\r\n")
    assert client.statuses == [400]
    assert (len(application.scopes), application.bodies) == (1, [])
    application, client = await answered(CHUNKED + b"3\r\nabc\r\nzz\r\n")
    assert client.statuses == [400]
    assert application.scopes == []


async def test_earlier_requests_are_answered_before_a_refusal() -> None:
    application, client = await answered(NEXT + POST + b"Content-Length: x\r\n\r\n")
    assert client.statuses == [200, 400]
    assert len(application.bodies) == 1


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([GET + b"A: " + b"a" * 66_000], id="without an end"),
        pytest.param([b"GET /" + b"a" * 66_000], id="in the target"),
        pytest.param([GET + b"A: " + b"a" * 66_000 + b"\r\n\r\n"], id="with an end"),
        pytest.param([GET, *[b"A: " + b"a" * 9_000 + b"\r\n"] * 8], id="in several reads"),
        pytest.param([GET + b"A: b\r\n" * 1_001 + b"\r\n"], id="many headers"),
        pytest.param([CHUNKED + b"1\r\na\r\n0\r\n", b"A: " + b"a" * 33_000, b"a" * 33_000], id="trailers"),
        pytest.param([CHUNKED + b"1;a=", b"a" * 33_000, b"a" * 33_000], id="extension of a chunk"),
    ],
)
async def test_a_head_beyond_64_kib_or_1000_headers_is_431(parts: Sequence[bytes]) -> None:
    """Source: RFC 6585, 5. The limit also applies to trailers and chunk extensions, which the server ignores."""
    _, client = await answered(*parts, b"a" * 66_000)
    assert client.statuses == [431]
    assert client.transport.closed


async def test_a_head_of_64_kib_and_1000_headers_passes_after_any_body() -> None:
    """Only the size of the head counts, not the sizes of the reads."""
    long_body = POST + b"Content-Length: 200000\r\n\r\n" + b"b" * 200_000
    headers = GET + b"".join(b"A%d: %b\r\n" % (n, b"a" * 50) for n in range(999)) + b"\r\n"
    application, client = await answered(long_body + headers[:100], headers[100:], headers, long_body)
    assert client.statuses == [200] * 4
    assert len(application.scopes[1]["headers"]) == 1_000


# --- read ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cut", [False, True], ids=["one read", "byte by byte"])
async def test_chunks_are_joined_and_trailers_are_no_headers(cut: bool) -> None:
    """A trailer must not become a header, because the trailer could replace a checked header (RFC 9110, 6.5.1)."""
    body = b"3;name=value\r\nabc\r\n2\r\nde\r\n0\r\nContent-Type: evil\r\nHost: evil\r\n\r\n"
    data = CHUNKED + body + NEXT
    application, client = await answered(*(bytes_of(data) if cut else [data]))
    assert application.bodies == [b"abcde", b""]
    assert client.statuses == [200, 200]
    assert [name for name, _ in application.scopes[0]["headers"]] == [b"host", b"transfer-encoding"]
    assert [name for name, _ in application.scopes[1]["headers"]] == [b"host"]


@pytest.mark.parametrize(
    ("target", "path", "raw_path", "query"),
    [
        (b"/a%20b/%C3%A4?x=%20&y", "/a b/ä", b"/a%20b/%C3%A4", b"x=%20&y"),
        (b"/a%2Fb%FF", "/a/b\N{REPLACEMENT CHARACTER}", b"/a%2Fb%FF", b""),
        (b"http://other:80/a?b", "/a", b"/a", b"b"),
        (b"http://other", "/", b"/", b""),
        (b"//a/b", "//a/b", b"//a/b", b""),
        (b"*", "*", b"*", b""),
    ],
)
async def test_the_target_is_split_and_unescaped(target: bytes, path: str, raw_path: bytes, query: bytes) -> None:
    """RFC 9112, 3.2, defines the forms of a request target. In ASGI, `path` is unescaped and `raw_path` is
    unchanged."""
    method = b"OPTIONS" if target == b"*" else b"GET"
    application, client = await answered(method + b" " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    (scope,) = application.scopes
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == (path, raw_path, query)
    assert client.statuses == [200]


@pytest.mark.parametrize("host", [b"other", b"other:8080", b"[::1]:9324", b"[1.2.3]", b"[::::]:1"])
@pytest.mark.parametrize("after", [b"", b"/", b"/a?b", b"?b"])
async def test_the_host_of_a_whole_url_counts(host: bytes, after: bytes) -> None:
    """The host in the URL takes precedence over the Host header, so no client can bypass the host check (RFC 9112,
    3.2.2)."""
    target = b"http://" + host + after
    application, client = await answered(b"GET " + target + b" HTTP/1.1\r\nA: 1\r\nHost: x\r\n\r\n")
    assert application.scopes[0]["headers"] == [(b"a", b"1"), (b"host", host)]
    assert client.statuses == [200]


async def test_the_scope_is_that_of_asgi() -> None:
    """The source is the ASGI specification, "HTTP Connection Scope"."""
    application, _ = await answered(b"PATCH /v1/x?y HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nx-two: \t2 \r\n\r\n")
    assert application.scopes == [
        {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "PATCH",
            "scheme": "http",
            "root_path": "",
            "path": "/v1/x",
            "raw_path": b"/v1/x",
            "query_string": b"y",
            "headers": [(b"host", b"x"), (b"x-two", b"1"), (b"x-two", b"2")],
            "server": ("127.0.0.1", 9324),
            "client": ("127.0.0.1", 50_000),
            "state": {},
        }
    ]


@pytest.mark.parametrize("cut", [None, 40, -2], ids=["one read", "in the head", "in the body"])
async def test_a_request_that_asks_for_another_protocol_is_answered_in_this_one(cut: int | None) -> None:
    """RFC 9110, 7.8: "A server MAY ignore a received Upgrade header field". The server reads the body of the request as
    usual.
    """
    upgrade = POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc"
    data = upgrade + NEXT
    application, client = await answered(*([data] if cut is None else [data[:cut], data[cut:]]))
    assert application.bodies == [b"abc", b""]
    assert client.statuses == [200, 200]
    assert b"switching" not in client.transport.written.lower()


async def test_many_of_them_in_one_read_are_answered_one_after_the_other() -> None:
    upgrade = GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    application, client = await answered(upgrade * 90 + NEXT)
    assert client.statuses == [200] * 91
    assert len(application.bodies) == 91
    _, client = await answered(upgrade * 2_000)
    assert client.statuses == [200] * 101 + [503]


@pytest.mark.parametrize("keep_alive", [b"", b"Connection: keep-alive\r\n"])
async def test_http_1_0_gets_one_response_without_chunks(keep_alive: bytes) -> None:
    """The source is RFC 9112, 6.1 and 9.3. A server does not have to honour the option keep-alive."""
    application, client = await answered(b"GET /a HTTP/1.0\r\n" + keep_alive + b"\r\n" + NEXT, NEXT)
    assert client.statuses == [200]
    assert b"connection: close\r\n" in client.transport.written
    assert b"transfer-encoding" not in client.transport.written
    assert client.transport.closed
    assert len(application.scopes) == 1


async def test_nothing_is_read_after_a_request_that_closes_the_connection() -> None:
    """RFC 9112, 9.6: the server "MUST NOT process any further requests received on that connection"."""
    application, client = await answered(GET + b"Connection: close\r\n\r\n" + NEXT, NEXT, b"\x00")
    assert client.statuses == [200]
    assert client.transport.closed
    assert len(application.scopes) == 1


async def test_empty_lines_before_a_request_are_ignored() -> None:
    """Source: RFC 9112, 2.2."""
    _, client = await answered(b"\r\n\r\n" + NEXT + b"\r\n", NEXT)
    assert client.statuses == [200, 200]


async def test_an_error_of_our_own_while_a_request_is_read_is_500(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(Recorder())
    monkeypatch.setattr(client.connection, "add_exchange", None)
    await client.say(NEXT)
    await settle()
    assert client.statuses == [500]
    assert client.transport.closed


# --- deadlines -------------------------------------------------------------------------------------------------------
# Tests the time limits of a request, in virtual time. The sources are docs/reference/settings.md and
# docs/reference/errors.md. Also tests the end of a connection on which the client is still sending. Also tests that
# receives of long messages wait for slow readers for a limited time (decision 14).


class SilentClient:
    """Imitates a client that sends no more data, and disconnects when the test sends a signal."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}


async def request_that_waits(
    deadlines: Deadlines, client: SilentClient, wait_seconds: float, seconds: float
) -> AsgiTask:
    """Sends a request that first waits and then works, and only the work counts toward the time limit."""
    request = deadlines.start_request(client.receive)
    try:
        request.pause()
        await asyncio.sleep(wait_seconds)
        request.resume()
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        assert request.end_reason is not None
    finally:
        request.close()
    return request


@pytest.mark.parametrize(
    ("wait_seconds", "seconds", "end_reason", "at"),
    [
        (0, 29, None, 29.0),
        (0, 31, EndReason.TIMED_OUT, 30.0),
        (300, 29, None, 329.0),
        (300, 31, EndReason.TIMED_OUT, 330.0),
    ],
)
async def test_a_request_ends_after_its_time_and_a_wait_does_not_count(
    wait_seconds: float, seconds: float, end_reason: EndReason | None, at: float
) -> None:
    request = await request_that_waits(Deadlines(30), SilentClient(), wait_seconds, seconds)
    assert request.end_reason is end_reason
    assert at <= asyncio.get_running_loop().time() <= at + SWEEP_SECONDS


@pytest.mark.parametrize(("stopped_seconds", "end_seconds"), [(0.9, 30.0), (20.0, 50.0)])
async def test_the_time_for_which_the_process_was_stopped_does_not_count(
    stopped_seconds: float, end_seconds: float
) -> None:
    request = asyncio.create_task(request_that_waits(Deadlines(30), SilentClient(), 0, 60))
    await asyncio.sleep(10)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.stop_process(stopped_seconds)
    assert (await request).end_reason is EndReason.TIMED_OUT
    assert loop.time() == pytest.approx(end_seconds, abs=SWEEP_SECONDS)


async def test_a_client_that_leaves_during_a_wait_ends_the_request() -> None:
    client = SilentClient()
    request = asyncio.get_running_loop().create_task(request_that_waits(Deadlines(30), client, 20, 0))
    await settle()
    client.left.set()
    assert (await request).end_reason is EndReason.DISCONNECTED
    assert asyncio.get_running_loop().time() == 0.0


async def test_an_idle_process_has_no_timer() -> None:
    deadlines = Deadlines(30)
    request = deadlines.start_request(SilentClient().receive)
    request.close()
    await asyncio.sleep(1)
    assert deadlines.due == {}
    assert deadlines._timer is None


class Socket(Transport):
    """`closed_at` is the time in seconds at which both sides were closed."""

    closed_at: float | None = None

    def close(self) -> None:
        self.closed_at = self.closed_at or asyncio.get_running_loop().time()


@pytest.mark.parametrize(("pause", "closed_at"), [(4.0, 30.0), (6.0, 5.0)])
async def test_the_reader_reads_for_30_seconds_and_5_without_a_byte(pause: float, closed_at: float) -> None:
    transport = Socket()
    lingering = LingeringClose(transport, HttpLimits(), lambda _: None)
    assert (transport.lingering, transport.closed, transport.closed_at) == (lingering, True, None)
    for _ in range(10):
        await asyncio.sleep(pause)
        if transport.closed_at is None:
            lingering.data_received(b"x")
    assert transport.closed_at == closed_at


async def test_nothing_is_left_when_the_client_has_closed() -> None:
    transport = Socket()
    lost: list[Exception | None] = []
    LingeringClose(transport, HttpLimits(), lost.append).connection_lost(None)
    await asyncio.sleep(60)
    assert (lost, transport.closed_at) == ([None], None)


HALF = HIGH_WATER_BYTES // 2


@pytest.mark.parametrize(("sizes", "much"), [((), False), ((HALF, HALF), False), ((HALF, HALF, 1), True)])
async def test_much_is_more_than_8_mib_of_all(sizes: tuple[int, ...], much: bool) -> None:
    backpressure = WriteBackpressure()
    for size in sizes:
        backpressure.add(SlowClient(size))
    assert backpressure.is_high is much


async def test_a_response_counts_until_it_is_read_for_the_most_part() -> None:
    """The transport keeps the whole response until the client has read most of it."""
    backpressure, client = WriteBackpressure(), SlowClient(HIGH_WATER_BYTES + 1)
    backpressure.add(client)
    client.unread = 70_000
    assert backpressure.is_high
    backpressure.remove(client)
    assert not backpressure.is_high
    backpressure.remove(client)  # The client has already left.


async def test_a_writer_does_not_wait_while_little_is_unread() -> None:
    backpressure = WriteBackpressure()
    backpressure.add(SlowClient(HIGH_WATER_BYTES))
    await backpressure.wait_until_low()
    assert asyncio.get_running_loop().time() == 0


async def test_all_go_on_when_enough_has_been_read() -> None:
    backpressure, clients = WriteBackpressure(), [SlowClient(HIGH_WATER_BYTES) for _ in range(3)]
    for client in clients:
        backpressure.add(client)
    waiting = [asyncio.create_task(backpressure.wait_until_low()) for _ in range(2)]
    await settle()
    backpressure.remove(clients[0])
    await settle()
    assert not any(task.done() for task in waiting)
    backpressure.remove(clients[1])
    await asyncio.gather(*waiting)
    assert asyncio.get_running_loop().time() == 0


async def test_a_slow_reader_keeps_nobody_from_receiving() -> None:
    backpressure = WriteBackpressure()
    backpressure.add(SlowClient(HIGH_WATER_BYTES + 1))
    await backpressure.wait_until_low()
    assert asyncio.get_running_loop().time() == MAX_WAIT_SECONDS


async def test_a_client_that_reads_nothing_is_disconnected() -> None:
    """The server closes the connection if the client reads no data for a minute. A client that reads one byte in a
    minute keeps the connection open.
    """
    backpressure, client = WriteBackpressure(), SlowClient(1000)
    backpressure.add(client)
    await asyncio.sleep(STALLED_SECONDS - 1)
    client.unread -= 1
    await asyncio.sleep(STALLED_SECONDS)
    assert not client.aborted
    await asyncio.sleep(1)
    assert client.aborted


async def test_a_client_that_has_read_stays_connected() -> None:
    backpressure, client = WriteBackpressure(), SlowClient(1000)
    backpressure.add(client)
    backpressure.remove(client)
    await asyncio.sleep(2 * STALLED_SECONDS)
    assert not client.aborted
