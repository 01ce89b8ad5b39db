"""Finds the expressions in the configuration of a subscriber, and puts their results in the places of the expressions.

A parameter is a literal or one whole expression, `{% … %}`. The names of message attributes and metadata can also be
expressions, but no DataType and no BinaryValue.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

_EXPRESSION = re.compile(r"\{%([\s\S]+)%\}")
_LITERALS: Final = frozenset(("DataType", "BinaryValue", "TargetArn", "RoleArn"))
_OPTIONAL: Final = "StringValue"
"""A parameter without a result is an error, but a StringValue without a result is absent."""
_decode_text = msgspec.json.Decoder(str).decode


class TransformationError(Exception):
    """A result does not fit its place. The text is the reason."""


def find_source(text: str) -> str | None:
    """Returns the expression between `{%` and `%}`, or None for a literal."""
    found = _EXPRESSION.fullmatch(text)
    return None if found is None else found[1]


def list_expressions(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields the places and the sources of all expressions in a configuration by AWS's names."""
    if isinstance(value, str):
        source = find_source(value)
        if source is not None:
            yield path, source
    elif isinstance(value, list):
        for member in value:
            yield from list_expressions(member, path)
    elif isinstance(value, Mapping):
        for name, member in value.items():
            if name not in _LITERALS:
                yield from list_expressions(name, f"a key of {path}")
                yield from list_expressions(member, f"{path}.{name}")


def fill_in(value: object, results: Mapping[str, str | None], name: str = "") -> object:
    """Returns the configuration with the results, which are JSON, instead of the expressions. Raises
    TransformationError for a result that is not a string, and for two equal keys."""
    if isinstance(value, str):
        source = None if name in _LITERALS else find_source(value)
        return value if source is None else _read_text(results[source], name)
    if isinstance(value, list):
        return [fill_in(member, results, name) for member in value]
    if not isinstance(value, Mapping):
        return value
    filled: dict[str, object] = {}
    for key, member in value.items():
        found = fill_in(key, results)
        if not isinstance(found, str) or found in filled:
            raise TransformationError(f"Two keys have the same result: {found}")
        filled[found] = fill_in(member, results, key)
    return filled


def check_result(result: str | None) -> str:
    """Returns the result of a transformer. Raises TransformationError for null and for an undefined result."""
    if result is None or result == "null":
        raise TransformationError("The result of the expression is empty.")
    return result


def read_text(result: str) -> str:
    """Returns the text of a string, and the JSON of another value."""
    return _decode_text(result) if result.startswith('"') else result


def _read_text(result: str | None, name: str) -> str | None:
    if result is None or result == "null":
        if name == _OPTIONAL:
            return None
        raise TransformationError(f"The result of the expression for {name or 'a key'} is empty.")
    if not result.startswith('"'):
        raise TransformationError(f"The result of the expression for {name or 'a key'} is not a string.")
    return _decode_text(result)
