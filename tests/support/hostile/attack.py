"""Defines a hostile request and how to write one."""

from typing import NamedTuple

FORM = b"application/x-www-form-urlencoded"
JSON = b"application/x-amz-json-1.0"


class Attack(NamedTuple):
    """`data` is a whole request. `http` says that it is well-formed HTTP. `silent` says that the service may close
    without an answer."""

    kind: str
    data: bytes
    http: bool = True
    silent: bool = False


def request(
    body: bytes = b"",
    *headers: bytes,
    method: bytes = b"POST",
    path: bytes = b"/",
    length: bytes | None = None,
) -> bytes:
    """Returns an HTTP/1.1 request with a Host and a Content-Length."""
    size = b"%d" % len(body) if length is None else length
    lines = (
        method + b" " + path + b" HTTP/1.1",
        b"Host: queues.internal",
        *headers,
        b"Content-Length: " + size,
    )
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def by_json(action: str, body: bytes, *headers: bytes, service: str = "sqs") -> bytes:
    target = f"X-Amz-Target: Amazon{service.upper()}.{action}".encode()
    return request(body, target, b"Content-Type: " + JSON, *headers)


def by_form(body: bytes, path: bytes = b"/") -> bytes:
    return request(body, b"Content-Type: " + FORM, path=path)
