"""A filter of messages in an address: each member of the filter of `penstock.search` is a parameter."""

from collections.abc import Mapping

import msgspec

from penstock.errors import InvalidParameterValue
from penstock.search.filters import MessageFilter

NAMES = (
    "text",
    "path",
    "value",
    "attr",
    "attr_value",
    "group",
    "min_receives",
    "max_receives",
    "source",
    "shape",
)
"""The parameters."""
TEXTS = {"text": "text", "group": "group_id", "source": "source_queue", "shape": "shape"}
NUMBERS = {"min_receives": "min_receive_count", "max_receives": "max_receive_count"}


def parse_filter(query: Mapping[str, str], states: list[str]) -> MessageFilter | None:
    """The filter of an address; None: it has none. Raises InvalidParameterValue for one that cannot be.

    `states`: those in which messages are looked for; empty: all.
    """
    given = {name: query[name].strip() for name in NAMES if query.get(name, "").strip()}
    if not given:
        return None
    document: dict[str, object] = {"states": states} if states else {}
    document |= {member: given[name] for name, member in TEXTS.items() if name in given}
    document |= {member: parse_number(given[name]) for name, member in NUMBERS.items() if name in given}
    if "path" in given:
        document["json"] = {"path": given["path"], "equals": parse_value(query.get("value", ""))}
    if "attr" in given:
        equals = {"equals": given["attr_value"]} if "attr_value" in given else {}
        document["attribute"] = {"name": given["attr"], **equals}
    try:
        return msgspec.convert(document, MessageFilter)
    except msgspec.ValidationError as error:
        raise InvalidParameterValue(f"This filter cannot be used: {error}") from error


def parse_number(text: str) -> int | str:
    """The number; any other text as it is, which is then refused."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text


def parse_value(text: str) -> object:
    """A number, true, false or null as JSON has it; all else is a text, for which quotes may stand."""
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError):
        return text
    return value if value is None or isinstance(value, str | int | float | bool) else text


def as_parameters(wanted: MessageFilter) -> dict[str, str]:
    """The parameters of a filter that failure groups have."""
    found = {
        "source": wanted.source_queue,
        "shape": wanted.shape,
        "min_receives": wanted.min_receive_count,
        "max_receives": wanted.max_receive_count,
        "attr": wanted.attribute.name if wanted.attribute else None,
        "attr_value": wanted.attribute.equals if wanted.attribute else None,
    }
    return {name: str(value) for name, value in found.items() if value is not None}
