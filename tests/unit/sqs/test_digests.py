"""MD5 of message attributes against a second implementation, and values that AWS published."""

import base64
import hashlib
import struct

from hypothesis import given
from hypothesis import strategies as st

from penstock.sqs.digests import md5_of_attributes, size_of_attributes, value_bytes
from penstock.sqs.types import MessageAttributeValue


def text(value: str, data_type: str = "String") -> MessageAttributeValue:
    return MessageAttributeValue(data_type=data_type, string_value=value)


def binary(value: bytes, data_type: str = "Binary") -> MessageAttributeValue:
    return MessageAttributeValue(data_type=data_type, binary_value=base64.b64encode(value).decode())


def documented(attributes: dict[str, tuple[str, str | bytes]]) -> str:
    """The steps of the Developer Guide, written down one by one."""
    buffer = bytearray()
    for name, (data_type, value) in sorted(attributes.items()):
        for part in (name.encode("utf-8"), data_type.encode("utf-8")):
            buffer += struct.pack("!I", len(part)) + part
        raw = value if isinstance(value, bytes) else value.encode("utf-8")
        buffer += bytes([2 if isinstance(value, bytes) else 1]) + struct.pack("!I", len(raw)) + raw
    return hashlib.md5(bytes(buffer)).hexdigest()


VALUES = st.tuples(st.sampled_from(("String", "Number", "String.custom")), st.text(min_size=1)) | st.tuples(
    st.sampled_from(("Binary", "Binary.png")), st.binary(min_size=1)
)


@given(st.dictionaries(st.text(min_size=1, max_size=10), VALUES, max_size=10))
def test_the_documented_algorithm(attributes: dict[str, tuple[str, str | bytes]]) -> None:
    ours = {
        name: binary(value, kind) if isinstance(value, bytes) else text(value, kind)
        for name, (kind, value) in attributes.items()
    }
    assert md5_of_attributes(ours) == documented(attributes)


def test_a_digest_that_aws_published() -> None:
    # SendMessage in the SQS API reference, the example of the AWS JSON protocol.
    attributes = {
        "my_attribute_name_1": text("my_attribute_value_1"),
        "my_attribute_name_2": text("my_attribute_value_2"),
    }
    assert md5_of_attributes(attributes) == "c48838208d2b4e14e3ca0093a8443f09"


def test_size_counts_names_types_and_decoded_values() -> None:
    assert size_of_attributes({"ab": text("é"), "c": binary(b"12345")}) == (2 + 6 + 2) + (1 + 6 + 5)
    assert size_of_attributes({}) == 0


def test_values_as_bytes() -> None:
    assert value_bytes(text("é")) == b"\xc3\xa9"
    assert value_bytes(binary(b"\x00\xff")) == b"\x00\xff"
