"""Tests the driver for the libraries of other queues: it sends all messages, and ends when all messages have arrived or
no more messages arrive.

Also compares the benchmark's AMQP 0-9-1 frames with the specification of the protocol.
"""

import asyncio
import struct
from collections.abc import Callable
from pathlib import Path
from re import fullmatch
from typing import Any

import msgspec
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from benchmarks.load.wire import Address, Key, Requests
from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.peers import driver as peers_driver
from benchmarks.peers import packages
from benchmarks.peers.amqp import (
    ACK,
    DELIVER,
    END,
    HEADER,
    METHOD,
    NACK,
    Channel,
    field_table,
    frame,
    message_id_of,
    method,
    short,
)
from benchmarks.peers.driver import Driver, Order
from benchmarks.peers.library_peer import SHAPES, LibraryPeer
from benchmarks.peers.makers import FailureTolerantPeer
from benchmarks.report.runs import marks_of
from benchmarks.scenarios import SCENARIOS


class Memory(Driver):
    """Imitates a queue that loses the messages whose numbers are in `lost`."""

    lost: frozenset[str] = frozenset()

    def __init__(self, order: Order) -> None:
        super().__init__(order)
        self.calls: list[int] = []
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._began = 0.0

    async def send(self, connection: int, count: int) -> list[str]:
        ids = [f"{connection}-{len(self.calls)}-{n}" for n in range(count)]
        self.calls.append(count)
        for each in ids:
            if each not in self.lost:
                self._queue.put_nowait(each)
        await asyncio.sleep(0)
        return ids

    async def receive(self, on_received: Callable[[list[str]], None]) -> None:
        while True:
            on_received([await self._queue.get()])


class Leaking(Memory):
    lost = frozenset({"0-0-0"})


def order(size: int, to_send: int, to_receive: int) -> Order:
    return {
        "senders": 3, "size": size, "to_send": to_send, "to_receive": to_receive, "stall_seconds": 0.05, "idle": False,
    }  # fmt: skip


async def test_an_idle_consumer_gets_one_message_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_driver, "PAUSE_SECONDS", (0, 0))
    driver = Memory(order(1, 5, 5) | {"senders": 1, "idle": True})
    await driver.run_order()
    assert driver.calls == [1] * 5
    assert driver.record.received == driver.record.sent
    assert len(driver.record.call_seconds) == 5


@pytest.mark.parametrize(("size", "most"), [(1, 1), (10, 10), (0, 10)])
async def test_all_is_sent_in_calls_of_the_size_and_received(size: int, most: int) -> None:
    driver = Memory(order(size, 57, 57))
    await driver.run_order()
    assert sum(driver.calls) == 57
    assert max(driver.calls) <= most
    assert sorted(driver.record.received) == sorted(driver.record.sent)
    assert len(set(driver.record.sent)) == 57


async def test_a_loss_ends_the_run_and_shows() -> None:
    driver = Leaking(order(1, 9, 9))
    await driver.run_order()
    assert set(driver.record.sent) - set(driver.record.received) == {"0-0-0"}


async def test_a_failure_of_the_library_is_raised() -> None:
    class Failing(Memory):
        async def receive(self, on_received: Callable[[list[str]], None]) -> None:
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await Failing(order(1, 3, 3)).run_order()


class Nowhere(LibraryPeer):
    name = "nowhere"

    def details(self) -> dict[str, object]:
        return {}


@pytest.mark.parametrize(
    ("scenario", "senders", "receivers", "size"),
    [
        ("send_1", 16, 0, 1),
        ("send_10", 16, 0, 10),
        ("warski", 8, 8, 0),
        ("receive_delete_10", 0, 16, 10),
        ("queue_add", 1, 0, 1),
        ("queue_add_bulk", 1, 0, 50),
        ("worker_generic", 0, 1, 1),
        ("worker_concurrent", 0, 16, 10),
    ],
)
def test_a_library_gets_the_shape_of_the_scenario(scenario: str, senders: int, receivers: int, size: int) -> None:
    given = Nowhere().order_of("q", SHAPES[scenario], Plan(16, 100, 10))
    assert (given["senders"], given["receivers"], given["size"]) == (senders, receivers, size)


def test_packages_are_brought_again_when_they_changed(tmp_path: Path) -> None:
    assert not packages.is_complete(tmp_path, ["a==1"])
    packages.mark_complete(tmp_path, ["a==1", "b"])
    assert packages.is_complete(tmp_path, ["a==1", "b"])
    assert not packages.is_complete(tmp_path, ["a==2", "b"])


def test_a_peer_that_fails_is_a_line_that_is_not_valid() -> None:
    class Broken(Nowhere):
        def run(self, *_: object) -> Outcome:
            raise RuntimeError("the driver said nothing")

    peer: Any = Broken()
    peer.start = peer.stop = peer.facts = peer.disk_bytes = peer.pss_bytes = lambda: None
    run = FailureTolerantPeer(peer).run(SCENARIOS["send_1"], Plan(1, 10, 100))
    assert (run.messages, run.valid) == (0, False)
    assert "the driver said nothing" in marks_of([run])[0]


class Written:
    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def connected() -> tuple[Channel, Written, list[tuple[str, int]]]:
    delivered: list[tuple[str, int]] = []
    channel, transport = Channel(lambda message_id, tag: delivered.append((message_id, tag))), Written()
    given: Any = transport
    channel.connection_made(given)
    return channel, transport, delivered


def ack(tag: int, multiple: bool = False) -> bytes:
    return method(1, ACK, struct.pack(">QB", tag, multiple))


async def published(channel: Channel, count: int) -> "asyncio.Task[None]":
    task = asyncio.create_task(channel.publish("q", [(f"m{n}", b"body") for n in range(count)]))
    await asyncio.sleep(0)
    return task


def test_a_frame_has_its_length_and_its_end() -> None:
    assert frame(METHOD, 1, b"abc") == b"\x01\x00\x01\x00\x00\x00\x03abc" + END


@pytest.mark.parametrize(
    "confirms", [[(1, False), (2, False), (3, False)], [(3, False), (1, False), (2, False)], [(2, False), (3, True)]]
)
async def test_a_publish_waits_for_all_confirms_in_any_order(confirms: list[tuple[int, bool]]) -> None:
    channel, _, _ = connected()
    task = await published(channel, 3)
    for number, confirm in enumerate(confirms):
        assert not task.done(), number
        channel.data_received(ack(*confirm))
        await asyncio.sleep(0)
    await task


async def test_a_refused_publish_raises() -> None:
    channel, _, _ = connected()
    task = await published(channel, 1)
    channel.data_received(method(1, NACK, struct.pack(">QB", 1, 0)))
    with pytest.raises(OSError, match="refused"):
        await task


async def test_a_published_message_is_read_as_it_was_written() -> None:
    """After a delivery, the test feeds the header frame with its message id byte by byte."""
    sender, transport, _ = connected()
    task = await published(sender, 1)
    task.cancel()
    header = next(part for part in frames(transport.data) if part[0] == HEADER)
    reader, _, delivered = connected()
    deliver = method(1, DELIVER, short("c") + struct.pack(">QB", 42, 0) + short("") + short("q"))
    for byte in deliver + header:
        reader.data_received(bytes([byte]))
    assert delivered == [("m0", 42)]


def test_the_message_id_is_found_behind_other_properties() -> None:
    """The flags of content-type, headers, delivery-mode, correlation-id and message-id are 15, 13, 12, 10 and 7."""
    flags = 1 << 15 | 1 << 13 | 1 << 12 | 1 << 10 | 1 << 7
    table = field_table({"x-delivery-count": "1"})
    properties = short("text/plain") + table + b"\x02" + short("c") + short("the-id")
    assert message_id_of(struct.pack(">HHQH", 60, 0, 4, flags) + properties) == "the-id"


def frames(data: bytes) -> list[bytes]:
    found = []
    while data:
        (size,) = struct.unpack_from(">I", data, 3)
        found.append(data[: size + 8])
        data = data[size + 8 :]
    return found


# --- signing ---------------------------------------------------------------------------------------------------------
# Compares the load generator's signatures with botocore's.


KEY = Key("111122223333", "PSTKAAAAAAAAAAAAAAAA", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")


def test_a_request_is_signed_as_botocore_signs_it() -> None:
    address = Address("127.0.0.1", 9324, "orders", KEY.account, KEY)
    request = Requests(address).send("hello")
    head, _, body = request.data.partition(b"\r\n\r\n")
    sent = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert msgspec.json.decode(body)["QueueUrl"] == "http://127.0.0.1:9324/111122223333/orders"

    names = ("Content-Type", "X-Amz-Target", "Host")
    expected = AWSRequest("POST", "http://127.0.0.1:9324/", headers={name: sent[name] for name in names}, data=body)
    signer = SigV4Auth(Credentials(KEY.key_id, KEY.secret), "sqs", "us-east-1")
    expected.context["timestamp"] = sent["X-Amz-Date"]
    expected.headers["X-Amz-Date"] = sent["X-Amz-Date"]
    canonical = signer.canonical_request(expected)
    signature = signer.signature(signer.string_to_sign(expected, canonical), expected)
    assert sent["Authorization"].endswith(f"Signature={signature}")
    assert fullmatch(r"\d{8}T\d{6}Z", sent["X-Amz-Date"])


def test_without_a_key_nothing_is_signed() -> None:
    request = Requests(Address("127.0.0.1", 9324, "orders")).send("hello")
    assert b"X-Amz-Date" not in request.data
    assert request.data.count(b"Authorization: ") == 1
