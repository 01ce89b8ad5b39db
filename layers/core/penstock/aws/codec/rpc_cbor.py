"""The codec of Smithy's protocol rpc-v2-cbor. The path names the service and the operation, and the body contains the
members in one CBOR map.

A blob is a byte string. In the types of requests and results, a blob is bytes or, in services that also have another
protocol, base64 text. A timestamp has tag 1, and is a float or, for STS, ISO 8601 in the types. A whole number may
arrive as a float. Apart from these values, a CBOR body is decoded like a JSON document, so both have the same errors.
Source: "Smithy RPC v2 CBOR protocol"
(https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html).
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache

import msgspec

from penstock.errors import AwsError, SerializationException

from . import cbor, json, rest_json
from .errors import name_error
from .limits import build_check
from .protocol import SMITHY_PROTOCOL
from .schema import List, Map, Scalar, Shape, Structure, Timestamp, read_structure

CONTENT_TYPE = b"application/cbor"
VERSION = b"rpc-v2-cbor"
_REFUSED_HEADERS = (b"x-amz-target", b"x-amzn-target")

Convert = Callable[..., object]
_BUILT_IN = (bytes,)  # a text is not base64 of a blob


def check_headers(headers: Mapping[bytes, bytes]) -> None:
    """Raises SerializationException if the header `smithy-protocol` has another value, or if a header names an action,
    which can differ from the action in the path.
    """
    if headers.get(SMITHY_PROTOCOL) != VERSION:
        raise SerializationException("The header smithy-protocol must be rpc-v2-cbor.")
    for name in _REFUSED_HEADERS:
        if name in headers:
            raise SerializationException(f"A request with the header smithy-protocol has no header {name.decode()}.")


# --- requests --------------------------------------------------------------------------------------------------------
@cache
def build_decoder(request: type[msgspec.Struct]) -> Callable[[bytes], msgspec.Struct]:
    """Returns a function that decodes a body as a JSON document of the Query services. The function raises
    SerializationException or MissingParameter."""
    shape = read_structure(request)
    convert = _build_reader(shape)

    def decode(body: bytes) -> msgspec.Struct:
        document = _decode_document(body)
        convert(document)
        try:
            return msgspec.convert(document, request)
        except msgspec.ValidationError:
            decoded: msgspec.Struct = json.decode_value(shape, document, "")
            return decoded

    return decode


@cache
def build_rest_decoder(request: type[msgspec.Struct]) -> Callable[[bytes], msgspec.Struct]:
    """Returns a function that decodes a body for a REST-JSON service. The function raises SerializationException or
    ConstraintViolation.

    msgspec converts a valid request in a tenth of the time. Another request is decoded member by member, which finds
    all its violations."""
    shape = read_structure(request)
    convert = _build_reader(shape)
    check = build_check(shape)

    def decode(body: bytes) -> msgspec.Struct:
        document = _decode_document(body)
        convert(document)
        try:
            decoded = msgspec.convert(document, request, builtin_types=_BUILT_IN)
        except msgspec.ValidationError:
            decoded = None
        if decoded is None or (check is not None and not check([decoded])) or _may_have_nul(body, document):
            return rest_json.decode_members(shape, lambda member: document.get(member.name))
        return decoded

    return decode


def _may_have_nul(body: bytes, document: dict[str, object]) -> bool:
    """Returns whether a text can have the character U+0000, which PostgreSQL cannot store."""
    return b"\0" in body and b"\\u0000" in msgspec.json.encode(document)


def _decode_document(body: bytes) -> dict[str, object]:
    document = cbor.decode(body) if body else {}
    if type(document) is not dict:
        raise SerializationException("The CBOR body is not a map.")
    return document


def _keep(value: object) -> object:
    return value


@cache
def _build_reader(shape: Shape) -> Convert:
    """Returns a function that converts the values which differ between CBOR and JSON. The function leaves values of
    other wrong types to the decoder."""
    match shape:
        case Scalar():
            return _READERS.get(shape.wire or shape.kind.__name__, _keep)
        case List(item):
            return _convert_items(_build_reader(item))
        case Map(item):
            return _convert_entries(_build_reader(item))
        case Structure():
            return _convert_members(shape, _build_reader)


def _read_blob(value: object) -> object:
    if value is None:
        return None
    if type(value) is not bytes:
        raise SerializationException(f"{json.name_token(value)} can not be converted to a Blob")
    return b64encode(value).decode()


def _read_time(value: object) -> object:
    if value is None:
        return None
    if type(value) is not Timestamp:
        raise SerializationException(f"{json.name_token(value)} can not be converted to a Timestamp")
    return float(value)


def _read_integer(value: object) -> object:
    return int(value) if type(value) is float and value.is_integer() else value


_READERS: dict[str, Convert] = {"blob": _read_blob, "float": _read_time, "int": _read_integer}


# --- responses -------------------------------------------------------------------------------------------------------
def encode_result(result: msgspec.Struct | None) -> bytes:
    """Returns a response body. An action without a result has an empty map."""
    if result is None:
        return _EMPTY
    return cbor.encode(_build_writer(read_structure(type(result)))(msgspec.to_builtins(result)))


_EMPTY = cbor.encode({})


def encode_error(error: AwsError) -> bytes:
    """Returns an error of a Query service: the shape's id in `__type`, the message and the other members."""
    kind = f"{error.namespace}#{error.json_type}"
    return cbor.encode({"__type": kind, "message": error.message, **error.more_members})


def encode_rest_error(error: AwsError) -> bytes:
    """Returns an error of a REST-JSON service, whose message has the name in the service's model."""
    kind = f"{error.namespace}#{name_error(error)}"
    return cbor.encode({"__type": kind, error.message_member: error.message, **error.more_members})


@cache
def _build_writer(shape: Shape) -> Convert:
    """Returns a function that converts blobs and times in a result to their values in CBOR."""
    match shape:
        case Scalar():
            return _WRITERS.get(shape.wire or shape.kind.__name__, _keep)
        case List(item):
            return _convert_items(_build_writer(item))
        case Map(item):
            return _convert_entries(_build_writer(item))
        case Structure():
            return _convert_members(shape, _build_writer)


def _write_iso_time(value: str) -> Timestamp:
    return Timestamp(datetime.fromisoformat(value).timestamp())


_WRITERS: dict[str, Convert] = {"blob": b64decode, "float": Timestamp, "time": _write_iso_time}


# --- collections -----------------------------------------------------------------------------------------------------
def _convert_items(convert: Convert) -> Convert:
    if convert is _keep:
        return _keep
    return lambda value: [convert(item) for item in value] if type(value) is list else value


def _convert_entries(convert: Convert) -> Convert:
    if convert is _keep:
        return _keep
    return lambda value: {key: convert(item) for key, item in value.items()} if type(value) is dict else value


def _convert_members(shape: Structure, build: Callable[[Shape], Convert]) -> Convert:
    """Returns a function that converts the members of a structure in place. Most structures have few such members."""
    conversions = [(member.name, build(member.shape)) for member in shape.members]
    converted = [(name, convert) for name, convert in conversions if convert is not _keep]
    if not converted:
        return _keep

    def convert_members(value: object) -> object:
        if type(value) is dict:
            for name, convert in converted:
                if name in value:
                    value[name] = convert(value[name])
        return value

    return convert_members
