"""Reads the messages of a request."""

import msgspec

from penstock import errors
from penstock.documents.decoding import (
    MAX_MESSAGES,
    CountedMessage,
    check_length_of_one,
    list_counter,
    one_counter,
)
from penstock.effects import LONG_COMPUTATION_BYTES

from .types import NewMessage

_one = msgspec.json.Decoder(NewMessage)
_many = msgspec.json.Decoder(list[NewMessage])


def read_messages(body: bytes) -> tuple[list[NewMessage], bool]:
    """Decodes the messages of a request. Also returns whether they came as a list.

    Raises InvalidParameterValue, RequestEntityTooLarge.
    """
    is_list = body.lstrip()[:1] == b"["
    if not is_list:
        check_length_of_one(body)
    try:
        if len(body) > LONG_COMPUTATION_BYTES:
            CountedMessage.count = 0
            (list_counter if is_list else one_counter).decode(body)
        text = (
            body.decode()
        )  # msgspec does not check raw parts. Decoding the text refuses invalid bytes in them.
        messages = _many.decode(text) if is_list else [_one.decode(text)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise errors.InvalidParameterValue(f"body: {error}") from error
    if not 1 <= len(messages) <= MAX_MESSAGES:
        raise errors.InvalidParameterValue(f"body: 1 to {MAX_MESSAGES} messages, not {len(messages)}")
    return messages, is_list
