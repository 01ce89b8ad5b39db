"""Compares message types with botocore's model: the name and type of every member, and whether it is required.

Compares the MD5 of message attributes with a second implementation, and with AWS's published values.
"""

import base64
import hashlib
import struct
from functools import cache
from typing import Any, cast
from uuid import RFC_4122, UUID

import botocore.session
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from penstock.actions import ACTIONS, BY_NAME, BY_ROUTE, BY_TARGET, MAPPING_ACTIONS, SERVICES, STS_ACTIONS, AnyAction
from penstock.aws.codec.schema import List, Map, Scalar, Shape, Structure, read_structure
from penstock.aws.message_id import as_text, build_message_id
from penstock.sqs.digests import compute_attributes_md5, encode_value, size_of_attributes
from penstock.sqs.types import MessageAttributeValue

FIRST_ISSUE = {
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
    "CreateQueue",
    "DeleteMessage",
    "DeleteMessageBatch",
    "DeleteQueue",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
    "SendMessageBatch",
    "SetQueueAttributes",
}
# In the structs, a blob is a base64 text.
SCALARS = {"string": str, "blob": str, "integer": int, "long": int, "boolean": bool}

# Maps the intended differences from the model to their reasons: (structure, member) -> reason.
LAXER = {
    ("MessageAttributeValue", "DataType"): "SQS answers its absence with InvalidParameterValue, for that entry alone",
    ("MessageSystemAttributeValue", "DataType"): "the same",
    ("SendMessageBatchResult", "Successful"): "the service leaves an empty list out (aws/aws-sdk issues 536, 657)",
    ("SendMessageBatchResult", "Failed"): "the same",
    ("DeleteMessageBatchResult", "Successful"): "the same",
    ("DeleteMessageBatchResult", "Failed"): "the same",
    ("ChangeMessageVisibilityBatchResult", "Successful"): "the same",
    ("ChangeMessageVisibilityBatchResult", "Failed"): "the same",
}


@cache
def model() -> Any:
    return botocore.session.get_session().get_service_model("sqs")


def rows() -> list[Any]:
    return [pytest.param(action, id=action.name) for action in ACTIONS if action.service == "sqs"]


def assert_same(ours: Shape, theirs: Any) -> None:
    match ours:
        case Scalar(kind):
            assert kind is SCALARS[theirs.type_name]
        case List(item):
            assert theirs.type_name == "list"
            assert_same(item, theirs.member)
        case Map(value):
            assert theirs.type_name == "map"
            assert_same(value, theirs.value)
        case Structure():
            assert_same_structure(ours, theirs)


def assert_same_structure(ours: Structure, theirs: Any) -> None:
    assert ours.type.__name__ == theirs.name
    members = {member.name: member for member in ours.members}
    assert set(members) == set(theirs.members)
    for name, member in members.items():
        if (theirs.name, name) in LAXER:
            assert name in theirs.required_members
            assert not member.required
        else:
            assert member.required == (name in theirs.required_members), name
        assert_same(member.shape, theirs.members[name])


def test_the_first_actions_are_all_there() -> None:
    assert {action.name for action in ACTIONS if action.service == "sqs"} >= FIRST_ISSUE
    cbor_only = [action for action in ACTIONS if action.service == "events"]
    assert len(BY_NAME) == len(ACTIONS) + len(STS_ACTIONS) + len(MAPPING_ACTIONS)
    assert len(BY_TARGET) + len(BY_ROUTE) == len(ACTIONS) + len(MAPPING_ACTIONS) - len(cbor_only)


def test_the_service_is_called_as_in_the_model() -> None:
    metadata = model().metadata
    assert SERVICES["sqs"].target_prefix == metadata["targetPrefix"]
    assert SERVICES["sqs"].version == metadata["apiVersion"]


@pytest.mark.parametrize("action", rows())
def test_request_has_the_members_of_the_model(action: AnyAction) -> None:
    assert_same_structure(read_structure(action.request), model().operation_model(action.name).input_shape)


@pytest.mark.parametrize("action", rows())
def test_result_has_the_members_of_the_model(action: AnyAction) -> None:
    theirs = model().operation_model(action.name).output_shape
    assert (action.result is None) == (theirs is None)
    if action.result is not None:
        assert_same_structure(read_structure(cast("type[Struct]", action.result)), theirs)


def test_a_type_that_is_no_message_is_refused() -> None:
    with pytest.raises(TypeError):
        read_structure(list[int])


def test_an_unknown_annotation_is_refused_when_the_shape_is_read() -> None:
    class Odd(msgspec.Struct):
        value: complex

    with pytest.raises(KeyError):
        read_structure(Odd)


def text(value: str, data_type: str = "String") -> MessageAttributeValue:
    return MessageAttributeValue(data_type=data_type, string_value=value)


def binary(value: bytes, data_type: str = "Binary") -> MessageAttributeValue:
    return MessageAttributeValue(data_type=data_type, binary_value=base64.b64encode(value).decode())


def documented(attributes: dict[str, tuple[str, str | bytes]]) -> str:
    """Computes the digest by the steps in the Developer Guide."""
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
    assert compute_attributes_md5(ours) == documented(attributes)


def test_a_digest_that_aws_published() -> None:
    # The values come from the AWS JSON example of SendMessage (SQS API reference).
    attributes = {
        "my_attribute_name_1": text("my_attribute_value_1"),
        "my_attribute_name_2": text("my_attribute_value_2"),
    }
    assert compute_attributes_md5(attributes) == "c48838208d2b4e14e3ca0093a8443f09"


def test_size_counts_names_types_and_decoded_values() -> None:
    assert size_of_attributes({"ab": text("é"), "c": binary(b"12345")}) == (2 + 6 + 2) + (1 + 6 + 5)
    assert size_of_attributes({}) == 0


def test_values_as_bytes() -> None:
    assert encode_value(text("é")) == b"\xc3\xa9"
    assert encode_value(binary(b"\x00\xff")) == b"\x00\xff"


# --- message id ------------------------------------------------------------------------------------------------------
# Compares MessageIds with the UUIDs of the standard library (RFC 9562).


def test_message_ids_are_random_uuids_of_version_4() -> None:
    made = [build_message_id() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert {(UUID(bytes=value).version, UUID(bytes=value).variant) for value in made} == {(4, RFC_4122)}


def test_the_text_of_a_message_id_is_a_uuid() -> None:
    for value in (bytes(16), bytes(range(16)), b"\xff" * 16, build_message_id()):
        assert as_text(value) == str(UUID(bytes=value))
