"""Reads the shape of a request or result type once from its annotations, for codecs that msgspec does not have.

    Scalar      A text, number or boolean; `object` is a document that is not decoded further.
    List, Map   A collection of one shape, with its names in Query and XML.
    Structure   A message type and its members.

Texts, numbers, lists and maps have limits if a type declares them (`msgspec.Meta`), as EventBridge's types do.
"""

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from .names import WRAPPED_LIST, WRAPPED_MAP, Naming, ParameterLocation


class Limits(msgspec.Struct, frozen=True):
    """Limits of a number's value, a text's length or a list's size. `values` are an enumeration's values."""

    least: int | None = None
    most: int | None = None
    pattern: str | None = None
    values: tuple[str, ...] = ()


NO_LIMITS = Limits()


class Timestamp(float):
    """A time in CBOR, in seconds since 1970. JSON has plain numbers."""

    __slots__ = ()


class Scalar(msgspec.Struct, frozen=True):
    """`kind` is str, bytes, int, float, bool or object. A float is a time. `wire` is the kind of a text in CBOR, if
    CBOR has another type for it: blob or time."""

    kind: type
    limits: Limits = NO_LIMITS
    wire: str = ""


class List(msgspec.Struct, frozen=True):
    item: "Shape"
    naming: Naming
    limits: Limits = NO_LIMITS


class Map(msgspec.Struct, frozen=True):
    value: "Shape"
    naming: Naming
    limits: Limits = NO_LIMITS
    key_limits: Limits = NO_LIMITS


class Member(msgspec.Struct, frozen=True):
    """A member. `name` is AWS's name. `attribute` is the Python attribute."""

    name: str
    attribute: str
    shape: "Shape"
    required: bool
    location: ParameterLocation | None = None


class Structure(msgspec.Struct, frozen=True):
    type: type[msgspec.Struct]
    members: tuple[Member, ...]


Shape = Scalar | List | Map | Structure


@cache
def read_structure(message: type[msgspec.Struct]) -> Structure:
    shape = _shape(inspect.type_info(message), None)
    if not isinstance(shape, Structure):
        raise TypeError(f"{message} is no structure")
    return shape


_SCALARS: dict[type[inspect.Type], type] = {
    inspect.StrType: str,
    inspect.BytesType: bytes,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.BoolType: bool,
    inspect.AnyType: object,
    inspect.LiteralType: str,
}


def _shape(info: inspect.Type, naming: Naming | None) -> Shape:
    match info:
        case inspect.Metadata(extra={"wire": wire}):
            return Scalar(str, _read_limits(info.type), wire)
        case inspect.Metadata():
            return _shape(info.type, (info.extra or {}).get("naming", naming))
        case inspect.UnionType():
            return _shape(next(t for t in info.types if not isinstance(t, inspect.NoneType)), naming)
        case inspect.ListType():
            return List(_shape(info.item_type, None), naming or WRAPPED_LIST, _read_limits(info))
        case inspect.DictType():
            key = _shape(info.key_type, None)
            key_limits = key.limits if isinstance(key, Scalar) else NO_LIMITS
            return Map(_shape(info.value_type, None), naming or WRAPPED_MAP, _read_limits(info), key_limits)
        case inspect.StructType():
            return Structure(info.cls, tuple(_read_member(field) for field in info.fields))
        case _:
            return Scalar(_SCALARS[type(info)], _read_limits(info))


def _read_limits(info: inspect.Type) -> Limits:
    match info:
        case inspect.StrType(min_length=least, max_length=most, pattern=pattern):
            return Limits(least, most, pattern)
        case inspect.ListType(min_length=least, max_length=most) | inspect.DictType(min_length=least, max_length=most):
            return Limits(least, most)
        case inspect.IntType(ge=least, le=most):
            return Limits(least, most)
        case inspect.LiteralType(values=values):
            return Limits(values=tuple(map(str, values)))
        case _:
            return NO_LIMITS


def _read_member(field: inspect.Field) -> Member:
    extra = (field.type.extra or {}) if isinstance(field.type, inspect.Metadata) else {}
    shape = _shape(field.type, None)
    return Member(field.encode_name, field.name, shape, field.required, extra.get("location"))


def find_query_name(member: Member) -> str:
    """Returns the member's name in Query requests and in SQS's errors about missing parameters."""
    match member.shape:
        case List(naming=naming) | Map(naming=naming) if naming.flat:
            return naming.tag
        case _:
            return member.name


def build(shape: Structure, values: dict[str, Any]) -> msgspec.Struct:
    """Returns an instance from values by attribute name. Absent members have their default values."""
    return shape.type(**values)
