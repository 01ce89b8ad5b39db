"""Runs a real collector of OpenTelemetry: a gRPC server in this process, which keeps its spans."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition, Event
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

# Only a broken test reaches this limit.
MAX_SECONDS = 60


class Collector(TraceServiceServicer):
    """`spans` are in the order of arrival. `resource` maps the resource's attributes to their values. While `open` is
    not set, the collector does not respond.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.resource: dict[str, Any] = {}
        self.port = 0
        self.open = Event()
        self.open.set()
        self._arrived = Condition()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def Export(  # noqa: N802 - gRPC's name
        self, request: ExportTraceServiceRequest, context: Any
    ) -> ExportTraceServiceResponse:
        self.open.wait(MAX_SECONDS)
        with self._arrived:
            for group in request.resource_spans:
                self.resource = attributes(group.resource.attributes)
                for scope in group.scope_spans:
                    self.spans.extend(scope.spans)
            self._arrived.notify_all()
        return ExportTraceServiceResponse()

    def wait(self, condition: Callable[[Span], bool]) -> Span:
        """Waits for a span that meets the condition, and returns it."""
        found: list[Span] = []

        def arrived() -> bool:
            found[:] = [span for span in self.spans if condition(span)]
            return bool(found)

        with self._arrived:
            names = [span.name for span in self.spans]
            assert self._arrived.wait_for(arrived, MAX_SECONDS), f"not among {names}"
        return found[0]

    def request(self, trace_id: str) -> Span:
        return self.wait(lambda s: s.trace_id.hex() == trace_id and s.kind == Span.SPAN_KIND_SERVER)

    def calls(self, request: Span) -> list[Span]:
        """Returns a request's database calls. The calls' spans arrive before the request's span."""
        return [span for span in self.spans if span.parent_span_id == request.span_id]


def attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: value_of(pair) for pair in pairs}


def value_of(pair: KeyValue) -> Any:
    return getattr(pair.value, str(pair.value.WhichOneof("value")))


@contextmanager
def running_collector() -> Iterator[Collector]:
    collector = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]
    collector.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield collector
    finally:
        collector.open.set()
        server.stop(None).wait()
