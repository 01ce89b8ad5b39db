"""Implements a keep-alive HTTP/1.1 connection that runs a flow.

A flow is a generator that yields requests and receives response bodies. A connection either has one request in flight
at a time (closed loop), or writes each request when it is `Due` (open loop). The connection counts a malformed response
or a status other than 2xx as bad, and the flow receives None.
"""

import asyncio
from collections.abc import Generator
from time import perf_counter
from typing import cast

from benchmarks.measure.tally import Tally

from .wire import Action, Due, Request

# A flow is a generator that yields requests. The connection writes each request now or at its due time, and sends the
# generator the body of a 2xx response, or None.
Flow = Generator[Request | Due, bytes | None, None]

END_OF_HEADERS = b"\r\n\r\n"
LENGTH = b"\r\ncontent-length:"


class MalformedAnswerError(Exception):
    """Says that the bytes are not an HTTP/1.1 response with a Content-Length."""


def content_length(head: bytes) -> int:
    """Returns the Content-Length from the head of a response. Raises MalformedAnswerError if the header is missing, as
    in chunked responses."""
    low = head.lower()
    start = low.find(LENGTH)
    if start < 0:
        raise MalformedAnswerError(f"no Content-Length: {head[:300]!r}")
    start += len(LENGTH)
    end = low.find(b"\r\n", start)
    return int(low[start : end if end >= 0 else len(low)])


class Connection(asyncio.Protocol):
    """Runs one flow over one connection until the flow ends."""

    def __init__(self, tally: Tally) -> None:
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tally = tally
        self._transport: asyncio.Transport | None = None
        self._flow: Flow | None = None
        self._buffer = b""
        self._action = Action.SEND
        self._written_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio.Transport.
        self._transport = cast("asyncio.Transport", transport)

    def start(self, flow: Flow) -> None:
        """Writes the first request of a flow. When `finished` is done, the flow has ended, and another flow can
        start."""
        if self.finished.done():
            self.finished.result()
            self.finished = asyncio.get_running_loop().create_future()
        self._flow = flow
        self._advance_flow(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        end = self._buffer.find(END_OF_HEADERS)
        if end < 0:
            return None
        try:
            total = end + 4 + content_length(self._buffer[:end])
        except (MalformedAnswerError, ValueError) as error:
            return self._fail(error)
        if len(self._buffer) >= total:
            self._on_response(self._buffer[: end + 4], self._buffer[end + 4 : total], len(self._buffer) > total)
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionResetError("the service closed the connection"))

    def _on_response(self, head: bytes, body: bytes, surplus: bool) -> None:
        now = perf_counter()
        self._buffer = b""
        self._tally.record_call(self._action, now - self._written_at, now)
        if surplus:
            return self._fail(MalformedAnswerError("more bytes than Content-Length"))
        if head[:11] == b"HTTP/1.1 20":
            return self._advance_flow(body)
        self._tally.record_bad_response(head[:60] + body[:300])
        return self._advance_flow(None)

    def _advance_flow(self, body: bytes | None) -> None:
        assert self._flow is not None
        assert self._transport is not None
        try:
            request = self._flow.send(body)
        except StopIteration:
            self._finish(None)
        except Exception as error:  # noqa: BLE001 - any error of a flow ends the run, which reports it
            self._fail(error)
        else:
            self._schedule(request)

    def _schedule(self, request_or_due: Request | Due) -> None:
        if isinstance(request_or_due, Request):
            self._write(request_or_due, perf_counter())
        elif (pause := request_or_due.at - perf_counter()) > 0:
            asyncio.get_running_loop().call_later(pause, self._write, request_or_due.request, request_or_due.at)
        else:
            self._write(request_or_due.request, request_or_due.at)

    def _write(self, request: Request, since: float) -> None:
        """Writes a request. The latency counts from `since`."""
        if self.finished.done() or self._transport is None:
            return
        self._action, self._written_at = request.action, since
        self._transport.write(request.data)

    def _fail(self, error: Exception) -> None:
        self._finish(error)

    def _finish(self, error: Exception | None) -> None:
        if self.finished.done():
            return
        if error is None:
            self.finished.set_result(None)
        else:
            self._tally.record_bad_response(repr(error).encode())
            self.finished.set_exception(error)
