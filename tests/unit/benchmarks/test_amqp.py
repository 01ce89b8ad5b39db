"""The few frames of AMQP 0-9-1 that the benchmark writes and reads, as the protocol's specification lays them out."""

import asyncio
import struct
from typing import Any

import pytest

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


class Written:
    """A transport that only remembers."""

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
    "confirms",
    [[(1, False), (2, False), (3, False)], [(3, False), (1, False), (2, False)], [(2, False), (3, True)]],
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


async def test_what_is_published_is_read_as_it_was_written() -> None:
    """A header frame with the message id, byte by byte, after the delivery that belongs to it."""
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
    """content-type, headers, delivery-mode, correlation-id, message-id: flags 15, 13, 12, 10 and 7."""
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
