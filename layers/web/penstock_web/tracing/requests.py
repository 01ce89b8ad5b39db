"""A span for each request that is recorded, around the whole application.

headers ──► caller's trace, or a new one ──► recorded? ──no──► the application, as if there were no traces
                                                └───yes──► span ──► the application ──► status ──► end
"""

from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from penstock.trace_context import CURRENT_TRACE, TraceContext, parse_trace_header, parse_traceparent

from .tracing import Recorded, Tracing

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

SPAN: ContextVar[Recorded | None] = ContextVar("penstock_span", default=None)
"""The request that this task answers, if it is recorded."""

# What probes and scrapers ask for all day is recorded only when their own trace is.
QUIET: Final = frozenset(("/livez", "/readyz", "/metrics"))
LONGEST_STATE_BYTES: Final = 512
"""Of tracestate, which W3C lets nobody be asked to pass on more of."""


class Caller(NamedTuple):
    """What the headers say of the caller's trace. `by_w3c`: as traceparent. `decided`: `sampled` has been decided."""

    context: TraceContext
    state: str
    by_w3c: bool
    decided: bool


class TracedApplication:
    """An ASGI application whose requests become spans."""

    def __init__(self, application: Application, tracing: Tracing) -> None:
        self._application = application
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        caller = caller_of(scope["headers"])
        if caller is None:
            if scope["path"] in QUIET or not self._tracing.chosen():
                await self._application(scope, receive, send)
                return
        elif not (caller.context.sampled if caller.decided else self._tracing.chosen()):
            await self._unrecorded(caller, scope, receive, send)
            return
        await self._recorded(caller, scope, receive, send)

    async def _unrecorded(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """What the request sends says that its trace is not recorded. X-Amzn-Trace-Id is passed on as it came."""
        token = CURRENT_TRACE.set(caller.context if caller.by_w3c else None)
        try:
            await self._application(scope, receive, send)
        finally:
            CURRENT_TRACE.reset(token)

    async def _recorded(self, caller: Caller | None, scope: Scope, receive: Receive, send: Send) -> None:
        parent, state = (None, "") if caller is None else (caller.context, caller.state)
        span = self._tracing.request(name_of(scope), attributes_of(scope), parent, state)
        answer = Answer(send)
        tokens = CURRENT_TRACE.set(span.context), SPAN.set(span)
        try:
            await self._application(scope, receive, answer.send)
        finally:
            CURRENT_TRACE.reset(tokens[0])
            SPAN.reset(tokens[1])
            end(span, scope, answer)


class Answer:
    """Sees the answer pass. Its status is 0 when nobody was there any more to get one."""

    __slots__ = ("_send", "request_id", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.request_id = b""

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """An ASGI `send`."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.request_id = dict(message.get("headers", ())).get(b"x-amzn-requestid", b"")
        await self._send(message)


def caller_of(headers: list[tuple[bytes, bytes]]) -> Caller | None:
    """The caller's span: traceparent wins over X-Amzn-Trace-Id, and a second traceparent makes both worthless."""
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
        return Caller(found, state.decode("latin-1") if len(state) <= LONGEST_STATE_BYTES else "", True, True)
    if amazons and (found := parse_trace_header(amazons[0].decode("latin-1"))) is not None:
        decided = (
            b"Sampled=0" in amazons[0] or found.sampled
        )  # "Sampled=?", or nothing, leaves it to whoever comes next
        return Caller(found, "", False, decided)
    return None


def name_of(scope: Scope) -> str:
    """Until more is known: an action's name, else the method. A path would be a name too many."""
    for name, value in scope["headers"]:
        if name == b"x-amz-target":
            return str(value[:128].decode("latin-1").rpartition(".")[2])
    return str(scope["method"])


def attributes_of(scope: Scope) -> dict[str, str]:
    """Semantic conventions of HTTP servers. No query string: it may hold a message or a signature."""
    attributes = {
        "http.request.method": scope["method"],
        "url.path": scope["path"],
        "url.scheme": scope["scheme"],
    }
    if scope.get("client"):
        attributes["client.address"] = scope["client"][0]
    return attributes


def end(span: Recorded, scope: Scope, answer: Answer) -> None:
    """With the route and the status. A 4xx is no error of a server (semantic conventions, "HTTP server spans")."""
    route = route_of(scope)
    if route is not None:
        span.set("http.route", route)
        if getattr(span.span, "name", None) == scope["method"]:
            span.span.update_name(f"{scope['method']} {route}")
    if answer.request_id:
        span.set("aws.request_id", answer.request_id.decode("latin-1"))
    if answer.status:
        span.set("http.response.status_code", answer.status)
    span.end(str(answer.status) if answer.status >= 500 else None)


def route_of(scope: Scope) -> str | None:
    """The route that answered, such as `/v1/queues/{name}`; it knows only what is below its router's prefix."""
    below = getattr(scope.get("route"), "path", None)
    if below is None:
        return None
    segments = scope["path"].split("/")
    return "/".join(segments[: len(segments) - below.count("/")]) + str(below)
