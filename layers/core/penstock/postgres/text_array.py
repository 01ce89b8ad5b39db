"""Writes arrays as text, for a driver without binary parameters.

Source: PostgreSQL manual, "Array Input and Output Syntax".
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any


def _quote(value: str | bytes) -> str:
    text = value if isinstance(value, str) else value.decode()
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _encode_instant(value: datetime) -> str:
    return f'"{value.isoformat()}"'


_KINDS: dict[str, Callable[[Any], str]] = {
    "text[]": _quote,
    "uuid[]": lambda value: bytes(value).hex(),
    "jsonb[]": _quote,
    "timestamptz[]": _encode_instant,
    "int2[]": str,
    "int4[]": str,
    "int8[]": str,
}


def encode(type_name: str, values: Sequence[Any]) -> str | None:
    """Encodes the values as an array. Returns None if `values` is not empty and all values are None."""
    as_text = _KINDS[type_name]
    if values and all(value is None for value in values):
        return None
    return "{" + ",".join("NULL" if value is None else as_text(value) for value in values) + "}"


def encode_arguments(types: Iterable[str], arguments: Iterable[Any]) -> list[Any]:
    """Encodes a call's arguments: arrays as text, and other arguments as pg8000 accepts them."""
    return [
        encode(kind, value) if kind.endswith("[]") and value is not None else value
        for kind, value in zip(types, arguments, strict=True)
    ]
