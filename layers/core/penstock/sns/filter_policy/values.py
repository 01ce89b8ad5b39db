"""Converts texts and numbers of filter policies and messages to the form that SQL compares.

Numbers are from -10^9 to 10^9 with five digits after the point (SNS Developer Guide, "Filter policy constraints").
This module rounds the numbers of policies, and SQL rounds the numbers of messages. A number outside the range, such as
an account id, equals only itself.
"""

from decimal import ROUND_HALF_UP, Decimal
from typing import TypeGuard, TypeVar

T = TypeVar("T")

SEPARATOR = "\x1f"  # separates the names of a path; alone, it is the name of the message's document in the facts
SMALLEST, GREATEST = -1_000_000_000, 1_000_000_000

_DIGITS = Decimal("0.00001")
# NUL is replaced because PostgreSQL's JSON cannot store it.
_REPLACED = str.maketrans({"\0": "\ufffd", SEPARATOR: "\ufffd"})


def convert_value(text: str) -> str:
    """Replaces NUL and U+001F with U+FFFD, in policies and in messages."""
    return text.translate(_REPLACED) if "\0" in text or SEPARATOR in text else text


def build_path(name: str) -> str:
    """Returns the path of a name in a body, or in a policy on a body. A dot in the name is equivalent to nesting."""
    return name.replace(".", SEPARATOR)


def lower_case(text: str) -> str:
    """Converts each character to lower case, like `queue.lower_case`, so that the length stays the same."""
    return text.lower() if text.isascii() else "".join(map(_lower, text))


def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def is_number(value: object) -> TypeGuard[float]:
    """Returns whether the value is a JSON number (true and false are not)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_in_range(value: float) -> bool:
    """Returns whether a number is in the range of numeric matching."""
    return SMALLEST <= value <= GREATEST


def round_value(value: T) -> T | float:
    """Rounds a policy's number to five digits after the point if it is in range. Other values stay unchanged."""
    if not isinstance(value, float) or not is_in_range(value):
        return value
    return float(Decimal(repr(value)).quantize(_DIGITS, ROUND_HALF_UP))
