"""Simulates connections to an HTTP server without sockets: the client's data, the server's output, slow readers."""

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import httpx

from penstock_web.batching.write_backpressure import WriteBackpressure
from penstock_web.http.aws_protocols import AwsApplication
from penstock_web.http.connection import HttpConnection
from penstock_web.http.limits import HttpLimits
from penstock_web.http.server_state import ServerState
from tests.support.web.virtual_clock import settle

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class Transport(asyncio.Transport):
    """Represents a client's connection: the written bytes, and whether the server has ended or closed its side.

    After the end, the protocol `lingering` reads further data. The former protocol then ignores the bytes from `say`.
    """

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__()
        self.address = address
        self.writes: list[bytes] = []
        self.closed = self.aborted = False
        self.lingering: asyncio.BaseProtocol | None = None
        self.reading = True
        self.write_backpressure = 0

    @property
    def written(self) -> bytes:
        return b"".join(self.writes)

    def write(self, data: Any) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def write_eof(self) -> None:
        self.closed = True

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.lingering = protocol

    def get_write_buffer_size(self) -> int:
        return self.write_backpressure

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        addresses = {"sockname": ("127.0.0.1", 9324), "peername": (self.address, 50_000)}
        return addresses.get(name, default)


class Client:
    """Represents a connection to a server with the given application."""

    def __init__(
        self, application: Application, aws_application: AwsApplication | None = None, limits: HttpLimits | None = None
    ) -> None:
        self.write_backpressure = WriteBackpressure()
        self.state = ServerState(application, aws_application, limits or HttpLimits(), self.write_backpressure)
        self.connection = HttpConnection(self.state)
        self.transport = Transport()
        self.connection.connection_made(self.transport)

    async def say(self, *parts: bytes) -> bytes:
        """Sends each part in a separate read. Returns the server's output."""
        for part in parts:
            self.connection.data_received(part)
            await settle()
        return self.transport.written

    async def leave(self) -> None:
        self.connection.connection_lost(None)
        await settle()

    @property
    def statuses(self) -> list[int]:
        """Returns the statuses of all responses in order."""
        return [int(status) for status in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", self.transport.written)]


class Recorder:
    """Records requests, and responds with the request's path and body."""

    def __init__(self) -> None:
        self.scopes: list[Message] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        body, more = b"", True
        while more:
            part = await receive()
            if part["type"] == "http.disconnect":
                return
            body += part["body"]
            more = part["more_body"]
        self.bodies.append(body)
        await response(send, scope["path"].encode() + b" " + body)


async def response(send: Send, body: bytes, *headers: tuple[bytes, bytes], status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class SlowClient:
    """Represents a client that reads slowly. `unread` is the number of written bytes that the client has not read."""

    def __init__(self, unread: int) -> None:
        self.unread = unread
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.aborted = True


def error_code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]
