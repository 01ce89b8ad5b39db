"""Tests the HTTP server on real sockets in the service's event loop. The sources are RFC 9112, 9, and
docs/explain/internals.md."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock import __version__
from penstock.actions import SERVICES
from penstock_web.http.http_server import HttpServer
from penstock_web.http.limits import HttpLimits
from penstock_web.server import open_listening_socket
from tests.support.database import Database, set_read_only
from tests.support.programs.penstock_service import Service, running_service

Message = MutableMapping[str, Any]
GET = b"GET /%b HTTP/1.1\r\nHost: x\r\n\r\n"
LONG = b"x" * 2_000_000


class Application:
    """Answers /wait on a signal of the test or when the client disconnects, /long with 2 MB, and other paths
    immediately. The application refuses a request without reading the body.
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


class ServerInLoop:
    def __init__(self, limits: HttpLimits | None) -> None:
        self.application = Application()
        self.server = HttpServer(self.application, limits=limits)
        self._listener = open_listening_socket("127.0.0.1", 0, reuse_port=False)
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
async def serve(limits: HttpLimits | None = None) -> AsyncIterator[ServerInLoop]:
    service = ServerInLoop(limits)
    await service.start()
    try:
        yield service
    finally:
        await service.server.stop(0)


@pytest.mark.uvloop
async def test_requests_of_one_connection_are_answered() -> None:
    async with serve() as service, service.client() as (reader, writer):
        for path in (b"a", b"b"):
            writer.write(GET % path)
            assert await response(reader) == (200, b"/" + path)
        writer.write(b"".join(GET % b"%d" % n for n in range(50)))
        assert [await response(reader) for _ in range(50)] == [(200, b"/%d" % n) for n in range(50)]


@pytest.mark.uvloop
async def test_a_client_that_reads_nothing_holds_back_its_own_responses_alone() -> None:
    """The server starts no further requests of this client, but answers other clients."""
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


@pytest.mark.uvloop
@pytest.mark.parametrize("reset", [False, True])
async def test_a_client_that_leaves_while_its_request_waits_ends_it(reset: bool) -> None:
    """A half-closed connection counts as disconnected, because the server cannot detect whether the client still
    reads."""
    async with serve() as service, service.client() as (_, writer):
        writer.write(GET % b"wait")
        await service.application.waits.wait()
        if reset:
            writer.transport.abort()
        else:
            writer.write_eof()
        await service.application.disconnected.wait()


@pytest.mark.uvloop
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
    """Sends the whole request or half of the request, and then reads. Returns the bytes that it read."""
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length)
    client.sendall(bytes(length if whole else length // 2))
    response = b""
    while part := client.recv(65_536):
        response += part
    return response, client


@pytest.mark.uvloop
async def test_a_client_that_is_still_sending_reads_its_response() -> None:
    """An immediate close would reset the connection (RFC 9112, 9.6), and SDKs would retry the request."""
    async with serve() as service:
        response, client = await asyncio.to_thread(upload, service.port, 30_000_000)
        client.close()
        assert response.startswith(b"HTTP/1.1 413 ")
        assert response.endswith(b"too long")


@pytest.mark.uvloop
async def test_the_end_of_the_process_waits_for_no_upload() -> None:
    async with serve(HttpLimits(linger_seconds=3_600, linger_idle_seconds=3_600)) as service:
        response, client = await asyncio.to_thread(upload, service.port, 1_000_000, whole=False)
        assert response.endswith(b"too long")
        await service.server.stop(3_600)
        client.close()


# --- the end ---------------------------------------------------------------------------------------------------------
@pytest.mark.uvloop
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


@pytest.mark.uvloop
@pytest.mark.parametrize("at_once", [False, True])
async def test_stop_ends_what_takes_too_long(at_once: bool) -> None:
    """The server ends after its time limit or at the second signal."""
    async with serve() as service, service.client() as (reader, writer):
        writer.write(GET % b"wait")
        await service.application.waits.wait()
        signal = asyncio.Event()
        if at_once:
            signal.set()
        await service.server.stop(60 if at_once else 0, signal)
        assert await response(reader) == (503, b"/wait")
        assert service.application.cancelled


# --- memory ----------------------------------------------------------------------------------------------------------
# Tests that memory use has a limit for messages of any length and number, and that unauthenticated clients cannot use
# all memory. Decision 14 sets the limit of 120 MB.
#
# Tests GET /_localstack/health, which scripts poll until LocalStack is ready. LocalStack's page "Internal Endpoints"
# names the path. The scripts search the response for the states "running" and "error".

MIB = 1_048_576
BODY = "x" * MIB
SENDERS = 40
# The limit covers all concurrent requests together. With four copies of each message, the messages of all senders would
# need 160 MiB.
SPARE_MIB = 50


def at_most(service: Service) -> int:
    """Returns the peak resident memory of the process in KiB: VmHWM of proc(5)."""
    status = Path(f"/proc/{service.process_id}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel does not tell")
def test_long_messages_from_many_at_once(database: Database) -> None:
    """The service accepts 40 MiB at the same time, and returns the messages in responses of several MiB."""
    with running_service(database.api_dsn) as service, service.http() as http:
        url = service.sqs().create_queue(QueueName="orders")["QueueUrl"]

        def call(action: str, **request: object) -> dict[str, list[dict[str, str]]]:
            headers = {"x-amz-target": f"AmazonSQS.{action}", "content-type": "application/x-amz-json-1.0"}
            response = http.post("/", headers=headers, content=json.dumps({"QueueUrl": url, **request}))
            assert response.status_code == 200, response.text[:200]
            found: dict[str, list[dict[str, str]]] = response.json()
            return found

        call("SendMessage", MessageBody=BODY)
        before = at_most(service)
        with ThreadPoolExecutor(SENDERS) as threads:
            list(threads.map(lambda _: call("SendMessage", MessageBody=BODY), range(SENDERS)))
            taken = threads.map(lambda _: call("ReceiveMessage", MaxNumberOfMessages=10), range(11))
            bodies = [message["Body"] for response in taken for message in response.get("Messages", ())]
        assert len(bodies) == SENDERS + 1
        assert set(bodies) == {BODY}
        assert (at_most(service) - before) / 1024 < SPARE_MIB


def test_strangers_who_send_slowly_take_no_memory_from_others(database: Database) -> None:
    """Unauthenticated clients at other addresses declare all 20 MiB in their headers, but send very few bytes."""
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    with running_service(database.api_dsn) as service, ExitStack() as strangers:
        client = service.sqs()
        url, port = client.create_queue(QueueName="orders")["QueueUrl"], int(service.url.rpartition(":")[2])
        for n, length in enumerate((6 * MIB, 6 * MIB, 6 * MIB, 2 * MIB)):
            connection = socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.0.{n + 2}", 0))
            strangers.enter_context(connection)
            connection.sendall(head % length + b"x" * 100_000)
        for _ in range(20):
            client.send_message(QueueUrl=url, MessageBody=BODY[:100_000])
        counts = client.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        assert counts["Attributes"]["ApproximateNumberOfMessages"] == "20"


PATH = "/_localstack/health"


def test_the_health_page_names_services_edition_and_version(database: Database) -> None:
    with running_service(database.api_dsn, QUEUE_LOCALSTACK_HEALTH="true") as service, service.http() as http:
        expected = {"services": dict.fromkeys(SERVICES, "running"), "edition": "penstock", "version": __version__}
        response = http.get(PATH)
        assert (response.status_code, response.json()) == (200, expected)
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            set_read_only(connection, database.name, "on")
        response = http.get(PATH)
        assert (response.status_code, set(response.json()["services"].values())) == (200, {"error"})


@pytest.mark.parametrize(("setting", "status"), [("true", 200), ("false", 404)])
def test_the_health_page_needs_the_setting_and_no_credentials(database: Database, setting: str, status: int) -> None:
    settings = {"QUEUE_LOCALSTACK_HEALTH": setting, "QUEUE_ACCESS": "presence"}
    with running_service(database.api_dsn, **settings) as service, service.http() as http:
        assert http.get(PATH).status_code == status
        assert http.post(PATH, json={"action": "kill"}).status_code in {404, 405}
        assert http.get("/livez").status_code == 200
