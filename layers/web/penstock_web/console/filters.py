"""Reads a message filter from a URL's parameters."""

import re
from collections.abc import Mapping

import msgspec

from penstock.errors import InvalidParameterValue
from penstock.search.filters import MessageFilter

NAMES = (
    "text", "path", "value", "attr", "attr_value", "group", "min_receives", "max_receives", "older", "newer", "source",
    "shape", "cause", "no_cause",
)  # fmt: skip
TEXTS = {"text": "text", "group": "group_id", "source": "source_queue", "shape": "shape", "cause": "cause"}
AGES = {"older": "older_than_seconds", "newer": "newer_than_seconds"}
UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
NUMBERS = {"min_receives": "min_receive_count", "max_receives": "max_receive_count"}


def parse_filter(query: Mapping[str, str], states: list[str]) -> MessageFilter | None:
    """Returns the URL's filter, or None if the URL has no filter. Raises InvalidParameterValue for an invalid filter.
    The filter selects messages in `states`, or in all states if `states` is empty.
    """
    given = {name: query[name].strip() for name in NAMES if query.get(name, "").strip()}
    if not given:
        return None
    document: dict[str, object] = {"states": states} if states else {}
    document |= {member: given[name] for name, member in TEXTS.items() if name in given}
    document |= {member: parse_number(given[name]) for name, member in NUMBERS.items() if name in given}
    document |= {member: parse_age(given[name]) for name, member in AGES.items() if name in given}
    if "cause" in given:  # A user can type an error. A cause has # instead of each number (queue.error_cause).
        document["cause"] = re.sub("[0-9]+", "#", given["cause"])
    elif "no_cause" in given:
        document["cause"] = ""
    if "path" in given:
        document["json"] = {"path": given["path"], "equals": parse_value(query.get("value", ""))}
    if "attr" in given:
        equals = {"equals": given["attr_value"]} if "attr_value" in given else {}
        document["attribute"] = {"name": given["attr"], **equals}
    try:
        return msgspec.convert(document, MessageFilter)
    except msgspec.ValidationError as error:
        raise InvalidParameterValue(f"This filter is invalid: {error}") from error


def parse_number(text: str) -> int | str:
    """Parses a number. Returns other text unchanged, and msgspec then reports the error."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text


def parse_age(text: str) -> int:
    """Parses a duration such as 90, 30s, 5m, 1h or 2d. Returns seconds. Raises InvalidParameterValue."""
    found = re.fullmatch(r"([0-9]{1,8}) ?([smhd]?)", text)
    if found is None:
        raise InvalidParameterValue(f"This filter is invalid: {text[:40]!r} is not a time such as 30s, 5m, 1h or 2d")
    return int(found[1]) * UNITS[found[2]]


def parse_value(text: str) -> object:
    """Parses a number, true, false, null or a quoted text as JSON. Returns any other value unchanged as text."""
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError):
        return text
    return value if value is None or isinstance(value, str | int | float | bool) else text


def as_parameters(wanted: MessageFilter) -> dict[str, str]:
    """Returns the URL parameters for a failure group's filter."""
    found = {
        "source": wanted.source_queue,
        "shape": wanted.shape,
        "cause": wanted.cause or None,
        "no_cause": "1" if wanted.cause == "" else None,
        "min_receives": wanted.min_receive_count,
        "max_receives": wanted.max_receive_count,
        "attr": wanted.attribute.name if wanted.attribute else None,
        "attr_value": wanted.attribute.equals if wanted.attribute else None,
    }
    return {name: str(value) for name, value in found.items() if value is not None}
