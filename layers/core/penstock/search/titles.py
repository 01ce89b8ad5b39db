"""Chooses the titles of failure groups, for the console, the REST API and the command line.

The title of a group is, in this order:

1. the cause of its samples, or the error itself if all of its messages have the same error;
2. an attribute that its samples share, such as `error: timeout`, if its name is a usual name of an error, or if the
   groups differ in it;
3. a field of the JSON body in which the groups differ, such as `order.total: null`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec

from penstock.aws.json_text import decode_json
from penstock.postgres.statements.stored_messages import FailureRow

MAX_TITLE_LENGTH: Final = 200
MAX_FIELDS: Final = 200
MAX_DEPTH: Final = 4
ERROR_ATTRIBUTES: Final = ("PenstockError", "ERROR_MESSAGE")

_names_error = re.compile("error|exception|reason|cause|fail", re.IGNORECASE).search
_number = re.compile("[0-9]+")
_absent: Final = "absent"

Facts = Mapping[str, str]


def choose_titles(groups: Sequence[Sequence[FailureRow]]) -> list[str | None]:
    """Returns the title of each group of samples, or None for a group that nothing tells apart."""
    attributes = [[_read_attributes(row) for row in samples] for samples in groups]
    shared = [find_shared(found) for found in attributes]
    fields = [_describe_fields([_read_fields(row.body) for row in samples]) for samples in groups]
    chosen = []
    for place, found in enumerate(attributes):
        cause = _choose_cause(found, groups[place][0].group_messages)
        title = cause or _choose_attribute(shared, place) or _choose_difference(fields, place)
        chosen.append(title and title[:MAX_TITLE_LENGTH])
    return chosen


def find_shared(samples: Sequence[Facts]) -> dict[str, str]:
    """Returns the facts that all samples share."""
    first, *others = samples
    return {name: text for name, text in first.items() if all(other.get(name) == text for other in others)}


def _choose_cause(samples: Sequence[Facts], messages: int) -> str | None:
    """Returns the title of a group of `messages` messages by its samples, or None without a common cause."""
    errors = {find_error(sample) for sample in samples}
    if len(errors) == 1 and len(samples) == messages:
        return errors.pop()
    causes = {find_cause(sample) for sample in samples}
    return causes.pop() if len(causes) == 1 else None


def find_error(attributes: Facts) -> str | None:
    """Returns the first line of a message's error, at most 200 characters, or None without an error."""
    error = _find_first_line(attributes)
    return None if error is None else error[:MAX_TITLE_LENGTH].strip(" \t\r")


def find_cause(attributes: Facts) -> str | None:
    """Returns the cause as `queue.error_cause` does, or None without an error."""
    error = _find_first_line(attributes)
    return None if error is None else mask_numbers(error)[:MAX_TITLE_LENGTH].strip(" \t\r")


def mask_numbers(error: str) -> str:
    """Replaces each number by #, so that errors that differ only in numbers have one cause."""
    return _number.sub("#", error)


def _find_first_line(attributes: Facts) -> str | None:
    error = next((attributes[name] for name in ERROR_ATTRIBUTES if name in attributes), None)
    return None if error is None else error.partition("\n")[0]


def _choose_attribute(shared: Sequence[Facts], place: int) -> str | None:
    own = {name: text for name, text in shared[place].items() if name not in ERROR_ATTRIBUTES}
    names = [name for name in own if _names_error(name)] or [name for name in own if _differs(shared, place, name)]
    return f"{names[0]}: {own[names[0]]}" if names else None


def _choose_difference(fields: Sequence[Facts], place: int) -> str | None:
    path = next((name for name in fields[place] if _differs(fields, place, name)), None)
    return None if path is None else f"{path}: {fields[place][path]}"


def _differs(groups: Sequence[Facts], place: int, name: str) -> bool:
    """Returns whether each other group has another value or no value, and at least one other group exists."""
    others = [group.get(name, _absent) for other, group in enumerate(groups) if other != place]
    return bool(others) and groups[place][name] not in others


def _read_attributes(row: FailureRow) -> dict[str, str]:
    found = {} if row.attributes is None else msgspec.json.decode(row.attributes, type=dict[str, dict[str, str]])
    return {name: value["StringValue"] for name, value in sorted(found.items()) if "StringValue" in value}


def _read_fields(body: str) -> dict[str, object]:
    """Returns the first fields of a JSON body by their paths, or {} for another body."""
    try:
        document = decode_json(body.encode("utf-8", "surrogatepass"))
    except (RecursionError, ValueError):
        return {}
    return dict(islice(_walk(document, "", MAX_DEPTH), MAX_FIELDS))


def _walk(value: object, path: str, depth: int) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and value and depth:
        for name, member in value.items():
            yield from _walk(member, f"{path}.{name}" if path else str(name), depth - 1)
    elif path:
        yield path, value


def _describe_fields(samples: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """Returns the value of each field that all samples have, or the type of values that differ."""
    first, *others = samples
    described = {}
    for path, value in first.items():
        values = [value, *(other[path] for other in others if path in other)]
        texts = {msgspec.json.encode(each).decode() for each in values}
        kinds = {_name_type(each) for each in values}
        if len(values) == len(samples) and len(kinds) == 1:
            described[path] = texts.pop() if len(texts) == 1 else kinds.pop()
    return described


def _name_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    names: dict[type, str] = {int: "number", float: "number", str: "string", list: "list", dict: "object"}
    return names.get(type(value), "null")
