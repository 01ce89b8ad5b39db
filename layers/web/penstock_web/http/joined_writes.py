"""uvicorn's HTTP protocol on a transport that sends a response's head with what follows it, in one system call."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from penstock.http import LONG_BODY_BYTES

HEAD = b"HTTP/1.1 "
CONTINUE = b"HTTP/1.1 100 "


class JoiningTransport:
    """A transport that holds the head of a response back until the next write, or until `flush` or `close`."""

    __slots__ = ("_head", "_transport", "_write", "is_closing")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._write = transport.write
        self.is_closing = transport.is_closing
        self._head = b""

    def write(self, data: bytes) -> None:
        """Writes the bytes, with the head before them; a head by itself waits."""
        if self._head:
            head, self._head = self._head, b""
            if len(data) > LONG_BODY_BYTES:  # not copied
                self._write(head)
                self._write(data)
            else:
                self._write(head + data)
        elif data.startswith(HEAD) and not data.startswith(CONTINUE):
            self._head = data
        else:
            self._write(data)

    def flush(self) -> None:
        """Writes the head that nothing follows: that of a response to HEAD."""
        if self._head:
            head, self._head = self._head, b""
            self._write(head)

    def close(self) -> None:
        """Closes the connection, once everything has been sent."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class JoiningProtocol(HttpToolsProtocol):
    """uvicorn's protocol on a transport that joins the writes of a response."""

    _joining: JoiningTransport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._joining = JoiningTransport(transport)
        super().connection_made(cast("asyncio.Transport", self._joining))

    def on_response_complete(self) -> None:
        self._joining.flush()
        super().on_response_complete()
