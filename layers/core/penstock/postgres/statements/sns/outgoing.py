"""Statements for outgoing messages to phones, mobile apps, e-mail addresses and functions."""

from typing import Literal, NamedTuple
from uuid import UUID

from penstock.postgres.statement import Statement


class OutgoingErrorRow(NamedTuple):
    error: str | None


SEND_OUTGOING = Statement(
    "queue.send_outgoing", ("text", "text", "text", "text", "text", "uuid", "text", "text", "jsonb"), OutgoingErrorRow
)


class OutgoingRow(NamedTuple):
    """An outgoing message. `attributes` is JSON. `error` says why a failed message cannot reach its destination."""

    outgoing_id: int
    created_at_ms: int
    region: str
    protocol: str
    kind: str
    destination: str
    message_id: UUID
    topic_arn: str | None
    subscription_arn: str | None
    subject: str | None
    body: str
    attributes: str | None
    state: Literal["kept", "waiting", "sent", "failed"]
    error: str | None


LIST_OUTGOING = Statement("queue.list_outgoing", ("text", "text", "text", "int8", "int4", "int4"), OutgoingRow)


class HandedOverRow(NamedTuple):
    """The number of outgoing messages that failed or became deliveries to the gateway or the mail server."""

    handed: int


HAND_OVER_OUTGOING = Statement("queue.hand_over_outgoing", ("text[]", "int4", "int4", "int4"), HandedOverRow)
