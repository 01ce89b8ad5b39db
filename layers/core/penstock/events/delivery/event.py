"""An event as a bus stores it, and the texts that targets receive (Transformer, EventBridge API Reference)."""

from base64 import b64encode
from datetime import UTC, datetime
from enum import IntEnum
from functools import cached_property
from typing import Final
from uuid import UUID

import msgspec

from penstock.aws.json_text import decode_json
from penstock.events.publishing import FIRST_SEQUENCE_NUMBER
from penstock.postgres.statement import JsonObject

_json = msgspec.json.Encoder()


class ContentType(IntEnum):
    """The values of queue.event.content_type."""

    EVENTBRIDGE = 0
    JSON = 1
    OCTET_STREAM = 2

    @property
    def text(self) -> str:
        return ("application/eventbridge+json", "application/json", "application/octet-stream")[self]


CONTENT_TYPES: Final = tuple(ContentType)
"""The content types by their stored values. A look-up costs a tenth of a conversion."""


class Event(msgspec.Struct, dict=True):
    """An event of a bus. `data` is the payload as the publisher sent it, or the envelope of PutEvents.

    An event without a group is the only one of its group, so its id is also the name of the group. `passed` has the
    ARNs of the buses that forwarded the event, separated by blanks.
    """

    number: int
    ingested_at: datetime
    event_id: UUID
    content_type: ContentType
    data: bytes
    account_id: str | None = None
    group_id: str | None = None
    deduplication_id: str | None = None
    source: str | None = None
    detail_type: str | None = None
    metadata: JsonObject | None = None
    passed: str | None = None

    @property
    def shown_group_id(self) -> str:
        """Returns the group that targets see."""
        return self.group_id or str(self.event_id)

    @property
    def group_key(self) -> str | None:
        """Returns the group and its publisher, whose events a FIFO subscriber receives in order. Returns None for an
        event that is the only one of its group."""
        return None if self.group_id is None else f"{self.account_id or ''} {self.group_id}"

    @property
    def is_binary(self) -> bool:
        return self.content_type == ContentType.OCTET_STREAM

    @cached_property
    def text(self) -> str:
        """The payload as text. A binary payload becomes base64."""
        return b64encode(self.data).decode() if self.is_binary else self.data.decode()

    @cached_property
    def document(self) -> object:
        """The payload as a filter or an expression reads it. Raises ValueError for a payload that is not JSON, and
        RecursionError for a payload with too many levels."""
        return decode_json(self.data)

    def build_system_metadata(self, delivery_type: str) -> dict[str, str]:
        """Returns the fields that the service adds. A field without a value is absent ("Event structure", EventBridge
        User Guide)."""
        fields = {
            "ContentType": self.content_type.text,
            "DeduplicationId": self.deduplication_id or str(self.event_id),
            "EventGroupId": self.shown_group_id,
            "aws:DeliveryType": delivery_type,
            "aws:EventId": str(self.event_id),
            "aws:IngestionTime": format_time(self.ingested_at),
            "aws:SequenceNumber": str(FIRST_SEQUENCE_NUMBER + self.number),
            "aws:Source": self.source,
            "aws:DetailType": self.detail_type,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def build_text_with_metadata(self, delivery_type: str) -> str:
        return self.build_document(delivery_type).decode()

    def build_document(self, delivery_type: str) -> bytes:
        """Returns the document of the transformer WITH_METADATA and of expressions. Its Data has the bytes that the
        publisher sent."""
        data = _json.encode(self.text) if self.is_binary else self.data
        metadata = _json.encode(self.metadata or {})
        system = _json.encode(self.build_system_metadata(delivery_type))
        return b'{"Data":' + data + b',"Metadata":' + metadata + b',"SystemMetadata":' + system + b"}"


def format_time(time: datetime) -> str:
    """Returns a time in UTC with milliseconds."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"
