"""The functions that AWS adds to JSONata's, and `$eval`, which AWS removes.

Source: "JSONata expressions", custom event bus (Amazon EventBridge User Guide), and "Transforming data with JSONata"
(AWS Step Functions Developer Guide, https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html).
"""

import hashlib
from collections.abc import Callable
from math import floor
from random import Random
from typing import Final
from uuid import uuid4

from penstock.aws.json_text import decode_json

from .protocol import MAX_ARRAY_ITEMS

_DIGESTS: Final = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}


def hash_text(text: str, algorithm: str) -> str:
    if algorithm not in _DIGESTS:
        raise ValueError(f"The algorithm of $hash must be one of {', '.join(_DIGESTS)}")
    return hashlib.new(_DIGESTS[algorithm], text.encode(), usedforsecurity=False).hexdigest()


def parse_json(text: str) -> object:
    try:
        return decode_json(text)
    except (ValueError, RecursionError):
        raise ValueError("The text of $parse is not JSON") from None


def split_array(array: list[object], size: float) -> list[list[object]]:
    """Returns parts of `size` elements. The last part can be shorter."""
    if size < 1 or size != int(size):
        raise ValueError("The size of $partition must be a whole number from 1")
    step = int(size)
    return [array[start : start + step] for start in range(0, len(array), step)]


def list_numbers(first: float, last: float, delta: float) -> list[float]:
    """Returns the numbers from `first` to `last` in steps of `delta`. Both bounds belong to the range."""
    if delta == 0:
        raise ValueError("The step of $range must not be 0")
    count = max(0, floor((last - first) / delta) + 1)
    if count > MAX_ARRAY_ITEMS:
        raise ValueError(f"$range would have more than {MAX_ARRAY_ITEMS} numbers")
    return [first + n * delta for n in range(count)]


def choose_number(seed: float | None = None) -> float:
    """Returns a number from 0 to below 1. The same seed gives the same number."""
    return Random(seed).random()  # noqa: S311 - an expression asks for a number, not for a secret


def create_uuid() -> str:
    return str(uuid4())


def refuse_eval(*_: object) -> object:
    raise ValueError("$eval is not supported")


FUNCTIONS: Final[dict[str, tuple[Callable[..., object], str | None]]] = {
    "hash": (hash_text, "<ss:s>"),
    "parse": (parse_json, "<s:x>"),
    "partition": (split_array, "<an:a>"),
    "range": (list_numbers, "<nnn:a>"),
    "random": (choose_number, "<n?:n>"),
    "uuid": (create_uuid, "<:s>"),
    "eval": (refuse_eval, None),
}
"""The functions by name, with the signatures of their arguments in JSONata's notation."""
