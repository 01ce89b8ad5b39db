"""A message between the checks of Publish and the database."""

from typing import NamedTuple

from penstock.sqs.types import MessageAttributeValue

DEFAULT_TEXT = "*"
"""Stands for all protocols that have no text of their own."""


class OutgoingMessage(NamedTuple):
    """A message that passed its checks. `texts` by protocol; `size`: bytes of the message as sent, and attributes."""

    message_id: str
    texts: dict[str, str]
    attributes: dict[str, MessageAttributeValue]
    attribute_bytes: int
    size: int
    subject: str | None
    group_id: str | None
    deduplication_id: str | None
