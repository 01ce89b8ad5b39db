"""Records a span for each sampled request. The fast path calls the tracer directly, and an ASGI application wraps all
other requests.

headers ──► caller's trace, or a new one ──► recorded? ──no──► the request, as if there were no traces
                                                └───yes──► span ──► the request ──► status ──► end
"""

import re
from collections.abc import Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Final, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.actions import AnyAction
from penstock.http import HttpResponse
from penstock.observing.trace_context import CURRENT_TRACE, TraceContext, parse_trace_header, parse_traceparent
from penstock_web.http.request_notes import KEY, RequestNotes

from .tracing import RecordedSpan, Tracing

REQUEST_SPAN: ContextVar[RecordedSpan | None] = ContextVar("penstock_span", default=None)
"""Holds the request that this task answers, if it is recorded."""

REQUEST_ID: Final = b"x-amzn-requestid"
# The process records probes' and scrapers' requests only if the caller sends a trace.
PROBE_PATHS: Final = frozenset(("/livez", "/readyz", "/metrics"))
SYSTEMS: Final = {"sqs": "aws_sqs", "sns": "aws.sns"}
"""Maps services to `messaging.system`."""
OPERATIONS: Final = {
    "SendMessage": ("send", "send"),
    "Publish": ("send", "send"),
    "ReceiveMessage": ("receive", "receive"),
    "DeleteMessage": ("delete", "settle"),
    "ChangeMessageVisibility": ("change_visibility", "settle"),
}
"""Maps actions to the name and type of the operation on messages."""
_HOST = re.compile(r"([A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?").fullmatch
MAX_STATE_BYTES: Final = 512
"""Limits tracestate. The W3C specification asks implementations to propagate at least 512 characters."""


class CallerTrace(NamedTuple):
    """The caller's trace from the request's headers.

    `by_w3c` says that the header was traceparent. `decided` says whether the caller has made the sampling decision.
    """

    context: TraceContext
    state: str
    by_w3c: bool
    decided: bool


class SpanOfRequest:
    """The trace of one request, with a recorded span. Without a span, this is only the caller's trace, and this process
    records nothing.
    """

    __slots__ = ("_context", "_span", "_tokens", "notes")

    def __init__(self, context: TraceContext, span: RecordedSpan | None) -> None:
        self._context = context
        self._span = span
        self.notes = None if span is None else RequestNotes()

    def __enter__(self) -> None:
        self._tokens = CURRENT_TRACE.set(self._context), REQUEST_SPAN.set(self._span)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        current, span = self._tokens
        CURRENT_TRACE.reset(current)
        REQUEST_SPAN.reset(span)

    def end(self, method: str, response: HttpResponse | None) -> None:
        """Ends the span of an action. Without a response, the client has disconnected."""
        if response is None:
            self.end_request(method, 0, b"")
        else:
            self.end_request(method, response.status, dict(response.headers).get(REQUEST_ID, b""))

    def end_request(self, method: str, status: int, request_id: bytes, route: str | None = None) -> None:
        """Ends the span of any request. `status` is 0 if no response was sent."""
        if self._span is not None and self.notes is not None:
            describe_action(self._span, self.notes)
            end_span(self._span, method, status, request_id, route)


class OpenTelemetryTracer:
    """Begins the traces of requests. The class implements the RequestTracer of `http.request_notes`."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def begin(self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], peer: str) -> SpanOfRequest | None:
        """Returns a request's trace. None means that neither the request nor the messages have a trace. If the caller's
        trace is not recorded, the messages get an unsampled trace header. X-Amzn- Trace-Id is passed on unchanged.
        """
        caller = read_caller_trace(headers)
        if caller is None:
            if path in PROBE_PATHS or not self._tracing.should_record():
                return None
        elif not (caller.context.sampled if caller.decided else self._tracing.should_record()):
            return SpanOfRequest(caller.context, None) if caller.by_w3c else None
        parent, state = (None, "") if caller is None else (caller.context, caller.state)
        attributes = request_attributes(method, path, headers, peer)
        span = self._tracing.start_request_span(initial_span_name(method, headers), attributes, parent, state)
        return SpanOfRequest(span.context, span)


class TracedApplication:
    """Wraps an ASGI application and records the requests as spans."""

    def __init__(self, application: ASGIApp, tracer: OpenTelemetryTracer) -> None:
        self._application = application
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, and records it if its trace is sampled."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        peer, _ = scope.get("client") or ("", 0)
        trace = self._tracer.begin(scope["method"], scope["path"], scope["headers"], peer)
        if trace is None:
            # The task began in the context of the previous request, if the same connection served that request.
            CURRENT_TRACE.set(None)
            REQUEST_SPAN.set(None)
            await self._application(scope, receive, send)
            return
        answer = ResponseRecorder(send)
        scope[KEY] = trace
        try:
            with trace:
                await self._application(scope, receive, answer.send)
        finally:
            trace.end_request(scope["method"], answer.status, answer.request_id, find_route(scope))


class ResponseRecorder:
    """Reads the status and the request id of the response. The status is 0 if no response was sent."""

    __slots__ = ("_send", "request_id", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.request_id = b""

    async def send(self, message: Message) -> None:
        """Implements an ASGI `send`."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.request_id = dict(message.get("headers", ())).get(REQUEST_ID, b"")
        await self._send(message)


def read_caller_trace(headers: Sequence[tuple[bytes, bytes]]) -> CallerTrace | None:
    """Returns the caller's span from traceparent, or else from X-Amzn-Trace-Id. Ignores both of two traceparent
    headers.
    """
    parents, states, amazons = [], [], []
    for name, value in headers:
        if name == b"traceparent":
            parents.append(value)
        elif name == b"tracestate":
            states.append(value)
        elif name == b"x-amzn-trace-id":
            amazons.append(value)
    if len(parents) == 1 and (found := parse_traceparent(parents[0].decode("latin-1"))) is not None:
        state = b",".join(states)
        return CallerTrace(found, state.decode("latin-1") if len(state) <= MAX_STATE_BYTES else "", True, True)
    if amazons and (found := parse_trace_header(amazons[0].decode("latin-1"))) is not None:
        # This service makes the sampling decision for "Sampled=?", or if Sampled is missing.
        decided = b"Sampled=0" in amazons[0] or found.sampled
        return CallerTrace(found, "", False, decided)
    return None


def initial_span_name(method: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
    """Returns the span's name until the operation is known: the action, or else the method, because there would be too
    many paths.
    """
    for name, value in headers:
        if name == b"x-amz-target":
            return value[:128].decode("latin-1").rpartition(".")[2]
    return method


def request_attributes(
    method: str, path: str, headers: Sequence[tuple[bytes, bytes]], peer: str
) -> dict[str, str | int]:
    """Returns attributes of OpenTelemetry's HTTP server conventions. The query string is left out, because it may hold
    a message or a signature."""
    attributes: dict[str, str | int] = {"http.request.method": method, "url.path": path, "url.scheme": "http"}
    if peer:
        attributes["client.address"] = peer
    host = next((value for name, value in headers if name == b"host"), b"").decode("latin-1")
    if match := _HOST(host):
        attributes["server.address"] = match[1].strip("[]")
        if match[2]:
            attributes["server.port"] = int(match[2])
    return attributes


def describe_action(span: RecordedSpan, notes: RequestNotes) -> None:
    """Adds the members of an action's request, and names the span if the action has reported nothing."""
    action = notes.action
    if notes.error:
        span.set("error.type", notes.error)
    if span.messages is not None and (span.messages > 1 or action is None or is_of_batches(action)):
        span.set("messaging.batch.message_count", span.messages)
    if action is None or action.service not in SYSTEMS:
        return
    if not span.is_named:
        name_action(span, action, notes.destination)
    if notes.queue_url:
        span.set("aws.sqs.queue.url", notes.queue_url)
    if notes.topic_arn:
        span.set("aws.sns.topic.arn", notes.topic_arn)


def is_of_batches(action: AnyAction) -> bool:
    """Returns whether an action can handle several messages. If so, the span contains the number of messages, even if
    it is one.
    """
    return action.name == "ReceiveMessage" or action.name.endswith("Batch")


def name_action(span: RecordedSpan, action: AnyAction, destination: str) -> None:
    """Names the span of a failed action about messages `{operation name} {destination}`. Other actions keep their
    names.
    """
    name, kind = OPERATIONS.get(action.name.removesuffix("Batch"), (action.name, ""))
    span.is_named = True
    span.set("messaging.system", SYSTEMS[action.service])
    span.set("messaging.operation.name", name)
    if kind:
        span.set("messaging.operation.type", kind)
    if destination:
        span.set("messaging.destination.name", destination)
    span.span.update_name(f"{name} {destination}" if kind and destination else name)


def end_span(span: RecordedSpan, method: str, status: int, request_id: bytes, route: str | None) -> None:
    """Ends the span with the route and the status.

    A 4xx does not count as an error of a server (semantic conventions, "HTTP server spans").
    """
    if route is not None:
        span.set("http.route", route)
        if not span.is_named:
            span.span.update_name(f"{method} {route}")
    if request_id:
        span.set("aws.request_id", request_id.decode("latin-1"))
    if status:
        span.set("http.response.status_code", status)
    span.end(str(status) if status >= 500 else None)


def find_route(scope: Scope) -> str | None:
    """Returns the full template of the route, such as `/v1/queues/{name}`. The route has only the path below its
    prefix."""
    below = getattr(scope.get("route"), "path", None)
    if below is None:
        return None
    segments = scope["path"].split("/")
    return "/".join(segments[: len(segments) - below.count("/")]) + str(below)
