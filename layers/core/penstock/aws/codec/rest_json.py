"""The codec of REST-JSON. The method and the path identify the action. The path, the query string and a JSON body
contain the members.

A value of a wrong type raises SerializationException immediately. One ValidationException lists all violations of
limits, as on AWS: `2 validation errors detected: Value '' at 'name' failed to satisfy constraint: …; Value null at
'target.arn' …`. The codec treats a null member as absent and ignores an unknown member. Sources: "Smithy: AWS restJson1
protocol"; responses quoted in public issues (aws-sdk-net 2495, aws-sdk-js-v3 3714, aarondfrancis/sidecar 148).
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from penstock.aws.json_text import decode_json
from penstock.errors import AwsError, SerializationException

from . import json
from .errors import ConstraintViolation, name_error
from .limits import (
    LATEST,
    MAX_QUOTED_LENGTH,
    Problems,
    Violation,
    build_display_name,
    find_scalar_problems,
    find_text_reasons,
    size_reasons,
)
from .schema import Limits, List, Map, Member, Scalar, Shape, Structure, build, read_structure

CONTENT_TYPE = b"application/json"
ERROR_HEADER = b"x-amzn-errortype"

MAX_PROBLEMS = 20

Parameters = dict[str, list[str]]

_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII).fullmatch
_encode = msgspec.json.Encoder().encode


# --- requests --------------------------------------------------------------------------------------------------------
@cache
def build_decoder(request: type[msgspec.Struct]) -> Callable[[str | None, bytes, bytes], Any]:
    """Returns a function that decodes a label, a query string and a body into a request. The label is the last part of
    the path."""
    shape = read_structure(request)
    has_body = any(member.location is None for member in shape.members)

    def decode(label: str | None, query: bytes, body: bytes) -> Any:
        document = _decode_document(body) if has_body else {}
        parameters = _parse_parameters(query)
        return decode_members(shape, lambda member: _decode_parameter(member, label, parameters, document))

    return decode


def decode_members(shape: Structure, read: Callable[[Member], object]) -> msgspec.Struct:
    """Returns a request from the values that `read` returns for its members. Raises SerializationException or
    ConstraintViolation."""
    problems: Problems = []
    values = {member.attribute: _decode_member(member, read(member), "", problems) for member in shape.members}
    if problems:
        raise ConstraintViolation(problems[:MAX_PROBLEMS])
    return build(shape, {name: value for name, value in values.items() if value is not None})


def _decode_document(body: bytes) -> dict[str, Any]:
    if len(body) > json.SHORT_BYTES:
        json.check_long_body(body)
        if json.has_too_many_values(body):
            raise SerializationException
    try:
        value = decode_json(body.decode() or "{}")
    except (ValueError, RecursionError):
        raise SerializationException from None
    if type(value) is not dict:
        raise SerializationException("The request body is not a JSON object.")
    return value


def _parse_parameters(query: bytes) -> Parameters:
    """Returns the names and the values in the query string. Ignores the parameters of a signature."""
    parameters: Parameters = {}
    for part in query.split(b"&") if query else ():
        name, _, value = (unquote_to_bytes(piece.replace(b"+", b" ")) for piece in part.partition(b"="))
        parameters.setdefault(_decode_text(name), []).append(_decode_text(value))
    return parameters


def _decode_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SerializationException("The query string is not UTF-8.") from None


def _decode_parameter(member: Member, label: str | None, parameters: Parameters, document: dict[str, Any]) -> Any:
    """Returns the member's value in the request. Converts texts in the query string to the member's type."""
    if member.location is None:
        return document.get(member.name)
    if member.location.where == "path":
        return label
    values = parameters.get(member.location.name)
    if values is None or isinstance(member.shape, List):
        return values
    if isinstance(member.shape, Scalar) and member.shape.kind is int:
        return _decode_integer(values[0])
    return values[0]


def _decode_integer(text: str) -> int:
    if _INTEGER(text) is None:
        raise SerializationException("STRING_VALUE can not be converted to an Integer")
    return int(text)


# --- values ----------------------------------------------------------------------------------------------------------
def _decode_member(member: Member, value: Any, prefix: str, problems: Problems) -> Any:
    path = prefix + build_display_name(member)
    if value is not None:
        return _decode_value(member.shape, value, path, problems)
    if member.required:
        problems.append(Violation("null", path, "Member must not be null"))
    return None


def _decode_value(shape: Shape, value: Any, path: str, problems: Problems) -> Any:
    match shape:
        case Scalar(kind, limits):
            return _decode_scalar(kind, limits, value, path, problems)
        case List(item, limits=limits):
            _expect(list, value)
            problems.extend(Violation("[…]", path, reason) for reason in size_reasons(limits, len(value), "length"))
            entries = enumerate(value[: limits.most], 1)
            return [_decode_value(item, entry, f"{path}.{n}.member", problems) for n, entry in entries]
        case Map():
            _expect(dict, value)
            return _decode_map(shape, value, path, problems)
        case Structure():
            _expect(dict, value)
            return _decode_structure(shape, value, f"{path}.", problems)


def _decode_map(shape: Map, value: dict[str, object], path: str, problems: Problems) -> dict[str, object]:
    problems.extend(Violation("{…}", path, reason) for reason in size_reasons(shape.limits, len(value), "length"))
    entries = list(value.items())[: shape.limits.most]
    for key, _ in entries:
        if reasons := list(find_text_reasons(shape.key_limits, key)):
            constraint = f"Map keys must satisfy constraint: [{', '.join(reasons)}]"
            problems.append(Violation("{…}", path, constraint))
        _check_nul(key, path, problems)
    return {key: _decode_value(shape.value, entry, f"{path}.{key}", problems) for key, entry in entries}


def _decode_structure(shape: Structure, value: dict[str, Any], prefix: str, problems: Problems) -> Any:
    before = len(problems)
    members = {
        member.attribute: _decode_member(member, value.get(member.name), prefix, problems) for member in shape.members
    }
    if len(problems) > before:
        return None
    return build(shape, {name: member_value for name, member_value in members.items() if member_value is not None})


def _decode_scalar(kind: type, limits: Limits, value: Any, path: str, problems: Problems) -> Any:
    if kind is object:
        return value
    if kind is float:
        return _time(value, path, problems)
    json.decode_scalar(kind, value)
    problems.extend(find_scalar_problems(limits, value, path))
    if kind is str:
        _check_nul(value, path, problems)
    return value


def _check_nul(text: str, path: str, problems: Problems) -> None:
    if "\0" in text:  # our choice: PostgreSQL cannot store NUL in a text
        reason = "Member must not contain the character U+0000"
        problems.append(Violation(f"'{text[:MAX_QUOTED_LENGTH]}'", path, reason))


def _time(value: Any, path: str, problems: Problems) -> float:
    """Returns a time in seconds since 1970. Every float in EventBridge Scheduler's model is a time."""
    if type(value) not in {int, float}:
        raise SerializationException(json.UNEXPECTED.get(type(value), "Unexpected field type"))
    if not 0 <= value <= LATEST:
        problems.append(Violation(f"'{str(value)[:MAX_QUOTED_LENGTH]}'", path, f"Member must be 0 to {LATEST}"))
        return 0.0
    return float(value)


def _expect(kind: type, value: Any) -> None:
    if type(value) is not kind:
        raise SerializationException(json.UNEXPECTED.get(type(value), "Unexpected field type"))


# --- responses --------------------------------------------------------------------------------------------------------
def encode_result(result: msgspec.Struct | None) -> bytes:
    """Returns a response body, which is empty for an action without a result (API reference)."""
    return b"" if result is None else _encode(result)


def encode_error(error: AwsError) -> tuple[bytes, bytes]:
    """Returns the error's name, which is the value of the `x-amzn-errortype` header, and the body."""
    return name_error(error).encode(), _encode({**error.more_members, error.message_member: error.message})
