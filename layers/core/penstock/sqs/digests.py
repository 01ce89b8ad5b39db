"""Computes MD5 digests and sizes of messages. SDKs also compute the digests, and compare the results.

Source: "Calculating the MD5 message digest for message attributes" in the SQS Developer Guide. Attributes are sorted by
name. Each attribute adds its name, its data type and its value. A length of four bytes in big-endian order precedes the
name, the type and the value. The byte before the value is the transport type: 1 for text (String and Number), and 2 for
Binary.
"""

from base64 import b64decode
from collections.abc import Mapping
from hashlib import md5
from struct import Struct

from .types import MessageAttributeValue

_LENGTH = Struct(">I").pack
_TEXT, _BINARY = b"\x01", b"\x02"


def compute_attributes_md5(attributes: Mapping[str, MessageAttributeValue]) -> str:
    """Computes MD5OfMessageAttributes (or of system attributes) from validated values."""
    digest = md5(usedforsecurity=False)
    for name in sorted(attributes):
        value = attributes[name]
        digest.update(
            _prefix_length(name.encode()) + _prefix_length(value.data_type.encode()) + _encode_transport(value)
        )
    return digest.hexdigest()


def size_of_attributes(attributes: Mapping[str, MessageAttributeValue]) -> int:
    """Returns the number of bytes that the attributes' names, types and (decoded) values add to the message."""
    size = 0
    for name, value in attributes.items():
        size += count_text_bytes(name + value.data_type + (value.string_value or ""))
        if value.binary_value:
            size += count_decoded_bytes(value.binary_value)
    return size


def count_text_bytes(text: str) -> int:
    """Returns the number of bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def count_decoded_bytes(text: str) -> int:
    """Returns the number of bytes that a padded base64 text encodes."""
    return len(text) // 4 * 3 - text.count("=", -2)


def encode_value(value: MessageAttributeValue) -> bytes:
    """Returns the value as bytes: a text in UTF-8, or the decoded base64 text."""
    if value.string_value is not None:
        return value.string_value.encode()
    return b64decode(value.binary_value or "")


def _prefix_length(data: bytes) -> bytes:
    return _LENGTH(len(data)) + data


def _encode_transport(value: MessageAttributeValue) -> bytes:
    return (_BINARY if value.string_value is None else _TEXT) + _prefix_length(encode_value(value))
