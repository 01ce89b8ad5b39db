r"""Decodes all JSON that RFC 8259 allows.

msgspec refuses some valid JSON: a lone escaped surrogate (`"\ud83d"`, from a program that cuts a text inside an emoji),
a number beyond the range of doubles (`1e400`), and deep nesting. Python's decoder then decodes surrogates and large
numbers. A lone surrogate becomes U+FFFD, because UTF-8 cannot encode surrogates. A number beyond the range of doubles
becomes 10^400 or -10^400. Deep nesting raises RecursionError, because "an implementation may set limits on the maximum
depth of nesting" (RFC 8259, section 9).
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

_BEYOND: Final = 10**400
"""Replaces numbers beyond the range of doubles. msgspec and jsonb can write and compare this number."""
_MAX_INTEGER_DIGITS: Final = 4_300  # the most digits that Python converts

# A pair of surrogates, a lone surrogate (group 1), or another escape. Without the third case, the second half of an
# escaped backslash would start an escape.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]").search


def decode_json(text: str | bytes) -> Any:
    """Decodes a text. Raises ValueError for invalid JSON, and RecursionError for deep nesting."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError):
        plain = text if isinstance(text, str) else text.decode()
        return decode_any_json(replace_lone_surrogates(plain))


def decode_any_json(text: str) -> Any:
    """Decodes a text with Python's decoder, which keeps lone surrogates. Raises ValueError or RecursionError."""
    return json.loads(text, parse_float=_read_float, parse_int=_read_integer, parse_constant=_refuse_constant)


def decode_typed(decode: Callable[[str], T], text: str) -> T:
    """Decodes a text with a msgspec decoder. Lone surrogates become U+FFFD. Raises msgspec.MsgspecError, ValueError
    or RecursionError."""
    try:
        return decode(text)
    except msgspec.DecodeError:
        plain = replace_lone_surrogates(text)
        if plain == text:
            raise
        return decode(plain)


def replace_lone_surrogates(text: str) -> str:
    """Replaces lone escaped surrogates in a JSON text with an escaped U+FFFD."""
    if _SURROGATE(text) is None:
        return text
    return _ESCAPE.sub(lambda match: r"\ufffd" if match[1] else match[0], text)


def _read_float(text: str) -> float:
    value = float(text)
    return value if abs(value) <= _MAX_DOUBLE else _take_bound(text)


_MAX_DOUBLE: Final = 1.7976931348623157e308


def _read_integer(text: str) -> int:
    return int(text) if len(text) <= _MAX_INTEGER_DIGITS else _take_bound(text)


def _take_bound(text: str) -> int:
    return -_BEYOND if text.startswith("-") else _BEYOND


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")  # Python writes NaN and Infinity
