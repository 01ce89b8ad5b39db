"""Long requests wait for memory, in virtual time.

Source: our choice (decision 14); 503 with Retry-After: docs/errors.md.
"""

import asyncio
import json
from collections.abc import MutableMapping, Sequence
from typing import Any

import pytest

from penstock.effects import Row
from penstock.environment import Environment
from penstock.errors import ServiceUnavailable
from penstock.receipt_handle import ReceiptHandles
from penstock.settings import Settings
from penstock_web.application import Application
from penstock_web.http.request_memory import (
    PROCESSING_BYTES,
    READING_BYTES,
    LongRequest,
    MemoryBudget,
    bytes_to_reserve,
)
from tests.support.web.fake_database import FakeDatabase
from tests.support.web.fake_queue import stored
from tests.support.web.virtual_clock import run, settle
from tests.unit.web.test_driver import resources_on

WHOLE, HALF = 1000, 500
MIB = 1_048_576


def test_who_fits_goes_in_at_once_and_the_others_in_their_order() -> None:
    """Also a small one waits behind a large one, which else might wait forever."""

    async def scenario() -> None:
        budget, inside = MemoryBudget(WHOLE, 10), list[str]()

        async def acquire(name: str, size: int) -> None:
            await budget.acquire(size)
            inside.append(name)

        requests = [acquire("a", HALF), acquire("b", HALF), acquire("c", WHOLE), acquire("d", 1)]
        tasks = [asyncio.create_task(request) for request in requests]
        await settle()
        assert inside == ["a", "b"]
        budget.release(HALF)
        await settle()
        assert inside == ["a", "b"]
        budget.release(HALF)
        await settle()
        assert inside == ["a", "b", "c"]
        budget.release(WHOLE)
        await asyncio.gather(*tasks)
        assert inside == ["a", "b", "c", "d"]

    run(scenario())


def test_who_waits_too_long_makes_way() -> None:
    async def scenario() -> None:
        budget = MemoryBudget(WHOLE, 10)
        await budget.acquire(HALF + 1)
        large = asyncio.create_task(budget.acquire(WHOLE))
        await asyncio.sleep(5)
        small = asyncio.create_task(budget.acquire(1))
        with pytest.raises(ServiceUnavailable):
            await large
        assert asyncio.get_running_loop().time() == 10
        await small

    run(scenario())


@pytest.mark.parametrize("steps", ["leave cancel wait", "cancel leave wait", "cancel wait leave"])
def test_who_leaves_while_waiting_takes_no_room_and_gives_none(steps: str) -> None:
    """Also when there was room just then, and nobody told it yet."""

    async def scenario() -> None:
        budget = MemoryBudget(WHOLE, 10)
        await budget.acquire(WHOLE)
        waiting = asyncio.create_task(budget.acquire(HALF))
        await settle()
        for step in steps.split():
            if step == "leave":
                budget.release(WHOLE)
            elif step == "cancel":
                waiting.cancel()
            else:
                await asyncio.wait([waiting])
        assert waiting.cancelled()
        await budget.acquire(WHOLE)
        assert asyncio.get_running_loop().time() == 0
        with pytest.raises(ServiceUnavailable):
            await budget.acquire(1)

    run(scenario())


@pytest.mark.parametrize(
    ("headers", "size"),
    [
        ([], 0),
        ([(b"content-length", b"65536")], 0),
        ([(b"content-length", b"65537")], 65_537),
        ([(b"content-length", b"99999999999")], 6 * MIB),
        ([(b"transfer-encoding", b"chunked")], 6 * MIB),
    ],
)
def test_only_long_bodies_need_room(headers: list[tuple[bytes, bytes]], size: int) -> None:
    """Of one whose length nobody knows, as much as a body may have: 6 MiB."""
    assert bytes_to_reserve(headers) == size


def test_who_sends_slowly_keeps_nobody_from_being_worked_on() -> None:
    """Only who is there whole takes room where the work is done."""

    async def scenario() -> None:
        reading, working, rest = MemoryBudget(3 * WHOLE, 10), MemoryBudget(WHOLE, 10), asyncio.Event()

        async def slow() -> MutableMapping[str, Any]:
            await rest.wait()
            return {"type": "http.request", "body": b"", "more_body": False}

        async def whole() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        slow_ones = [LongRequest(reading, working, WHOLE, slow) for _ in range(2)]
        tasks = [asyncio.create_task(request.receive()) for request in slow_ones]
        await settle()
        for _ in range(3):
            request = LongRequest(reading, working, WHOLE, whole)
            await request.receive()
            request.release()
        rest.set()
        await tasks[0]
        slow_ones[0].release()
        await tasks[1]
        assert asyncio.get_running_loop().time() == 0

    run(scenario())


# --- the application -------------------------------------------------------------------------------------------------
class Database(FakeDatabase):
    """One that the page of health can ask, too."""

    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[Row]:
        return []


class Client:
    """Asks an application without sockets."""

    def __init__(self, database: Database) -> None:
        environment = Environment(
            Settings.read({}, queue_request_timeout_seconds=30), ReceiptHandles(b"k" * 32)
        )
        self._application = Application(environment, resources_on(database))
        self.read = 0  # bodies

    async def ask(self, path: str, body: bytes, **headers: str) -> tuple[int, dict[bytes, bytes], Any]:
        """Status, headers and document of the answer."""
        sent: list[MutableMapping[str, Any]] = []
        given = {"content-length": str(len(body)), "content-type": "application/x-amz-json-1.0"} | headers
        pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in given.items()]
        left = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> MutableMapping[str, Any]:
            if not left:
                await asyncio.Event().wait()
            self.read += 1
            return left.pop()

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
                 "headers": pairs, "root_path": "", "scheme": "http", "http_version": "1.1"}  # fmt: skip
        await self._application(scope, receive, send)
        text = b"".join(message.get("body", b"") for message in sent)
        return sent[0]["status"], dict(sent[0]["headers"]), json.loads(text)

    async def send_message(self, length: int) -> tuple[int, dict[bytes, bytes], Any]:
        body = json.dumps({"QueueUrl": "http://h/000000000000/orders", "MessageBody": "x" * length})
        return await self.ask("/", body.encode(), x_amz_target="AmazonSQS.SendMessage")


def test_without_room_long_requests_wait_and_then_are_503() -> None:
    """10 s to be read, and 10 s to be worked on. Short ones pass; with room, the same are answered."""

    async def scenario() -> None:
        database = Database(stored)
        database.hold()
        client = Client(database)
        inside = [
            asyncio.create_task(client.send_message(MIB - 1000)) for _ in range(PROCESSING_BYTES // MIB)
        ]
        await settle()
        read = [asyncio.create_task(client.send_message(MIB - 1000)) for _ in range(READING_BYTES // MIB - 6)]
        await asyncio.sleep(1)
        assert client.read == READING_BYTES // MIB
        unread = [client.send_message(100_000), client.ask("/v1/queues/orders/messages", b" " * 100_000)]
        refused = [*await asyncio.gather(*read, *unread)]
        assert asyncio.get_running_loop().time() == 20  # these were read after 10
        for status, headers, _ in refused:
            assert (status, headers[b"retry-after"], headers[b"connection"]) == (503, b"1", b"close")
        *aws, native = (document for _, _, document in refused)
        assert all(document["__type"].endswith("#ServiceUnavailable") for document in aws)
        assert native["error"]["code"] == "service_unavailable"
        short = asyncio.create_task(client.send_message(100))
        await settle()
        database.release()
        assert [status for status, _, _ in await asyncio.gather(*inside, short)] == [200] * 7
        assert (await client.send_message(100_000))[0] == 200

    run(scenario())
