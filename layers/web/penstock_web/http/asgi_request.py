"""Answers AWS requests that come through ASGI. ASGI requests to AWS protocols arrive in several parts, are long, or end
the connection.

receive ─► body ─► decode (a long one in a thread) ─► the response of AwsRequest ─► send
"""

import asyncio

from starlette.types import Receive, Scope, Send

from penstock.errors import AwsError, RequestEntityTooLarge
from penstock.gateway import MAX_BODY_BYTES, ActionCall, decode
from penstock.http import HttpRequest, HttpResponse
from penstock.limits.response_limit import LONG_BODY_BYTES
from penstock_web.runtime.deadlines import DisconnectWatch, EndReason

from .aws_protocols import AwsApplication
from .aws_request import AwsRequest
from .request_notes import find_trace


class ClientDisconnected(Exception):  # noqa: N818 - nothing failed
    """The client has closed the connection and gets no response."""


class HeldResponse:
    """Keeps the response until the request's task sends the response. `is_set` is true after the request has ended,
    with or without a response.
    """

    __slots__ = ("is_set", "peer", "response")

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.is_set = asyncio.Event()
        self.response: HttpResponse | None = None

    def write_response(self, response: HttpResponse, keep_alive: bool) -> None:
        """Keeps the response."""
        if not keep_alive:
            response.headers.append((b"connection", b"close"))
        self.response = response


class AsgiRequest(AwsRequest):
    """Represents a request from an ASGI server, which the current task answers. `tracing/requests.py` ends the
    request's span."""

    __slots__ = ("_held", "_receive", "_scope", "_task", "_watch")

    def __init__(self, application: AwsApplication, scope: Scope, receive: Receive) -> None:
        peer, _ = scope.get("client") or ("", 0)
        self._held = HeldResponse(peer)
        super().__init__(self._held, application)
        self._scope = scope
        self._receive = receive
        self._method = scope["method"]
        self._task = asyncio.current_task()
        self._watch = DisconnectWatch(receive)
        if (trace := find_trace(scope)) is not None:
            self._notes = trace.notes
        self._log_later(dict(scope["headers"]), 0)
        application.deadlines.add(self)

    async def response(self) -> HttpResponse | None:
        """Returns the response, or None if the client has disconnected."""
        try:
            await self._start()
            await self._held.is_set.wait()
        except asyncio.CancelledError:
            await self._end_cancelled()
        except ClientDisconnected:
            self._respond(None)
        finally:
            self._watch.close()
            if not self.response_complete:  # The server logs this error.
                self._respond(None)
        return self._held.response

    # --- what arrives ------------------------------------------------------------------------------------------------
    async def _start(self) -> None:
        scope, application = self._scope, self._application
        try:
            body = await read_body(dict(scope["headers"]), self._receive)
        except AwsError as error:
            application.meter.count_refusal(error)
            self._fail_unread(error)
            return
        self.may_wait = len(body) <= LONG_BODY_BYTES
        headers = application.headers(scope["headers"])
        self._log_later(headers, len(body))
        peer = self._held.peer
        http = HttpRequest(self._method, scope["path"], scope["query_string"], headers, body, peer)
        try:
            self._call = call = await self._decode(http)
        except Exception as error:  # noqa: BLE001 - every error gets a response
            self._refuse(http, error)
        else:
            self._start_operation(call)

    async def _decode(self, http: HttpRequest) -> ActionCall:
        environment = self._application.environment
        if not http.takes_long:
            return decode(http, environment)
        computations = self._application.resources.computations
        return await asyncio.get_running_loop().run_in_executor(computations, decode, http, environment)

    def _log_later(self, headers: dict[bytes, bytes], body_bytes: int) -> None:
        if self._application.resources.access_log is not None:
            http = HttpRequest(self._method, self._scope["path"], b"", headers, b"", self._held.peer)
            self._logged = http, body_bytes

    # --- the response ------------------------------------------------------------------------------------------------
    async def _end_cancelled(self) -> None:
        """Answers a request whose task was cancelled. The task was cancelled because the time limit has passed, the
        client has disconnected, or the process ends."""
        if self._run is not None:
            self.end(EndReason.SHUTDOWN)
            await self._held.is_set.wait()
        elif not self.response_complete:
            self._respond_cancelled()

    def _fail(self, error: BaseException) -> None:
        if self._call is None and isinstance(error, AwsError):
            self._fail_unread(error)
        else:
            super()._fail(error)

    def _fail_unread(self, error: AwsError) -> None:
        """Answers a request without reading the rest of the body."""
        self.keep_alive = False
        self._note(error)
        scope = self._scope
        self._respond(self._application.build_error_without_call(dict(scope["headers"]), scope["path"], error))

    def _respond(self, response: HttpResponse | None) -> None:
        super()._respond(response)
        self._held.is_set.set()

    # --- a pending request -------------------------------------------------------------------------------------------
    def pause(self) -> None:
        """Pauses the time limit, and watches for a disconnect. The server has already read the body when the request
        pauses."""
        super().pause()
        self._watch.start(self._on_disconnect)

    def end(self, reason: EndReason) -> None:
        """Ends the request early. If the server is still reading or decoding the body, this method cancels the
        request's task."""
        is_running = self._run is not None
        first = self._end_reason is None
        super().end(reason)
        if first and not is_running and not self.response_complete and self._task is not None:
            self._task.cancel()

    def stop(self) -> None:
        """Does nothing, because the server itself cancels the task."""

    def _on_disconnect(self) -> None:
        self.end(EndReason.DISCONNECTED)


async def read_body(headers: dict[bytes, bytes], receive: Receive) -> bytes:
    """Returns the whole body. Raises RequestEntityTooLarge as soon as the length exceeds 6.25 MiB. Raises
    ClientDisconnected if the client disconnects first.
    """
    if int(headers.get(b"content-length", b"0")) > MAX_BODY_BYTES:
        raise RequestEntityTooLarge
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        chunks = [body]
        size = len(body)
        while message.get("more_body", False):
            message = await receive()
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > MAX_BODY_BYTES:
                raise RequestEntityTooLarge
        body = b"".join(chunks)
    if message["type"] == "http.disconnect":
        raise ClientDisconnected
    return body


async def serve_request(application: AwsApplication, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers an ASGI server's request unless the client disconnects."""
    response = await AsgiRequest(application, scope, receive).response()
    if response is not None:
        await send_response(send, response)


async def send_response(send: Send, response: HttpResponse) -> None:
    """Sends the status, the headers with the length, and the body."""
    headers = [*response.headers, (b"content-length", b"%d" % len(response.body))]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})
