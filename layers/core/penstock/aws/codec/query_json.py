"""Encodes the JSON responses of the Query protocol, for clients that send `Accept: application/json`.

    {"SendMessageResponse": {"SendMessageResult": {"MessageId": …, "SequenceNumber": null},
                             "ResponseMetadata": {"RequestId": …}}}
    {"Error": {"Type": "Sender", "Code": …, "Message": …}, "RequestId": …}

AWS does not document the JSON responses of the Query protocol. Members have the model's names (except `messages` and
`queueUrls`). Lists have no wrapper. Maps are lists of pairs as in XML (`[{"Name": …, "Value": …}]`). An absent member
is null. Sources: the outputs in AWS's samples of API Gateway in front of SQS
(github.com/aws-samples/serverless-patterns), and a recorded response of ListQueues.
"""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.errors import AwsError

from .schema import List, Map, Member, Scalar, Shape, Structure, read_structure

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

CONTENT_TYPE = b"application/json"

Converter = Callable[[Any], Any]

_encode = msgspec.json.Encoder().encode


def encode_result(action: str, result: msgspec.Struct | None, request_id: str) -> bytes:
    """Returns the whole response of an action. An action without a result has no Result member."""
    response: dict[str, Any] = {"ResponseMetadata": {"RequestId": request_id}}
    if result is not None:
        response = {f"{action}Result": build_converter(type(result))(result), **response}
    return _encode({f"{action}Response": response})


def encode_error(error: AwsError, request_id: str) -> bytes:
    """Returns the error's type, code, message and other members, as in XML."""
    body = {"Type": error.fault, "Code": error.query_code, "Message": error.query_message, **error.more_members}
    return _encode({"Error": body, "RequestId": request_id})


@cache
def build_converter(message: type[msgspec.Struct]) -> Converter:
    """Returns a function that converts a result of this type to values that msgspec encodes."""
    return _convert_structure(read_structure(message))


def _convert_structure(shape: Structure) -> Converter:
    members = [(_name(member), attrgetter(member.attribute), _convert_value(member.shape)) for member in shape.members]

    def write(value: Any) -> dict[str, Any]:
        member_values = ((name, read(value), write_member) for name, read, write_member in members)
        return {
            name: None if member_value in _ABSENT else write_member(member_value)
            for name, member_value, write_member in member_values
        }

    return write


_ABSENT: tuple[Any, ...] = (None, [], {})


def _name(member: Member) -> str:
    match member.shape:
        case List(naming=naming) if naming.json:
            return naming.json
        case _:
            return member.name


def _convert_value(shape: Shape) -> Converter:
    match shape:
        case Scalar():
            return lambda value: value
        case List(item):
            write = _convert_value(item)
            return lambda value: [write(entry) for entry in value]
        case Map(item, naming):
            write, key, name = _convert_value(item), naming.key, naming.value
            return lambda value: [{key: k, name: write(v)} for k, v in value.items()]
        case Structure():
            return _convert_structure(shape)


# --- transcribed XML -------------------------------------------------------------------------------------------------
def convert_xml(document: bytes) -> bytes:
    """Converts an XML response to JSON without a model, like LocalStack's peek endpoint.

    Repeated elements become a list, a single element becomes its content, and an empty element becomes null.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415 - for this protocol alone

    root = ET.fromstring(document)  # noqa: S314 - our own document, not a client's
    return _encode({_tag(root): _transcribe(root)})


def _transcribe(element: "ET.Element") -> Any:
    if not len(element):
        return element.text
    children: dict[str, Any] = {}
    for child in element:
        children.setdefault(_tag(child), []).append(_transcribe(child))
    return {tag: values[0] if len(values) == 1 else values for tag, values in children.items()}


def _tag(element: "ET.Element") -> str:
    return element.tag.rpartition("}")[2]
