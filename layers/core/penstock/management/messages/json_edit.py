"""Changes one value in a JSON text. Every other character stays the same: blanks, the order and repetition of members,
the spelling of numbers, and escapes, including lone surrogates.
"""

import json
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final

from penstock.aws.json_text import decode_any_json

MAX_NAME_LENGTH: Final = 64
TYPES: Final = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}
"""The types of JSON by the first character of a value. Any other value is a number."""


def is_json(text: str) -> bool:
    """Returns whether a text is JSON."""
    try:
        decode_any_json(text)
    except (ValueError, RecursionError):
        return False
    return True


def replace_value(text: str, names: Sequence[str], value: str) -> str | None:
    """Returns the JSON text with another value at the path. `names` are the names of members and the positions in
    lists, from 0, from the outside in. `value` is JSON.

    Returns None if the text is not JSON or has no such path.
    """
    start = _find_value(text, names)
    return None if start is None else text[:start] + value + text[_skip_value(text, start) :]


def find_type(text: str, names: Sequence[str] = ()) -> str | None:
    """Returns the type of the value at the path: object, array, string, number, boolean or null (RFC 8259). Returns
    None if the text is not JSON or has no such path.
    """
    start = _find_value(text, names)
    return None if start is None else TYPES.get(text[start], "number")


def _find_value(text: str, names: Sequence[str]) -> int | None:
    """Returns where the value at the path begins, or None if the text is not JSON or has no such path."""
    if not is_json(text):
        return None
    start = _skip_blanks(text, 0)
    for name in names:
        found = _find_member(text, start, name)
        if found is None:
            return None
        start = found
    return start


def list_paths(text: str, most: int) -> list[str]:
    """Returns the paths of a JSON text that `replace_value` accepts as texts split at dots, the outermost first, at
    most `most`. Of a list, returns the paths of its first element only. Omits names with dots, and names of over 64
    characters or with characters that cannot be printed.
    """
    try:
        waiting = deque([("", decode_any_json(text))])
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    while waiting and len(found) < most:
        path, value = waiting.popleft()
        if path:
            found.append(path)
        members = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
        waiting.extend(
            (f"{path}.{name}" if path else str(name), child)
            for name, child in islice(members, most)
            if 0 < len(str(name)) <= MAX_NAME_LENGTH and str(name).isprintable() and "." not in str(name)
        )
    return found


def _find_member(text: str, start: int, name: str) -> int | None:
    """Returns where the value of a member begins, or None. `start` is where the object or list begins. Of several
    members with the name, the last one counts, as in most decoders."""
    opening = text[start]
    if opening not in "{[":
        return None
    found, number, place = None, 0, _skip_blanks(text, start + 1)
    while text[place] not in "}]":
        key: object = str(number)
        if opening == "{":
            key, place = _decoder.raw_decode(text, place)
            place = _skip_blanks(text, _skip_blanks(text, place) + 1)  # behind the colon
        if key == name:
            found = place
        place = _skip_blanks(text, _skip_value(text, place))
        number += 1
        if text[place] == ",":
            place = _skip_blanks(text, place + 1)
    return found


def _skip_value(text: str, start: int) -> int:
    return _decoder.raw_decode(text, start)[1]


def _skip_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _keep(text: str) -> str:
    return text


_decoder: Final = json.JSONDecoder(parse_float=_keep, parse_int=_keep)
