"""Records a span for each sampled request. The fast path calls the tracer directly. An ASGI application wraps all other
requests.

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
from penstock.aws.codec.protocol import find_operation
from penstock.events.webhooks import hide_key
from penstock.http import HttpResponse
from penstock.observing.trace_context import CURRENT_TRACE, TraceContext, parse_trace_header, parse_traceparent
from penstock_web.http.request_notes import KEY, RequestNotes

from .tracing import RecordedSpan, Tracing

REQUEST_SPAN: ContextVar[RecordedSpan | None] = ContextVar("penstock_span", default=None)
"""Holds the span of the request that the current task serves, if the span is recorded."""

REQUEST_ID: Final = b"x-amzn-requestid"
# The process records requests from probes and scrapers only if the caller sends a trace.
PROBE_PATHS: Final = frozenset(("/livez", "/readyz", "/metrics"))
SYSTEMS: Final = {"sqs": "aws_sqs", "sns": "aws.sns"}
"""`messaging.system` by service."""
OPERATIONS: Final = {
    "SendMessage": ("send", "send"),
    "Publish": ("send", "send"),
    "ReceiveMessage": ("receive", "receive"),
    "DeleteMessage": ("delete", "settle"),
    "ChangeMessageVisibility": ("change_visibility", "settle"),
}
"""Maps each action to the name and type of its messaging operation."""
_HOST = re.compile(r"([A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?").fullmatch
MAX_STATE_BYTES: Final = 512
"""The longest tracestate. W3C Trace Context requires implementations to propagate at least 512 characters."""


class CallerTrace(NamedTuple):
    """Holds the caller's trace from the headers of the request. `by_w3c` is true if the trace comes from the header
    traceparent. `decided` is true if the caller has made the sampling decision.
    """

    context: TraceContext
    state: str
    by_w3c: bool
    decided: bool


class SpanOfRequest:
    """One request's trace. If no span is recorded, the object only passes the caller's trace to messages."""

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
        """Ends the span of an action. `response` is None if the client has disconnected."""
        if response is None:
            self.end_request(method, 0, b"")
        else:
            self.end_request(method, response.status, dict(response.headers).get(REQUEST_ID, b""))

    def end_request(self, method: str, status: int, request_id: bytes, route: str | None = None) -> None:
        """Ends the span of a request. `status` is 0 if there was no response."""
        if self._span is not None and self.notes is not None:
            describe_action(self._span, self.notes)
            end_span(self._span, method, status, request_id, route)


class OpenTelemetryTracer:
    """Starts the traces of requests. The class implements the RequestTracer of `http.request_notes`."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def begin(self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], peer: str) -> SpanOfRequest | None:
        """Returns the trace of a request. If the result is None, neither the request nor the messages have a trace. If
        the caller's trace is not recorded, the messages have an unsampled trace header. The header X-Amzn-Trace-Id
        reaches the messages unchanged.
        """
        caller = read_caller_trace(headers)
        if caller is None:
            if path in PROBE_PATHS or not self._tracing.should_record():
                return None
        elif not (caller.context.sampled if caller.decided else self._tracing.should_record()):
            return SpanOfRequest(caller.context, None) if caller.by_w3c else None
        parent, state = (None, "") if caller is None else (caller.context, caller.state)
        attributes = request_attributes(method, path, headers, peer)
        span = self._tracing.start_request_span(
            build_initial_span_name(method, path, headers), attributes, parent, state
        )
        return SpanOfRequest(span.context, span)


class TracedApplication:
    """Wraps an ASGI application and records requests as spans."""

    def __init__(self, application: ASGIApp, tracer: OpenTelemetryTracer) -> None:
        self._application = application
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request. Records a span if the trace is sampled."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        peer, _ = scope.get("client") or ("", 0)
        trace = self._tracer.begin(scope["method"], scope["path"], scope["headers"], peer)
        if trace is None:
            # The task may have started in the context of the connection's previous request.
            CURRENT_TRACE.set(None)
            REQUEST_SPAN.set(None)
            await self._application(scope, receive, send)
            return
        response = ResponseRecorder(send)
        scope[KEY] = trace
        try:
            with trace:
                await self._application(scope, receive, response.send)
        finally:
            trace.end_request(scope["method"], response.status, response.request_id, find_route(scope))


class ResponseRecorder:
    """Reads the status and the request id of the response. The status is 0 if there was no response."""

    __slots__ = ("_send", "request_id", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.request_id = b""

    async def send(self, message: Message) -> None:
        """Implements ASGI's `send`."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.request_id = dict(message.get("headers", ())).get(REQUEST_ID, b"")
        await self._send(message)


def read_caller_trace(headers: Sequence[tuple[bytes, bytes]]) -> CallerTrace | None:
    """Returns the caller's span from the header traceparent, or from X-Amzn-Trace-Id if traceparent is missing. Ignores
    repeated traceparent headers.
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
        # If the Sampled field is missing or "?", this service makes the sampling decision.
        decided = b"Sampled=0" in amazons[0] or found.sampled
        return CallerTrace(found, "", False, decided)
    return None


def build_initial_span_name(method: str, path: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
    """Returns the first name of a span: the action, or the method if the action is unknown. Other paths would create
    too many different names."""
    operation = find_operation(path)
    if operation is not None:
        return operation[1][:128]
    for name, value in headers:
        if name == b"x-amz-target":
            return value[:128].decode("latin-1").rpartition(".")[2]
    return method


def request_attributes(
    method: str, path: str, headers: Sequence[tuple[bytes, bytes]], peer: str
) -> dict[str, str | int]:
    """Returns the attributes of OpenTelemetry's conventions for HTTP servers. Omits the query string, because it can
    contain a message or a signature."""
    attributes: dict[str, str | int] = {"http.request.method": method, "url.path": hide_key(path), "url.scheme": "http"}
    if peer:
        attributes["client.address"] = peer
    host = next((value for name, value in headers if name == b"host"), b"").decode("latin-1")
    if match := _HOST(host):
        attributes["server.address"] = match[1].strip("[]")
        if match[2]:
            attributes["server.port"] = int(match[2])
    return attributes


def describe_action(span: RecordedSpan, notes: RequestNotes) -> None:
    """Adds attributes from the request of an action. If the action has no reports, also names the span."""
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
    """Returns whether an action can handle several messages. The span of an action that can handle several messages
    always contains the number of messages.
    """
    return action.name == "ReceiveMessage" or action.name.endswith("Batch")


def name_action(span: RecordedSpan, action: AnyAction, destination: str) -> None:
    """If the action handles messages, names the action's span `{operation name} {destination}`. Names the span of any
    other action after the action.
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
    """Ends the span with the route and the status. A status of 4xx is not a server's error (OpenTelemetry semantic
    conventions, "HTTP server spans").
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
    """Returns the full template of the route, such as `/v1/queues/{name}`. The route object of FastAPI contains only
    the path below the prefix."""
    below = getattr(scope.get("route"), "path", None)
    if below is None:
        return None
    segments = scope["path"].split("/")
    return "/".join(segments[: len(segments) - below.count("/")]) + str(below)
