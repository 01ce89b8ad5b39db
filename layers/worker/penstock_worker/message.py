"""The message that a handler receives."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """A received message. Its handler has it alone as long as the worker extends its visibility."""

    id: str
    """The MessageId of SQS, or the number of a message in SQL."""
    body: str
    """The body as a text. SQL stores JSON, so a body that came over SQL can have other spaces than its sender's."""
    receive_count: int = 1
    """How often the message was received, this time included."""
    attributes: Mapping[str, object] = field(default_factory=dict)
    """The values of the message attributes by name: texts, bytes, and over SQL also other JSON values."""
    group_id: str | None = None
    """The message group in a FIFO queue over SQS; None in other queues and over SQL."""
    trace_header: str | None = None
    """The system attribute AWSTraceHeader, which names the span of the sender; None over SQL."""
    receipt_handle: str = field(default="", repr=False)
    """The receipt handle of SQS; empty over SQL."""

    def json(self) -> Any:
        """Returns the body as JSON. Raises json.JSONDecodeError for another text."""
        return json.loads(self.body)
