"""The codec of AWS JSON 1.0: decodes requests and encodes results.

msgspec decodes a body in one pass. If msgspec refuses the body, a second pass finds AWS's error: SerializationException
for a text that is not JSON or a value of a wrong type, and MissingParameter for an absent required member. The second
pass keeps lone surrogates, so that a later check of the texts refuses only the message with the surrogate. The codec
treats a null member as absent and ignores an unknown member. Source of the texts: recorded responses of the AWS JSON
services.

A valid long body has long strings, but not many strings. Decoding a million small members would take 0.3 s. Therefore
the codec checks the unescaped length and the number of quotes before the first pass. The codec checks the number of
brackets, braces and commas before the second pass.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from penstock.aws.json_text import decode_any_json
from penstock.errors import AwsError, MissingParameter, RequestEntityTooLarge, SerializationException

from .schema import List, Map, Scalar, Shape, Structure, Timestamp, build, find_query_name, read_structure

CONTENT_TYPE = b"application/x-amz-json-1.0"

SHORT_BYTES = 131_072  # any body of this size is decoded within 6 ms
MAX_UNESCAPED_BYTES = 2_097_152  # a MiB of binary attributes is 1.4 MiB of base64
MAX_STRINGS = 5_000  # names and values; a valid request has at most 1,400 quotes
# the most brackets, braces and commas in a body that the second pass decodes
MAX_STRUCTURAL_CHARACTERS = 50_000

_REFUSALS = (msgspec.MsgspecError, ValueError, RecursionError)  # UnicodeDecodeError is a ValueError
encode = msgspec.json.Encoder().encode
"""Encodes a result as a response body."""


@cache
def build_decoder(request: type[msgspec.Struct]) -> Callable[[bytes], Any]:
    """Returns a function that decodes a body. The function raises SerializationException or MissingParameter."""
    decode = msgspec.json.Decoder(request).decode

    def decode_body(body: bytes) -> Any:
        if len(body) > SHORT_BYTES:
            check_long_body(body)
        try:
            if not body.isascii():
                body.decode()  # msgspec does not check members that it skips
            return decode(body)
        except _REFUSALS:
            return _find_type_error(body, read_structure(request))

    return decode_body


def check_long_body(body: bytes) -> None:
    """Raises RequestEntityTooLarge for a long body, and SerializationException for more than 5,000 names and values.

    Quotes inside a string are escaped and do not count.
    """
    # The escape \u0041 is five bytes longer than the character A.
    if len(body) > MAX_UNESCAPED_BYTES and len(body) - 5 * body.count(b"\\") > MAX_UNESCAPED_BYTES:
        raise RequestEntityTooLarge
    quotes = body.count(b'"')
    if quotes > 2 * MAX_STRINGS and quotes - body.count(b'\\"') > 2 * MAX_STRINGS:
        raise SerializationException(f"The request has more than {MAX_STRINGS} names and texts.")


def has_too_many_values(body: bytes) -> bool:
    """Returns whether a body has more than 50,000 brackets, braces and commas outside strings."""
    outside = b"".join(body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    return sum(map(outside.count, (b"[", b"{", b","))) > MAX_STRUCTURAL_CHARACTERS


def encode_error(error: AwsError) -> bytes:
    """Returns `{"__type": …, "message": …}` and the error's other members. The `x-amzn-query-error` header contains the
    Query code."""
    return encode({"__type": f"{error.namespace}#{error.json_type}", "message": error.message, **error.more_members})


def _find_type_error(body: bytes, shape: Structure) -> Any:
    if len(body) > SHORT_BYTES and has_too_many_values(body):
        raise SerializationException
    try:
        value = decode_any_json(body.decode() or "{}")
    except (ValueError, RecursionError):
        raise SerializationException from None
    return decode_value(shape, value, "")


def decode_value(shape: Shape, value: Any, path: str) -> Any:
    """Returns the typed value for a decoded JSON value. Raises SerializationException or MissingParameter."""
    match shape:
        case Scalar(kind):
            return decode_scalar(kind, value)
        case List(item):
            _expect(list, value)
            return [decode_value(item, entry, f"{path}.{n}") for n, entry in enumerate(value, 1)]
        case Map(item):
            _expect(dict, value)
            return {k: decode_value(item, v, f"{path}.{k}") for k, v in value.items() if v is not None}
        case Structure():
            _expect(dict, value)
            return build(shape, dict(_decode_members(shape, value, f"{path}." if path else "")))


def _decode_members(shape: Structure, value: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    pairs = []
    for member in shape.members:
        member_value = value.get(member.name)
        if member_value is not None:
            pairs.append((member.attribute, decode_value(member.shape, member_value, prefix + find_query_name(member))))
        elif member.required:
            raise MissingParameter.named(prefix + member.name)
    return pairs


# JSON has neither blobs nor times, but decoded CBOR has.
_TOKENS: dict[type, str] = {
    str: "STRING_VALUE", int: "NUMBER_VALUE", float: "NUMBER_VALUE", bytes: "BLOB_VALUE", Timestamp: "TIMESTAMP_VALUE",
}  # fmt: skip
_TARGETS: dict[type, str] = {str: "a String", int: "an Integer", bool: "a Boolean", bytes: "a Blob"}


def decode_scalar(kind: type, value: Any) -> Any:
    """Returns the value if the value is a text, number, boolean or blob of this type. Otherwise raises
    SerializationException."""
    if type(value) is kind:
        return value
    if isinstance(value, list | dict):
        raise SerializationException(UNEXPECTED[type(value)])
    raise SerializationException(f"{name_token(value)} can not be converted to {_TARGETS[kind]}")


def name_token(value: object) -> str:
    """Returns the name of a scalar value's type in AWS's error texts, or of the value itself: `TRUE_VALUE`."""
    return _TOKENS.get(type(value), f"{value}_VALUE".upper())


UNEXPECTED: dict[type, str] = {
    list: "Start of list found where not expected",
    dict: "Start of structure or map found where not expected.",
}


def _expect(kind: type, value: Any) -> None:
    if type(value) is not kind:
        raise SerializationException(UNEXPECTED.get(type(value), "Unexpected field type"))
