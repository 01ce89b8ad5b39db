"""Reads a message filter from a URL's parameters."""

import re
from collections.abc import Mapping

import msgspec

from penstock.errors import InvalidParameterValue
from penstock.search.filters import MessageFilter
from penstock.search.titles import mask_numbers

NAMES = (
    "text", "path", "value", "attr", "attr_value", "group", "min_receives", "max_receives", "older", "newer", "source",
    "shape", "cause", "no_cause",
)  # fmt: skip
TEXTS = {"text": "text", "group": "group_id", "source": "source_queue", "shape": "shape", "cause": "cause"}
AGES = {"older": "older_than_seconds", "newer": "newer_than_seconds"}
UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
NUMBERS = {"min_receives": "min_receive_count", "max_receives": "max_receive_count"}
RECEIVES = "a whole number from 0 to 2,147,483,647"
AGE = "a time of at most 30 days, such as 30s, 5m, 1h or 2d"
RULES = {
    "text": ("text", "text", "at most 1,024 characters"),
    "json": ("JSON", "path", "a path such as order.lines.0.sku, and a value, of at most 1,024 characters each"),
    "attribute": ("attribute", "attr", "a name, and a value, of at most 1,024 characters each"),
    "group_id": ("message group", "group", "at most 128 characters"),
    "min_receive_count": ("receives at least", "min_receives", RECEIVES),
    "max_receive_count": ("receives at most", "max_receives", RECEIVES),
    "older_than_seconds": ("in the queue for longer than", "older", AGE),
    "newer_than_seconds": ("in the queue for less than", "newer", AGE),
    "source_queue": ("from", "source", "the name of a queue, of at most 80 characters"),
    "shape": ("shape", "shape", "a link of the page of groups"),
    "cause": ("cause", "cause", "at most 200 characters"),
}
"""The name of each member of a filter on the page, its parameter, and what the page expects."""


def parse_filter(query: Mapping[str, str], states: list[str]) -> MessageFilter | None:
    """Returns the URL's filter, or None if the URL has no filter. Raises InvalidParameterValue for an invalid filter.
    The filter selects messages in `states`, or in all states if `states` is empty.
    """
    fields = {name: query[name].strip() for name in NAMES if query.get(name, "").strip()}
    if not fields:
        return None
    document: dict[str, object] = {"states": states} if states else {}
    document |= {member: fields[name] for name, member in TEXTS.items() if name in fields}
    document |= {member: parse_number(fields[name]) for name, member in NUMBERS.items() if name in fields}
    document |= {member: parse_age(fields[name]) for name, member in AGES.items() if name in fields}
    if "cause" in fields:  # A user can type an error. A cause has # instead of each number (queue.error_cause).
        document["cause"] = mask_numbers(fields["cause"])
    elif "no_cause" in fields:
        document["cause"] = ""
    if "path" in fields:
        document["json"] = {"path": fields["path"], "equals": parse_value(query.get("value", ""))}
    if "attr" in fields:
        equals = {"equals": fields["attr_value"]} if "attr_value" in fields else {}
        document["attribute"] = {"name": fields["attr"], **equals}
    try:
        return msgspec.convert(document, MessageFilter)
    except msgspec.ValidationError as error:
        raise InvalidParameterValue(_explain(str(error), fields)) from error


def _explain(fault: str, given: Mapping[str, str]) -> str:
    """Returns a sentence about a member that is not valid. msgspec's text ends with the member's path."""
    found = re.search(r"`\$\.([a-z_]+)", fault)
    if found is None or found[1] not in RULES:
        return f"This filter is not valid: {fault}."
    label, name, expected = RULES[found[1]]
    return f"The filter \u201c{label}\u201d expects {expected}, and not {given.get(name, '')[:40]!r}."


def parse_number(text: str) -> int | str:
    """Parses a number. Returns other text unchanged, and msgspec then reports the error."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text


def parse_age(text: str) -> int | str:
    """Parses a duration such as 90, 30s, 5m, 1h or 2d. Returns seconds, or other text unchanged."""
    found = re.fullmatch(r"([0-9]{1,8}) ?([smhd]?)", text)
    return text if found is None else int(found[1]) * UNITS[found[2]]


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
