"""Tests that long requests wait for memory, in virtual time.

The limits are Penstock's choice (decision 14). docs/reference/errors.md defines the 503 with Retry-After.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

import pytest

from penstock.access.receipt_handle import ReceiptHandles
from penstock.environment import Environment
from penstock.errors import InvalidClientTokenId, RequestTimeout, ServiceUnavailable
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import SEND_MESSAGES
from penstock.settings import Settings
from penstock_web.application import Application
from penstock_web.http.request_memory import (
    FIRST_BYTES,
    PROCESSING_BYTES,
    READING_BYTES,
    LongRequest,
    MemoryBudget,
    Owner,
    compute_bytes_to_reserve,
)
from tests.support.web.fakes import HEADER, FakeDatabase, build_resources, stored
from tests.support.web.virtual_clock import settle

pytestmark = pytest.mark.virtual_time

RECEIVE = "AmazonSQS.ReceiveMessage"
WHOLE, HALF = 1000, 500
MIB = 1_048_576


class Wanted:
    """Describes a request for memory."""

    def __init__(self, size: int, address: str = "192.0.2.1", slow: bool = False, key: str = "") -> None:
        self.size = size
        self.owner = Owner(key or address, address)
        self.slow = slow
        self.is_over = asyncio.Event()

    def end_if_slow(self, bytes_a_second: float) -> None:
        if self.slow and bytes_a_second:
            self.is_over.set()


async def test_a_request_that_fits_enters_at_once_and_others_in_order() -> None:
    """A small request also waits behind a large request, because the large request could otherwise wait without end."""
    budget, inside = MemoryBudget(WHOLE, 10), list[Wanted]()

    async def acquire(request: Wanted) -> None:
        await budget.acquire(request)
        inside.append(request)

    a, b, c, d = requests = [Wanted(HALF), Wanted(HALF), Wanted(WHOLE), Wanted(1)]
    tasks = [asyncio.create_task(acquire(request)) for request in requests]
    await settle()
    assert inside == [a, b]
    budget.release(a)
    await settle()
    assert inside == [a, b]
    budget.release(b)
    await settle()
    assert inside == [a, b, c]
    budget.release(c)
    await asyncio.gather(*tasks)
    assert inside == [a, b, c, d]


async def test_addresses_take_turns() -> None:
    """An address with many concurrent requests lets requests from other addresses go first."""
    budget, inside = MemoryBudget(WHOLE, 10), list[str]()

    async def acquire(request: Wanted) -> None:
        await budget.acquire(request)
        inside.append(request.owner.address)
        await asyncio.sleep(1)
        budget.release(request)

    many = [Wanted(WHOLE, "192.0.2.1") for _ in range(5)]
    await asyncio.gather(*(acquire(request) for request in [*many, Wanted(WHOLE, "192.0.2.2")]))
    assert inside.index("192.0.2.2") <= 2


async def test_an_address_has_its_share_and_one_request_in_any_case() -> None:
    budget = MemoryBudget(WHOLE, 10, share=0.5)
    first, second = Wanted(HALF), Wanted(1)
    await budget.acquire(first)
    waiting = asyncio.create_task(budget.acquire(second))
    other = Wanted(HALF, "192.0.2.2")
    await budget.acquire(other)
    assert not waiting.done()
    budget.release(first)
    await waiting
    for request in (second, other):
        budget.release(request)
    large = Wanted(WHOLE)
    await budget.acquire(large)
    assert asyncio.get_running_loop().time() == 0


async def test_addresses_that_claim_a_key_leave_memory_to_the_owner_of_the_key() -> None:
    """The service verifies the signature after it reads the body, so any address can name a key."""
    budget, inside, key = MemoryBudget(WHOLE, 10, share=0.5), list[str](), "PSTK1"

    async def acquire(request: Wanted) -> None:
        await budget.acquire(request)
        inside.append(request.owner.address)
        await asyncio.sleep(1)
        budget.release(request)

    claims = [Wanted(WHOLE // 4, f"192.0.2.{1 + n % 2}", key=key) for n in range(12)]
    tasks = [asyncio.create_task(acquire(request)) for request in claims]
    await settle()
    assert inside == ["192.0.2.1", "192.0.2.2"]  # a quarter of the memory for each address
    await budget.acquire(Wanted(HALF, "198.51.100.2", key="PSTK2"))  # Another key holds the other half.
    await asyncio.gather(*tasks, acquire(Wanted(1, "198.51.100.1", key=key)))
    assert inside.index("198.51.100.1") <= 4


async def test_one_address_that_claims_a_key_has_half_of_the_share_of_the_key() -> None:
    budget = MemoryBudget(WHOLE, 10, share=0.5)
    held = [asyncio.create_task(budget.acquire(Wanted(100, "192.0.2.1", key="PSTK1"))) for _ in range(12)]
    await settle()
    assert sum(task.done() for task in held) == 2
    await budget.acquire(Wanted(WHOLE // 4, "198.51.100.1", key="PSTK1"))
    assert asyncio.get_running_loop().time() == 0
    for task in held:
        task.cancel()


async def test_a_request_that_waits_too_long_leaves() -> None:
    budget = MemoryBudget(WHOLE, 10)
    await budget.acquire(Wanted(HALF + 1))
    large = asyncio.create_task(budget.acquire(Wanted(WHOLE)))
    await asyncio.sleep(5)
    small = asyncio.create_task(budget.acquire(Wanted(1)))
    with pytest.raises(ServiceUnavailable):
        await large
    assert asyncio.get_running_loop().time() == 10
    await small


@pytest.mark.parametrize("steps", ["leave cancel wait", "cancel leave wait", "cancel wait leave"])
async def test_a_waiting_request_that_leaves_neither_takes_nor_frees_memory(steps: str) -> None:
    """Memory can become free just before the request leaves."""
    budget, inside = MemoryBudget(WHOLE, 10), Wanted(WHOLE)
    await budget.acquire(inside)
    waiting = asyncio.create_task(budget.acquire(Wanted(HALF)))
    await settle()
    for step in steps.split():
        if step == "leave":
            budget.release(inside)
        elif step == "cancel":
            waiting.cancel()
        else:
            await asyncio.wait([waiting])
    assert waiting.cancelled()
    await budget.acquire(Wanted(WHOLE))
    assert asyncio.get_running_loop().time() == 0
    with pytest.raises(ServiceUnavailable):
        await budget.acquire(Wanted(1))


@pytest.mark.parametrize(
    ("headers", "size"),
    [
        ([], 0),
        ([(b"content-length", b"65536")], 0),
        ([(b"content-length", b"65537")], 65_537),
        ([(b"content-length", b"99999999999")], 6_553_600),
        ([(b"transfer-encoding", b"chunked")], 6_553_600),
    ],
)
def test_only_long_bodies_need_room(headers: list[tuple[bytes, bytes]], size: int) -> None:
    """A body of unknown length needs the maximum amount: 6.25 MiB."""
    assert compute_bytes_to_reserve(headers) == size


async def test_a_slow_sender_delays_no_complete_request() -> None:
    """Only a complete request needs memory for processing."""
    reading, working, rest = MemoryBudget(3 * WHOLE, 10), MemoryBudget(WHOLE, 10), asyncio.Event()

    async def slow() -> MutableMapping[str, Any]:
        await rest.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def whole() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    slow_ones = [LongRequest(reading, working, WHOLE, name("192.0.2.1"), slow) for _ in range(2)]
    tasks = [asyncio.create_task(request.receive()) for request in slow_ones]
    await settle()
    for _ in range(3):
        request = LongRequest(reading, working, WHOLE, name("192.0.2.2"), whole)
        await request.receive()
        request.release()
    rest.set()
    await tasks[0]
    slow_ones[0].release()
    await tasks[1]
    assert asyncio.get_running_loop().time() == 0


def name(address: str) -> Callable[[], Awaitable[Owner]]:
    """Returns a function that returns the owner of a request."""

    async def find_owner() -> Owner:
        return Owner(address, address)

    return find_owner


class Sender:
    """Sends the first part of a body immediately, and the rest when the test sends a signal."""

    def __init__(self, first_bytes: int, bytes_a_second: int, whole_body: int | None = None) -> None:
        self._whole_body = whole_body or WHOLE_BODY
        self._next_bytes = first_bytes
        self._bytes_a_second = bytes_a_second
        self.sent = 0

    async def receive(self) -> MutableMapping[str, Any]:
        size, self._next_bytes = self._next_bytes, self._bytes_a_second
        if self.sent:
            await asyncio.sleep(1)
        self.sent += size
        return {"type": "http.request", "body": b"x" * size, "more_body": self.sent < self._whole_body}

    async def be_read(self, request: LongRequest) -> float:
        """Waits until the body has arrived."""
        while (await request.receive())["more_body"]:
            pass
        return asyncio.get_running_loop().time()


WHOLE_BODY = 640 * 1024


async def test_a_body_of_which_hardly_anything_comes_takes_no_memory() -> None:
    """Each connection sends one byte a second. No other request waits for the memory of these requests."""
    reading, processing = MemoryBudget(WHOLE_BODY, 10), MemoryBudget(WHOLE_BODY, 10)
    tasks = []
    for n in range(20):
        held = LongRequest(reading, processing, WHOLE_BODY, name(f"192.0.2.{n}"), Sender(1, 1).receive)
        tasks.append(asyncio.create_task(held.receive()))
    await settle()
    good = Sender(WHOLE_BODY, 0)
    assert await good.be_read(LongRequest(reading, processing, WHOLE_BODY, name("198.51.100.1"), good.receive)) == 0
    for task in tasks:
        task.cancel()


@pytest.mark.parametrize(
    ("bytes_a_second", "waits"),
    [(1, 0.25), (65_000, 0.25), (100_000, 1.25), (200_000, 2.25), (400_000, 3.25), (1_000_000, 4.25)],
)
async def test_a_body_that_comes_slowly_makes_way_the_sooner_the_slower_it_is(
    bytes_a_second: int, waits: float
) -> None:
    """While another request waits for the memory, the rate at which the body must arrive grows."""
    size = 10 * MIB
    reading, processing = MemoryBudget(size, 10), MemoryBudget(size, 10)
    sender = Sender(FIRST_BYTES, bytes_a_second, size)
    held = LongRequest(reading, processing, size, name("192.0.2.1"), sender.receive)
    slow = asyncio.create_task(sender.be_read(held))
    await asyncio.sleep(2.5)
    assert not slow.done()  # The request can be slow while no other request waits.
    good = Sender(size, 0)
    other = LongRequest(reading, processing, size, name("198.51.100.1"), good.receive)
    waiting = asyncio.create_task(good.be_read(other))
    with pytest.raises(RequestTimeout):
        await slow
    held.release()
    assert await waiting - 2.5 == pytest.approx(waits, abs=0.3)


async def test_a_body_that_comes_fast_is_read_to_its_end() -> None:
    size = 10 * MIB
    reading, processing = MemoryBudget(size, 10), MemoryBudget(size, 10)
    sender, good = Sender(FIRST_BYTES, 2 * MIB, size), Sender(size, 0)
    held = LongRequest(reading, processing, size, name("192.0.2.1"), sender.receive)
    slow = asyncio.create_task(sender.be_read(held))
    await settle()
    other = LongRequest(reading, processing, size, name("198.51.100.1"), good.receive)
    waiting = asyncio.create_task(good.be_read(other))
    assert await slow == 5
    held.release()
    await waiting


async def test_nothing_is_read_of_a_request_whose_head_is_refused() -> None:
    async def refuse() -> Owner:
        raise InvalidClientTokenId

    reading, sender = MemoryBudget(WHOLE_BODY, 10), Sender(WHOLE_BODY, 0)
    request = LongRequest(reading, reading, WHOLE_BODY, refuse, sender.receive)
    with pytest.raises(InvalidClientTokenId):
        await request.receive()
    assert sender.sent == 0


async def test_a_body_that_has_arrived_is_never_too_slow() -> None:
    """The server still waits for the disconnect of the client."""
    reading, processing = MemoryBudget(WHOLE_BODY, 10), MemoryBudget(WHOLE_BODY, 10)
    parts = [{"type": "http.request", "body": b"x" * WHOLE_BODY, "more_body": False}]

    async def receive() -> MutableMapping[str, Any]:
        if not parts:
            await asyncio.sleep(5)
            return {"type": "http.disconnect"}
        return parts.pop()

    held = LongRequest(reading, processing, WHOLE_BODY, name("192.0.2.1"), receive)
    await held.receive()
    waiting = asyncio.create_task(reading.acquire(Wanted(WHOLE_BODY)))
    assert await held.receive() == {"type": "http.disconnect"}
    held.release()
    await waiting


# --- the application -------------------------------------------------------------------------------------------------
class ClientInProcess:
    """Calls an application without sockets."""

    def __init__(self, database: FakeDatabase) -> None:
        environment = Environment(Settings.read({}, queue_request_timeout_seconds=30), ReceiptHandles(b"k" * 32))
        self._application = Application(environment, build_resources(database))
        self.read = 0  # parts of slow bodies

    async def ask(
        self, path: str, body: bytes, address: str = "192.0.2.1", **headers: str
    ) -> tuple[int, dict[bytes, bytes], Any]:
        """Returns the status, the headers and the document of the response."""
        sent: list[MutableMapping[str, Any]] = []
        given = {"content-length": str(len(body)), "content-type": "application/x-amz-json-1.0"} | headers
        pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in given.items()]
        left = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> MutableMapping[str, Any]:
            if "sent_slowly" in headers:
                await asyncio.sleep(0.5 if self.read else 0)
                self.read += 1
                return {"type": "http.request", "body": b"x" * FIRST_BYTES, "more_body": True}
            if not left:
                await asyncio.Event().wait()
            return left.pop()

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
                 "headers": pairs, "root_path": "", "scheme": "http", "http_version": "1.1",
                 "client": (address, 1)}  # fmt: skip
        await self._application(scope, receive, send)
        text = b"".join(message.get("body", b"") for message in sent)
        return sent[0]["status"], dict(sent[0]["headers"]), json.loads(text)

    async def send_message(self, length: int, address: str = "192.0.2.1") -> tuple[int, dict[bytes, bytes], Any]:
        body = json.dumps({"QueueUrl": "http://h/000000000000/orders", "MessageBody": "x" * length})
        return await self.ask("/", body.encode(), address, x_amz_target="AmazonSQS.SendMessage")


async def test_without_room_long_requests_wait_and_then_are_503() -> None:
    """A request waits for up to 10 s until the server reads it, and for up to 10 s until the server processes it. Short
    requests do not wait."""
    database = FakeDatabase(stored)
    database.hold()
    client = ClientInProcess(database)
    addresses = [f"192.0.2.{n % 4}" for n in range(READING_BYTES // MIB)]
    tasks = [asyncio.create_task(client.send_message(MIB - 1000, address)) for address in addresses]
    inside, read = tasks[: PROCESSING_BYTES // MIB], tasks[PROCESSING_BYTES // MIB :]
    await asyncio.sleep(1)
    unread = [
        client.send_message(300_000, "192.0.2.9"),
        client.ask("/v1/queues/orders/messages", b" " * 300_000, "192.0.2.10"),
    ]
    refused = [*await asyncio.gather(*read, *unread)]
    assert asyncio.get_running_loop().time() == 20  # The server finished reading these requests after 10 s.
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


async def test_one_address_leaves_half_of_the_memory_to_others() -> None:
    """The requests of one address wait for each other, but the requests of other addresses do not wait."""
    database = FakeDatabase(stored)
    database.hold()
    client = ClientInProcess(database)
    tasks = [asyncio.create_task(client.send_message(MIB - 1000)) for _ in range(READING_BYTES // MIB)]
    await settle()
    other = asyncio.create_task(client.send_message(100_000, "192.0.2.2"))
    await asyncio.sleep(1)
    database.release()
    assert (await other)[0] == 200
    assert {status for status, _, _ in await asyncio.gather(*tasks)} == {200}


@pytest.mark.parametrize("path", ["/", "/v1/queues/orders/messages", "/v1/events/x"])
async def test_a_slow_body_is_408_in_the_form_of_its_api(path: str) -> None:
    client = ClientInProcess(FakeDatabase(stored))
    headers = {"x_amz_target": "AmazonSQS.SendMessage", "content_length": str(6 * MIB)}
    slow = [asyncio.create_task(client.ask(path, b"", f"192.0.2.{n}", sent_slowly="yes", **headers)) for n in range(3)]
    await asyncio.sleep(2)
    (status, _, _) = await client.send_message(3 * MIB, "192.0.2.4")
    assert status == 413  # The server has read the body.
    assert asyncio.get_running_loop().time() < 3
    status, answered, document = next(task.result() for task in slow if task.done())
    assert (status, answered[b"connection"]) == (408, b"close")
    if path == "/":
        assert document["__type"].endswith("#RequestTimeout")
    else:
        assert document["error"]["code"] == "request_timeout"
    await asyncio.wait(slow)


def empty(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
    """Returns the rows of a database that stores every message and whose queues are empty."""
    return stored(statement, arguments) if statement is SEND_MESSAGES else [HEADER]


WAIT = {"QueueUrl": "http://h/000000000000/orders", "WaitTimeSeconds": 20}


@pytest.mark.parametrize("padding", [70_000, 1_500_000])
async def test_a_request_with_memory_for_its_length_does_not_wait_for_messages(padding: int) -> None:
    """If such requests waited with their memory, five of them would occupy all memory for 20 s."""
    client = ClientInProcess(FakeDatabase(empty))
    body = json.dumps(WAIT).encode().ljust(padding)
    asking = (client.ask("/", body, f"192.0.2.{n}", x_amz_target=RECEIVE) for n in range(5))
    assert [status for status, _, _ in await asyncio.gather(*asking)] == [200] * 5
    assert asyncio.get_running_loop().time() == 0


async def test_a_short_body_whose_length_nobody_knew_waits_and_leaves_the_memory_to_others() -> None:
    client = ClientInProcess(FakeDatabase(empty))
    body, loop = json.dumps(WAIT).encode(), asyncio.get_running_loop()
    chunked = client.ask("/", body, x_amz_target=RECEIVE, transfer_encoding="chunked")
    waiting = asyncio.create_task(chunked)
    await settle()
    assert (await client.send_message(MIB - 1000, "192.0.2.2"))[0] == 200
    assert loop.time() == 0
    assert (await waiting)[0] == 200
    assert loop.time() == 20
