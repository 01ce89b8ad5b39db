r"""Decodes JSON of clients, which may be any JSON that RFC 8259 allows.

msgspec decodes every text first. msgspec refuses three kinds of legal texts: an escaped surrogate without its other
half (`"\ud83d"`; a program that cuts a text in the middle of an emoji writes one), a number beyond the range of
doubles (`1e400`), and deep nesting. Python's decoder then decides about the first two. A surrogate becomes U+FFFD,
since UTF-8 cannot carry it; a number beyond the range becomes 10^400 or -10^400. A text that is nested too deeply
raises RecursionError: "An implementation may set limits on the maximum depth of nesting" (RFC 8259, section 9).
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

_BEYOND: Final = 10**400
"""Replaces numbers that no double can hold. msgspec and jsonb can write and compare the replacement."""
_LONGEST_INTEGER: Final = 4_300  # the most digits that Python converts

# A pair of surrogates, a surrogate alone (group 1), or any other escape: an escaped backslash does not begin an escape
# of a surrogate.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]").search


def decode_json(text: str | bytes) -> Any:
    """Decodes a text. Raises ValueError for a text that is not JSON, and RecursionError for a text that is nested too
    deeply.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError):
        plain = text if isinstance(text, str) else text.decode()
        return decode_any_json(replace_lone_surrogates(plain))


def decode_any_json(text: str) -> Any:
    """Decodes a text by Python's decoder, which keeps lone surrogates. Raises ValueError, RecursionError."""
    return json.loads(text, parse_float=_read_float, parse_int=_read_integer, parse_constant=_refuse_constant)


def decode_typed(decode: Callable[[str], T], text: str) -> T:
    """Decodes a text by a decoder of msgspec. Lone surrogates become U+FFFD. Raises msgspec.MsgspecError, ValueError,
    RecursionError.
    """
    try:
        return decode(text)
    except msgspec.DecodeError:
        plain = replace_lone_surrogates(text)
        if plain == text:
            raise
        return decode(plain)


def replace_lone_surrogates(text: str) -> str:
    """Replaces each escaped surrogate of a JSON text that has no other half with an escaped U+FFFD."""
    if _SURROGATE(text) is None:
        return text
    return _ESCAPE.sub(lambda match: r"\ufffd" if match[1] else match[0], text)


def _read_float(text: str) -> float:
    value = float(text)
    return value if abs(value) <= _LARGEST else _take_bound(text)


_LARGEST: Final = 1.7976931348623157e308


def _read_integer(text: str) -> int:
    return int(text) if len(text) <= _LONGEST_INTEGER else _take_bound(text)


def _take_bound(text: str) -> int:
    return -_BEYOND if text.startswith("-") else _BEYOND


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")  # Python writes NaN and Infinity
