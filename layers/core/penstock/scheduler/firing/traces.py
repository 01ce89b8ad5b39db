"""Records spans of fired occurrences. Each span starts a trace, which the occurrence's messages and deliveries
continue."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from penstock.observing.trace_context import Span, Tracer, Value, as_trace_header

_json = msgspec.json.Encoder()

Key = tuple[int, Hashable, str]
"""Identifies a span by a schedule's id and the occurrence's time, or by a retry's id and None. The schedule's name
follows."""


class Traces:
    """The spans of one transaction. Without a tracer, the object records no spans."""

    def __init__(self, tracer: Tracer | None) -> None:
        self._tracer = tracer
        self._spans: dict[Key, Span | None] = {}
        self._failed_ids: set[int] = set()

    @contextmanager
    def record_spans(self) -> Iterator[None]:
        """Ends the spans that started in the block. If the block raises an error, marks the spans as failed."""
        error = "rolled_back"
        try:
            yield
            error = ""
        finally:
            for (row_id, _, _), span in self._spans.items():
                if span is not None:
                    span.end(error or ("failed" if row_id in self._failed_ids else None))
            self._spans.clear()
            self._failed_ids.clear()

    def begin(self, kind: str, keys: Sequence[Key], messages: Sequence[bytes | None]) -> list[bytes | None]:
        """Starts spans. Returns the messages, with a trace header if the span is recorded.

        `kind` is schedule or retry.
        """
        if self._tracer is None:
            return list(messages)
        for key in keys:
            if key not in self._spans:
                self._spans[key] = self._tracer.root(f"fire {kind}", build_span_attributes(kind, key))
        return [add_trace(message, self._spans[key]) for key, message in zip(keys, messages, strict=True)]

    def failed(self, row_id: int) -> None:
        """Marks the spans of this schedule or retry as failed, because the target did not accept the message."""
        self._failed_ids.add(row_id)


def build_span_attributes(kind: str, key: Key) -> dict[str, Value]:
    row_id, occurrence, name = key
    attributes: dict[str, Value] = {f"penstock.{kind}.id": row_id, "penstock.schedule.name": name}
    if occurrence is not None:
        attributes["penstock.schedule.scheduled_for"] = str(occurrence)
    return attributes


def add_trace(message: bytes | None, span: Span | None) -> bytes | None:
    """Returns the message, a JSON object or None, with the trace header as the first member."""
    if span is None:
        return message
    trace = b'{"trace":' + _json.encode(as_trace_header(span.context))
    return trace + (b"}" if message is None else b"," + message[1:])
