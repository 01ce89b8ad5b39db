"""Provides connections from many local addresses, requests for several APIs, and a webhook receiver."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from benchmarks.load.connection import Connection, content_length
from benchmarks.load.wire import CONTENT_TYPE, Action, Address, Key, Request, address_of, signed_lines
from benchmarks.measure.tally import Tally

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
ADDRESSES_OF_A_NET = 250


@dataclass(frozen=True, slots=True)
class Account:
    """Holds an account's key for signatures, and the account's Authorization header for the REST API."""

    key: Key
    bearer: str

    def address(self, endpoint: str, queue: str = "") -> Address:
        """Returns the address of the account's queue, or the address of the service if no queue is given."""
        return address_of(endpoint, queue, self.key.account, self.key)


def local_address(number: int) -> tuple[str, int]:
    """Returns a separate local address for each client, because limits apply to addresses."""
    net, host = divmod(number, ADDRESSES_OF_A_NET)
    return f"127.1.{net}.{host + 2}", 0


async def connect(address: Address, tally: Tally, number: int) -> Connection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        lambda: Connection(tally), address.host, address.port, local_addr=local_address(number)
    )
    return connection


def publish_request(address: Address, topic_arn: str) -> Request:
    """Returns a Publish request."""
    payload = msgspec.json.encode({"TopicArn": topic_arn, "Message": "hello"})
    target = "AmazonSNS.Publish"
    head = (
        f"POST / HTTP/1.1\r\nHost: {address.host}:{address.port}\r\nContent-Type: {CONTENT_TYPE}\r\n"
        f"X-Amz-Target: {target}\r\nContent-Length: {len(payload)}"
    )
    signature = signed_lines(address, target, payload, "sns")
    return Request(Action.PUBLISH, b"%s%s\r\n\r\n%s" % (head.encode(), signature, payload))


def event_request(address: Address, bearer: str, routing_key: str, message: object) -> Request:
    """Returns a request to POST /v1/events/{routing_key}."""
    payload = msgspec.json.encode({"message": message})
    head = (
        f"POST /v1/events/{routing_key} HTTP/1.1\r\nHost: {address.host}:{address.port}\r\n"
        f"Authorization: {bearer}\r\nContent-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return Request(Action.PUBLISH, head.encode() + payload)


class Receiver(asyncio.Protocol):
    """Implements a webhook endpoint. Calls `receive` with each body, and responds with status 200 after `seconds`."""

    def __init__(self, receive: Callable[[bytes], None], seconds: float = 0.0) -> None:
        self._receive = receive
        self._seconds = seconds
        self._buffer = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's classes do not inherit from asyncio's

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            total = end + 4 + content_length(self._buffer[:end])
            if len(self._buffer) < total:
                return
            body, self._buffer = self._buffer[end + 4 : total], self._buffer[total:]
            self._receive(body)
            asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(ANSWER)
