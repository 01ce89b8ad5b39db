"""Decodes the messages of a request."""

import msgspec

from penstock import errors
from penstock.aws.json_text import decode_typed
from penstock.documents.decoding import (
    MAX_MESSAGES,
    check_length_of_one,
    count_messages,
    list_counter,
    one_counter,
)
from penstock.effects import LONG_COMPUTATION_BYTES

from .types import NewMessage

_one = msgspec.json.Decoder(NewMessage)
_many = msgspec.json.Decoder(list[NewMessage])


def read_messages(body: bytes) -> tuple[list[NewMessage], bool]:
    """Decodes the messages of a request. Also returns whether the messages came as a list.

    Raises InvalidParameterValue, RequestEntityTooLarge.
    """
    is_list = body.lstrip()[:1] == b"["
    if not is_list:
        check_length_of_one(body)
    try:
        # msgspec does not check raw parts. Decoding the text refuses invalid bytes in them.
        text = body.decode()
        if len(body) > LONG_COMPUTATION_BYTES:
            count_messages(list_counter if is_list else one_counter, text)
        messages = decode_typed(_many.decode, text) if is_list else [decode_typed(_one.decode, text)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise errors.InvalidParameterValue(f"body: {error}") from error
    if not 1 <= len(messages) <= MAX_MESSAGES:
        raise errors.InvalidParameterValue(f"body: 1 to {MAX_MESSAGES} messages, not {len(messages)}")
    return messages, is_list
