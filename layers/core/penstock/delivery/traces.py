"""Records delivery attempts as spans, by the semantic conventions for HTTP clients."""

from typing import TYPE_CHECKING

from penstock.observing.trace_context import Span, TraceContext, Tracer, Value

from .delivery import EVENT, Delivery

if TYPE_CHECKING:
    from .outcome import Outcome


def begin_span(
    tracer: Tracer, cause: TraceContext, delivery: Delivery, server: tuple[str, int] | None
) -> Span | None:
    """Begins an attempt's span. The span omits the endpoint's path and query, which can contain secrets."""
    attributes: dict[str, Value] = {
        "http.request.method": "POST",
        "http.request.resend_count": delivery.attempts,
        "messaging.system": "penstock" if delivery.kind == EVENT else "aws.sns",
        "messaging.message.id": str(delivery.message_id),
        "messaging.destination.name": (delivery.topic_arn or "").rpartition(":")[2],
    }
    if server is not None:
        attributes |= {"server.address": server[0], "server.port": server[1]}
    return tracer.post(cause, "POST", attributes)


def end_span(span: Span, outcome: "Outcome") -> None:
    """Ends the span with the outcome. In client spans every status from 400 on is an error."""
    if outcome.status is None:
        span.end("no_answer")
        return
    span.set("http.response.status_code", outcome.status)
    span.end(str(outcome.status) if outcome.status >= 400 else None)
