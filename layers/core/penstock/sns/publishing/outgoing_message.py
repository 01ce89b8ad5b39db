"""A message that Publish has validated and not stored yet."""

from typing import NamedTuple

from penstock.sqs.types import MessageAttributeValue

DEFAULT_TEXT = "*"
"""The key for all protocols without a separate text."""


class OutgoingMessage(NamedTuple):
    """A validated message. `texts` are by protocol. `size` counts bytes of the original message and its attributes."""

    message_id: str
    texts: dict[str, str]
    attributes: dict[str, MessageAttributeValue]
    attribute_bytes: int
    size: int
    subject: str | None
    group_id: str | None
    deduplication_id: str | None
