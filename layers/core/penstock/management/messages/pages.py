"""Limits pages of messages to the length of a response."""

from typing import TypeVar

import msgspec

from penstock import errors
from penstock.context import Context
from penstock.limits.response_limit import CONTAINER_BYTES

from .types import StoredMessage

StoredMessageT = TypeVar("StoredMessageT", bound=StoredMessage)


def limit_page_bytes(context: Context) -> int:
    """Returns how many bytes a page can have. The message that reaches this number is the last one on the page."""
    limit = context.http.response_limit
    return CONTAINER_BYTES if limit is None else limit.max_bytes


def fit_page(page: list[StoredMessageT], context: Context) -> list[StoredMessageT]:
    """Returns the messages that fit into the response. Raises ResponseTooLarge if the first message is too long."""
    limit = context.http.response_limit
    if limit is None:
        return page
    fitted = page[: limit.count_fitting([msgspec.json.encode(message).decode() for message in page])]
    if page and not fitted:
        raise errors.ResponseTooLarge.of(limit.way)
    return fitted
