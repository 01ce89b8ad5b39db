"""Tests the HTTP server on real sockets in the service's event loop. Source: RFC 9112, 9;
docs/explain/internals.md.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from penstock_web.http.http_server import HttpServer
from penstock_web.http.limits import HttpLimits
from penstock_web.server import listening_socket

pytestmark = pytest.mark.uvloop

Message = MutableMapping[str, Any]
GET = b"GET /%b HTTP/1.1\r\nHost: x\r\n\r\n"
LONG = b"x" * 2_000_000


class Application:
    """Answers /wait on the test's signal or when the client disconnects, /long with 2 MB, and other paths at once.
    The application refuses a request with a body before it reads the body.
    """

    def __init__(self) -> None:
        self.waits = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.disconnected = asyncio.Event()
        self.cancelled = False

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        body = scope["raw_path"]
        if body == b"/wait":
            self.waits.set()
            await self._wait(receive)
        if body == b"/long":
            body = LONG
        if scope["method"] == "POST":
            await send({"type": "http.response.start", "status": 413, "headers": [(b"connection", b"close")]})
            await send({"type": "http.response.body", "body": b"too long"})
            return
        await send({"type": "http.response.start", "status": 503 if self.cancelled else 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def _wait(self, receive: Any) -> None:
        await receive()
        waits = [asyncio.ensure_future(self.goes_on.wait()), asyncio.ensure_future(receive())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.cancelled = True
        if waits[1].done():
            self.disconnected.set()
        for wait in waits:
            wait.cancel()


class Service:
    def __init__(self, limits: HttpLimits | None) -> None:
        self.application = Application()
        self.server = HttpServer(self.application, limits=limits)
        self._listener = listening_socket("127.0.0.1", 0, reuse_port=False)
        self.port = self._listener.getsockname()[1]

    async def start(self) -> None:
        await self.server.start(self._listener)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield reader, writer
        finally:
            writer.close()


async def response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Returns the status and body of the next response."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
    return int(head.split(b" ")[1]), await reader.readexactly(length)


@asynccontextmanager
async def serve(limits: HttpLimits | None = None) -> AsyncIterator[Service]:
    service = Service(limits)
    await service.start()
    try:
        yield service
    finally:
        await service.server.stop(0)


async def test_requests_of_one_connection_are_answered() -> None:
    async with serve() as service, service.client() as (reader, writer):
        for path in (b"a", b"b"):
            writer.write(GET % path)
            assert await response(reader) == (200, b"/" + path)
        writer.write(b"".join(GET % b"%d" % n for n in range(50)))
        assert [await response(reader) for _ in range(50)] == [(200, b"/%d" % n) for n in range(50)]


async def test_a_client_that_reads_nothing_holds_back_its_own_responses_alone() -> None:
    """The server does not begin further requests of this client, and it answers other clients."""
    async with serve() as service:
        slow = socket.create_connection(("127.0.0.1", service.port))
        slow.setblocking(False)
        slow.sendall((GET % b"long") * 5 + GET % b"wait")
        async with service.client() as (reader, writer):
            for _ in range(20):
                writer.write(GET % b"a")
                assert await response(reader) == (200, b"/a")
        assert not service.application.waits.is_set()
        loop, received = asyncio.get_running_loop(), 0
        while received < 5 * len(LONG):
            received += len(await loop.sock_recv(slow, 1_000_000))
        await service.application.waits.wait()
        slow.close()
        await service.application.disconnected.wait()


@pytest.mark.parametrize("reset", [False, True])
async def test_a_client_that_leaves_while_its_request_waits_ends_it(reset: bool) -> None:
    """A shutdown of one direction counts too, because the server cannot know that the client still reads."""
    async with serve() as service, service.client() as (_, writer):
        writer.write(GET % b"wait")
        await service.application.waits.wait()
        if reset:
            writer.transport.abort()
        else:
            writer.write_eof()
        await service.application.disconnected.wait()


async def test_connections_beyond_the_limit_are_503_until_others_are_closed() -> None:
    async with serve(HttpLimits(max_connections=1)) as service:
        async with service.client() as (reader, writer):
            writer.write(GET % b"a")
            await response(reader)
            async with service.client() as (other_reader, _):
                assert (await response(other_reader))[0] == 503
                assert await other_reader.read() == b""
        status = 503
        while status == 503:  # The loop runs until the server has noticed the disconnect.
            async with service.client() as (reader, writer):
                writer.write(GET % b"a")
                status, _ = await response(reader)
        assert status == 200


def upload(port: int, length: int, *, whole: bool = True) -> tuple[bytes, socket.socket]:
    """Lets a client first send the whole request or half of it and then read. Returns the read bytes."""
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length)
    client.sendall(bytes(length if whole else length // 2))
    answer = b""
    while part := client.recv(65_536):
        answer += part
    return answer, client


async def test_a_client_that_is_still_sending_reads_its_answer() -> None:
    """A connection that is closed at once is reset (RFC 9112, 9.6), and SDKs send the request again."""
    async with serve() as service:
        answer, client = await asyncio.to_thread(upload, service.port, 30_000_000)
        client.close()
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert answer.endswith(b"too long")


async def test_it_is_not_waited_for_at_the_end_of_the_process() -> None:
    async with serve(HttpLimits(linger_seconds=3_600, linger_idle_seconds=3_600)) as service:
        answer, client = await asyncio.to_thread(upload, service.port, 1_000_000, whole=False)
        assert answer.endswith(b"too long")
        await service.server.stop(3_600)
        client.close()


# --- the end ---------------------------------------------------------------------------------------------------------
async def test_stop_closes_idle_connections_and_waits_for_the_others() -> None:
    async with serve() as service, service.client() as (reader, writer), service.client() as (idle, idle_writer):
        idle_writer.write(GET % b"a")
        await response(idle)
        writer.write(GET % b"wait")
        await service.application.waits.wait()
        stopped = asyncio.create_task(service.server.stop(60))
        assert await idle.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", service.port)
        assert not stopped.done()
        service.application.goes_on.set()
        assert await response(reader) == (200, b"/wait")
        assert await reader.read() == b""
        await stopped


@pytest.mark.parametrize("at_once", [False, True])
async def test_stop_ends_what_takes_too_long(at_once: bool) -> None:
    """The server ends when its time is over or at the second signal."""
    async with serve() as service, service.client() as (reader, writer):
        writer.write(GET % b"wait")
        await service.application.waits.wait()
        signal = asyncio.Event()
        if at_once:
            signal.set()
        await service.server.stop(60 if at_once else 0, signal)
        assert await response(reader) == (503, b"/wait")
        assert service.application.cancelled
