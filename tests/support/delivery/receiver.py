"""Runs an HTTP endpoint on a free port of 127.0.0.1. A request's path selects the response.

As a separate program, the module runs a fast endpoint that only counts, and prints its port.
"""

import asyncio
import hashlib
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

GZIP = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
# A million gzip members with 64 KiB of zeros each. Decoding the body would take gigabytes, but Penstock does not decode
# it.
CHUNK = b"10000\r\n" + b"\x1f\x8b" + b"\0" * 65_534 + b"\r\n"
FIXED = {
    "/200": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "/204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "/continue": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "/302": b"HTTP/1.1 302 Found\r\nLocation: /200\r\nContent-Length: 0\r\n\r\n",
    "/404": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "/429": b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
    "/500": b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
    "/twice": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * 2,
    "/garbage": b"SSH-2.0-OpenSSH_9.2\r\n",
}


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """`requests` are in the order of arrival. `connections` counts all connections. `open` counts open connections."""

    port: int = 0
    requests: list[Request] = field(default_factory=list)
    responses: dict[str, bytes] = field(default_factory=lambda: dict(FIXED))
    connections: int = 0
    sent: Counter[str] = field(default_factory=Counter)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def count(self, path: str) -> int:
        return sum(request.path == path for request in self.requests)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            try:
                while await self._one(reader, writer):
                    pass
            finally:
                writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serves one request. Returns whether the connection stays open."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        headers = dict(line.split(": ", 1) for line in lines)
        body = await reader.readexactly(int(headers["Content-Length"]))
        request = Request(first.split(" ")[1], headers, body)
        self.requests.append(request)
        if request.path in self.responses:
            writer.write(self.responses[request.path])
            await writer.drain()
            return True
        await getattr(self, request.path.strip("/").partition("?")[0])(writer)
        return False

    async def hang_up(self, writer: asyncio.StreamWriter) -> None:
        """Closes the connection without a response."""

    async def basic(self, writer: asyncio.StreamWriter) -> None:
        """Requires the user `max` with the password `geh:heim` (RFC 7617)."""
        known = self.requests[-1].headers.get("Authorization") == "Basic bWF4OmdlaDpoZWlt"
        self.answer_login(writer, known, 'Basic realm="r"')

    async def digest(self, writer: asyncio.StreamWriter, challenge: str = "", algorithm: str = "md5") -> None:
        """Requires the same user by Digest (RFC 7616)."""
        given = dict(re.findall(r'(\w+)="?([^",]+)', self.requests[-1].headers.get("Authorization", "")))

        def digest(text: str) -> str:
            return hashlib.new(algorithm, text.encode()).hexdigest()

        parts = [given.get(name, "") for name in ("nonce", "nc", "cnonce", "qop")]
        uri = digest(f"POST:{self.requests[-1].path}")
        expected = digest(":".join((digest("max:r:geh:heim"), *parts, uri)))
        known = parts[0] == "n" and given.get("response") == expected
        self.answer_login(writer, known, f'{challenge}Digest realm="r", nonce="n", qop="auth"')

    async def both(self, writer: asyncio.StreamWriter) -> None:
        await self.digest(writer, 'Basic realm="r", ')

    async def unknown(self, writer: asyncio.StreamWriter) -> None:
        """Requires a token."""
        self.answer_login(writer, False, "Bearer")

    def answer_login(self, writer: asyncio.StreamWriter, known: bool, challenge: str) -> None:
        writer.write(
            FIXED["/204"]
            if known
            else f"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: {challenge}\r\nContent-Length: 0\r\n\r\n".encode()
        )

    async def silent(self, writer: asyncio.StreamWriter) -> None:
        """Waits without a response until the client closes the connection."""
        await self.sent_until_closed(writer, b"", "silent")

    async def slow(self, writer: asyncio.StreamWriter) -> None:
        """Responds after 20 ms, so that other requests are in progress."""
        await asyncio.sleep(0.02)
        writer.write(FIXED["/204"])

    async def drip(self, writer: asyncio.StreamWriter) -> None:
        """Sends a complete head, and then sends an endless body byte by byte."""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        await self.sent_until_closed(writer, b"x", "drip")

    async def drip_head(self, writer: asyncio.StreamWriter) -> None:
        """Sends an endless head."""
        writer.write(b"HTTP/1.1 200 OK\r\n")
        await self.sent_until_closed(writer, b"x", "drip_head")

    async def long_head(self, writer: asyncio.StreamWriter) -> None:
        """Sends endless header lines as fast as possible."""
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while not writer.is_closing():
            writer.write(b"X-Header: " + b"x" * 8000 + b"\r\n")
            await writer.drain()

    async def gzip(self, writer: asyncio.StreamWriter) -> None:
        """Sends gigabytes while the client reads."""
        writer.write(GZIP)
        while not writer.is_closing():
            writer.write(CHUNK)
            self.sent["gzip"] += len(CHUNK)
            await writer.drain()

    async def sent_until_closed(self, writer: asyncio.StreamWriter, piece: bytes, name: str) -> None:
        while not writer.is_closing():
            writer.write(piece)
            self.sent[name] += len(piece)
            await asyncio.sleep(0.02)


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    """Runs a receiver in a separate thread."""
    receiver, ready = Receiver(), threading.Event()
    ends: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def main() -> None:
        stop = asyncio.Event()
        ends.append((asyncio.get_running_loop(), stop))
        server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
        receiver.port = server.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    try:
        assert ready.wait(10)
        yield receiver
    finally:
        for loop, stop in ends:
            loop.call_soon_threadsafe(stop.set)
        thread.join()


RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LENGTH = b"content-length:"


class Fast(asyncio.Protocol):
    """Counts bytes and responses."""

    def __init__(self) -> None:
        self.data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        while (end := self.data.find(b"\r\n\r\n")) >= 0:
            head = self.data[:end].lower()
            size = int(head[head.index(LENGTH) + len(LENGTH) :].split(b"\r\n")[0])
            if len(self.data) < end + 4 + size:
                return
            self.data = self.data[end + 4 + size :]
            self.transport.write(RESPONSE)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Fast, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
