"""Writes PostgreSQL's binary array format in one pass.

The most used SQL functions take arrays of hundreds of elements. For each element, psycopg's list dumper creates an
object. This module writes the bytes directly. Format: PostgreSQL source, `array_recv` in arrayfuncs.c.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from struct import Struct
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEADER = Struct(">iiIii")
_LENGTH = Struct(">i").pack
_INSTANT = Struct(">q").pack
_NULL = _LENGTH(-1)
_EMPTY = Struct(">iiI").pack


class PgArray(bytes):
    """The bytes of an array. Each element type has its own subclass, because psycopg chooses the oid by class."""

    element_oid = 0
    array_oid = 0


class TextArray(PgArray):
    element_oid, array_oid = 25, 1009


class ByteaArray(PgArray):
    element_oid, array_oid = 17, 1001


class UuidArray(PgArray):
    element_oid, array_oid = 2950, 2951


class JsonbArray(PgArray):
    element_oid, array_oid = 3802, 3807


class Int2Array(PgArray):
    element_oid, array_oid = 21, 1005


class Int4Array(PgArray):
    element_oid, array_oid = 23, 1007


class Int8Array(PgArray):
    element_oid, array_oid = 20, 1016


class TimestamptzArray(PgArray):
    element_oid, array_oid = 1184, 1185


_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def _encode_instant(value: datetime) -> bytes:
    """Returns the number of microseconds since 2000, in the format that timestamptz_recv in timestamp.c reads."""
    return _INSTANT((value - _EPOCH) // _MICROSECOND)


def _encode_jsonb(value: str | bytes) -> bytes:
    return b"\x01" + (value if isinstance(value, bytes) else value.encode())


# For each type: the array class, the encoder of an element, and the element's size if it is fixed.
_KINDS: dict[str, tuple[type[PgArray], Callable[[Any], bytes], int | None]] = {
    "text[]": (TextArray, bytes, None),
    "bytea[]": (ByteaArray, bytes, None),
    "uuid[]": (UuidArray, bytes, 16),
    "jsonb[]": (JsonbArray, _encode_jsonb, None),
    "timestamptz[]": (TimestamptzArray, _encode_instant, 8),
    "int2[]": (Int2Array, Struct(">h").pack, 2),
    "int4[]": (Int4Array, Struct(">i").pack, 4),
    "int8[]": (Int8Array, Struct(">q").pack, 8),
}

TYPES = tuple(_KINDS)


def encode(type_name: str, values: Sequence[Any]) -> PgArray | None:
    """Returns an array of the values, or None if all values are None. Penstock's SQL functions treat None like an array
    of nulls.

    The elements are str or UTF-8 bytes for text[], bytes for bytea[], 16 bytes for uuid[], JSON text for jsonb[],
    aware datetimes for timestamptz[], and int for int…[]. Any element can be None. Raises KeyError for another type.
    """
    kind, to_bytes, size = _KINDS[type_name]
    count = len(values)
    if not count:
        return kind(_EMPTY(0, 0, kind.element_oid))
    if values[0] is None and values.count(None) == count:
        return None
    if kind is TextArray:
        values = [value.encode() if isinstance(value, str) else value for value in values]
    first = values[0]
    nulls = 0
    # the values are often equal, such as the queue of a batch or an absent attribute
    if values.count(first) == count:
        data = to_bytes(first)
        # An element can have a MiB, so the code copies a single element only once.
        length = _LENGTH(len(data))
        elements: Iterable[bytes] = (length, data) if count == 1 else ((length + data) * count,)
    elif None in values:
        nulls = 1
        elements = [_NULL if value is None else _encode_element(to_bytes(value)) for value in values]
    else:
        elements = _prefix_lengths(list(map(to_bytes, values)), size)
    return kind(b"".join((_HEADER.pack(1, nulls, kind.element_oid, count, 1), *elements)))


def _encode_element(data: bytes) -> bytes:
    return _LENGTH(len(data)) + data


def _prefix_lengths(elements: list[bytes], size: int | None) -> Iterable[bytes]:
    """Joins the elements and puts each element's length before it, without a loop in Python."""
    if size is None:
        return chain.from_iterable(zip(map(_LENGTH, map(len, elements)), elements, strict=True))
    length = _LENGTH(size)
    return length, length.join(elements)


def encode_arguments(types: Iterable[str], arguments: Iterable[Any]) -> list[Any]:
    """Encodes a call's arguments: arrays in binary format, and other arguments as psycopg accepts them."""
    return [
        encode(kind, value) if kind.endswith("[]") and value is not None else value
        for kind, value in zip(types, arguments, strict=True)
    ]


def _build_dumper(kind: type[PgArray]) -> type[Dumper]:
    class ArrayDumper(Dumper):
        format = Format.BINARY
        oid = kind.array_oid

        def dump(self, obj: Any) -> bytes:
            return bytes(obj)

    return ArrayDumper


for _kind, *_ in _KINDS.values():  # only these classes: psycopg's other adapters do not change
    psycopg.adapters.register_dumper(_kind, _build_dumper(_kind))
