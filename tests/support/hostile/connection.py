"""Defines a hostile request, and sends attacks in sequence on one connection. Measures each response time."""

import re
import socket
from contextlib import suppress
from time import perf_counter
from typing import NamedTuple
from urllib.parse import urlsplit

FORM = b"application/x-www-form-urlencoded"
JSON = b"application/x-amz-json-1.0"


class Attack(NamedTuple):
    """`data` is a whole request. `http` means that the request is well-formed HTTP. `silent` means that the service may
    close the connection without a response.
    """

    kind: str
    data: bytes
    http: bool = True
    silent: bool = False


def request(
    body: bytes = b"", *headers: bytes, method: bytes = b"POST", path: bytes = b"/", length: bytes | None = None
) -> bytes:
    """Returns an HTTP/1.1 request with Host and Content-Length."""
    size = b"%d" % len(body) if length is None else length
    lines = (method + b" " + path + b" HTTP/1.1", b"Host: queues.internal", *headers, b"Content-Length: " + size)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def by_json(action: str, body: bytes, *headers: bytes, service: str = "sqs") -> bytes:
    target = f"X-Amz-Target: Amazon{service.upper()}.{action}".encode()
    return request(body, target, b"Content-Type: " + JSON, *headers)


def by_form(body: bytes, path: bytes = b"/") -> bytes:
    return request(body, b"Content-Type: " + FORM, path=path)


# The longest response time. A longer wait fails the test.
PATIENCE_SECONDS = 20
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


class Outcome(NamedTuple):
    """A `status` of 0 means that the service closed the connection without a response. `milliseconds` is the time
    between the last sent byte and the first received byte.
    """

    status: int
    body: bytes
    milliseconds: float


class Connection:
    """Reconnects after the service has closed the connection."""

    def __init__(self, endpoint_url: str) -> None:
        address = urlsplit(endpoint_url)
        self._address = (address.hostname or "", address.port or 80)
        self._socket: socket.socket | None = None

    def send(self, attack: Attack) -> Outcome:
        """Returns the service's response. Raises TimeoutError after 20 s without a response."""
        if self._socket is None:
            self._socket = socket.create_connection(self._address, PATIENCE_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._write(self._socket, attack)
            began = perf_counter()
            outcome = self._read(self._socket, began)
        except (ConnectionError, BrokenPipeError):
            self.close()
            return Outcome(0, b"", 0.0)
        if attack.silent:
            self.close()
        return outcome

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    @staticmethod
    def _write(connection: socket.socket, attack: Attack) -> None:
        try:
            connection.sendall(attack.data)
        except (ConnectionError, BrokenPipeError):
            # The service may have sent a response, because it can refuse a request before reading the whole request.
            if attack.silent:
                return
            raise
        if attack.silent:
            with suppress(OSError):  # The service has already closed the connection.
                connection.shutdown(socket.SHUT_WR)

    def _read(self, connection: socket.socket, began: float) -> Outcome:
        data = connection.recv(65_536)
        milliseconds = (perf_counter() - began) * 1000
        while data and b"\r\n\r\n" not in data:
            data += connection.recv(65_536)
        if not data:
            self.close()
            return Outcome(0, b"", milliseconds)
        head, _, body = data.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        while len(body) < int(length[1] if length else 0):
            body += connection.recv(65_536)
        if _CLOSE.search(head) or length is None:
            self.close()
        return Outcome(int(head.split(b" ", 2)[1]), body, milliseconds)
