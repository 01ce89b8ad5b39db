"""Statements for events of the REST API, and for the bindings that route events."""

from typing import Literal, NamedTuple, TypeAlias

from penstock.postgres.statement import Statement


class PublishedEventRow(NamedTuple):
    """A message that an event created in the queue `arn`, or the error that prevented it.

    The last row has no ARN, and its `id` is the number of URLs that receive the event.
    """

    arn: str | None
    id: int
    error: str | None


PUBLISH_EVENTS = Statement(
    "queue.publish_events",
    ("text", "text", "text", "text", "jsonb", "jsonb", "jsonb", "int4", "text", "bool"),
    PublishedEventRow,
)


BindingProtocol: TypeAlias = Literal["queue", "bus", "http", "https"]


class BoundRow(NamedTuple):
    """A new or an existing binding. `filter_policy` is JSON."""

    binding_id: int
    pattern: str
    protocol: BindingProtocol
    endpoint: str
    envelope: bool
    filter_policy: str | None
    created_at_ms: int
    created: bool


BIND = Statement(
    "queue.bind",
    ("text", "text", "text", "text", "text", "bool", "text", "jsonb", "text"),
    BoundRow,
    is_audited=True,
    changed="created",
)


class UnboundRow(NamedTuple):
    removed: bool


UNBIND = Statement("queue.unbind", ("text", "text", "text", "int8"), UnboundRow, is_audited=True, changed="removed")


class BindingRow(NamedTuple):
    """A binding. `filter_policy` is JSON."""

    binding_id: int
    pattern: str
    protocol: BindingProtocol
    endpoint: str
    envelope: bool
    filter_policy: str | None
    created_at_ms: int


LIST_BINDINGS = Statement("queue.list_bindings", ("text", "text", "text", "text", "int8", "int4"), BindingRow)
MATCH_EVENT = Statement("queue.match_event", ("text", "text", "text"), BindingRow)
