"""Implements a part of AMQP 0-9-1: a client publishes with confirms, consumes and acknowledges on one channel.

Client libraries use more CPU than the broker, and six times the CPU of this module
(docs/decisions/0015-libraries-beside-the-hot-path.md).
"""

import asyncio
import struct
from collections.abc import Callable
from typing import cast

METHOD, HEADER, BODY, END = 1, 2, 3, b"\xce"
PERSISTENT = 2
DELIVERY_MODE, MESSAGE_ID = 1 << 12, 1 << 7
# The delivery mode and the priority come first. All other properties before the id are strings.
HEADERS_BIT, OCTET_BITS = 13, (12, 11)
Method = tuple[int, int]

START, START_OK = (10, 10), (10, 11)
TUNE, TUNE_OK = (10, 30), (10, 31)
OPEN, OPEN_OK = (10, 40), (10, 41)
CLOSE, CHANNEL_CLOSE = (10, 50), (20, 40)
CHANNEL_OPEN, CHANNEL_OPEN_OK = (20, 10), (20, 11)
DECLARE, DECLARE_OK = (50, 10), (50, 11)
CONFIRM, CONFIRM_OK = (85, 10), (85, 11)
QOS, QOS_OK = (60, 10), (60, 11)
CONSUME, CONSUME_OK = (60, 20), (60, 21)
PUBLISH, DELIVER, ACK, NACK = (60, 40), (60, 60), (60, 80), (60, 120)


def short(text: str) -> bytes:
    data = text.encode()
    return bytes([len(data)]) + data


def long(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def field_table(values: dict[str, str]) -> bytes:
    return long(b"".join(short(name) + b"S" + long(value.encode()) for name, value in values.items()))


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + END


def method(channel: int, name: Method, arguments: bytes = b"") -> bytes:
    return frame(METHOD, channel, struct.pack(">HH", *name) + arguments)


def message_id_of(header: bytes) -> str:
    """Returns the message id in a content header.

    The header contains the class, the weight, the body size, the flags, and the properties whose flags are set, in the
    order of the flags. A quorum queue adds a table of headers to a redelivered message.
    """
    (flags,) = struct.unpack_from(">H", header, 12)
    at = 14
    for bit in range(15, 7, -1):
        if not flags & 1 << bit:
            continue
        if bit == HEADERS_BIT:
            at += 4 + int(struct.unpack_from(">I", header, at)[0])
        else:
            at += 1 if bit in OCTET_BITS else 1 + header[at]
    return header[at + 1 : at + 1 + header[at]].decode() if flags & MESSAGE_ID else ""


class Channel(asyncio.Protocol):
    """Implements a connection with one channel. Calls `delivered` with the id and the delivery tag of each message."""

    def __init__(self, delivered: Callable[[str, int], None] = lambda *_: None) -> None:
        self._delivered = delivered
        self._buffer = b""
        self._answers: asyncio.Queue[Method | Exception] = asyncio.Queue()
        self._published = 0
        self._confirmed_until = 0
        self._confirmed_early: set[int] = set()
        self._waiting: tuple[int, asyncio.Future[None]] | None = None
        self._tag = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionResetError("the broker closed the connection"))

    async def open(self) -> None:
        """Completes the handshake and opens the channel."""
        self._transport.write(b"AMQP\x00\x00\x09\x01")
        await self._expect(START)
        login = field_table({}) + short("PLAIN") + long(b"\x00guest\x00guest") + short("en_US")
        self._transport.write(method(0, START_OK, login))
        await self._expect(TUNE)
        self._transport.write(method(0, TUNE_OK, struct.pack(">HIH", 16, 131_072, 0)))
        await self.ask(0, OPEN, short("/") + short("") + b"\x00", OPEN_OK)
        await self.ask(1, CHANNEL_OPEN, short(""), CHANNEL_OPEN_OK)

    async def ask(self, channel: int, name: Method, arguments: bytes, answer: Method) -> None:
        self._transport.write(method(channel, name, arguments))
        await self._expect(answer)

    async def declare(self, queue: str, kind: str) -> None:
        """Declares a durable queue of the kind `classic`, `lazy` or `quorum`."""
        values = {"x-queue-mode": "lazy"} if kind == "lazy" else {"x-queue-type": kind}
        await self.ask(1, DECLARE, b"\x00\x00" + short(queue) + b"\x02" + field_table(values), DECLARE_OK)

    async def confirm(self) -> None:
        await self.ask(1, CONFIRM, b"\x00", CONFIRM_OK)

    async def consume(self, queue: str, prefetch: int) -> None:
        await self.ask(1, QOS, struct.pack(">IHB", 0, prefetch, 0), QOS_OK)
        await self.ask(1, CONSUME, b"\x00\x00" + short(queue) + short("c") + b"\x00" + field_table({}), CONSUME_OK)

    async def publish(self, queue: str, messages: list[tuple[str, bytes]]) -> None:
        """Publishes persistent messages (id, body) in one write, and waits for all confirms. Raises OSError."""
        start = method(1, PUBLISH, b"\x00\x00" + short("") + short(queue) + b"\x00")
        parts: list[bytes] = []
        for message_id, body in messages:
            head = struct.pack(">HHQHB", 60, 0, len(body), DELIVERY_MODE | MESSAGE_ID, PERSISTENT) + short(message_id)
            parts += (start, frame(HEADER, 1, head), frame(BODY, 1, body))
        self._published += len(messages)
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting = (self._published, confirmed)
        self._transport.write(b"".join(parts))
        await confirmed

    def acknowledge(self, tag: int) -> None:
        """Acknowledges this delivery and all earlier deliveries."""
        self._transport.write(method(1, ACK, struct.pack(">QB", tag, 1)))

    def close(self) -> None:
        self._transport.abort()

    async def _expect(self, wanted: Method) -> None:
        received = await self._answers.get()
        if received != wanted:
            raise OSError(f"the broker sent {received} instead of {wanted}")

    def data_received(self, data: bytes) -> None:
        buffer, at = self._buffer + data, 0
        while len(buffer) - at >= 8:
            kind, _, size = struct.unpack_from(">BHI", buffer, at)
            if len(buffer) - at < size + 8:
                break
            self._handle_frame(kind, buffer[at + 7 : at + 7 + size])
            at += size + 8
        self._buffer = buffer[at:]

    def _handle_frame(self, kind: int, payload: bytes) -> None:
        if kind == METHOD:
            self._handle_method(struct.unpack_from(">HH", payload), payload)
        elif kind == HEADER:
            self._delivered(message_id_of(payload), self._tag)

    def _handle_method(self, name: tuple[int, ...], payload: bytes) -> None:
        if name == DELIVER:
            self._tag = struct.unpack_from(">Q", payload, 5 + payload[4])[0]
        elif name == ACK:
            self._confirm(struct.unpack_from(">QB", payload, 4))
        elif name in {NACK, CLOSE, CHANNEL_CLOSE}:
            self._fail(OSError(f"refused by the broker: {payload[4:200]!r}"))
        else:
            self._answers.put_nowait(cast("Method", name))

    def _confirm(self, confirmation: tuple[int, ...]) -> None:
        """Handles a confirm. The broker confirms messages in any order, either one message or all messages up to a
        tag."""
        tag, multiple = confirmation
        if multiple:
            self._confirmed_early = {early for early in self._confirmed_early if early > tag}
            self._confirmed_until = max(self._confirmed_until, tag)
        else:
            self._confirmed_early.add(tag)
        while self._confirmed_until + 1 in self._confirmed_early:
            self._confirmed_until += 1
            self._confirmed_early.remove(self._confirmed_until)
        if self._waiting is not None and self._confirmed_until >= self._waiting[0] and not self._waiting[1].done():
            self._waiting[1].set_result(None)

    def _fail(self, error: Exception) -> None:
        self._answers.put_nowait(error)
        if self._waiting is not None and not self._waiting[1].done():
            self._waiting[1].set_exception(error)
