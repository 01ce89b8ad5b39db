"""Chooses the titles of failure groups, for the console, the REST API and the command line.

A title is true of every examined message of its group, not only of the samples. The title is, in this order:

1. the cause, or the error itself if the samples are all of the messages and have the same error;
2. `mixed: …` with the most frequent causes, if the messages have different causes;
3. an attribute that all messages share, such as `error: timeout`, if its name is a usual name of an error;
4. `mixed error: …` with the most frequent texts of such an attribute, if the messages have different texts;
5. an attribute that all messages share, if the groups differ in it;
6. a field of the JSON body in which the groups differ, such as `order.total: null`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from penstock.aws.json_text import decode_json
from penstock.postgres.statements.stored_messages import FailureRow

MAX_TITLE_LENGTH: Final = 200
MAX_FIELDS: Final = 200
MAX_DEPTH: Final = 4
MAX_MIXED_LENGTH: Final = 50
ERROR_ATTRIBUTES: Final = ("PenstockError", "ERROR_MESSAGE")
CAUSE: Final = ""
MIXED: Final = "mixed"

_names_error = re.compile("error|exception|reason|cause|fail", re.IGNORECASE).search
_number = re.compile("[0-9]+")
_absent: Final = "absent"

Facts = Mapping[str, str]


class Spread(NamedTuple):
    """The texts that an attribute has in a group: the three most frequent texts, the number of different texts, and the
    number of messages with the attribute. The name of the cause is empty (`queue.group_failures`).
    """

    texts: list[str]
    different: int
    messages: int


def choose_titles(groups: Sequence[Sequence[FailureRow]]) -> list[str | None]:
    """Returns the title of each group of samples, or None for a group that nothing tells apart."""
    spreads = [_read_spreads(samples) for samples in groups]
    shared = [
        {name: spread.texts[0] for name, spread in found.items() if _is_shared(spread, samples)}
        for found, samples in zip(spreads, groups, strict=True)
    ]
    fields = [_describe_fields(samples) for samples in groups]
    chosen = []
    for place, samples in enumerate(groups):
        title = (
            _choose_cause(samples, spreads[place], shared[place])
            or _choose_error(spreads[place], shared[place], samples[0].group_messages)
            or _choose_difference(shared, place)
            or _choose_difference(fields, place)
        )
        chosen.append(title and title[:MAX_TITLE_LENGTH])
    return chosen


def is_mixed(title: str | None) -> bool:
    """Returns whether a title may say that the group's messages differ. Such a title is not true of a part of them."""
    return title is not None and title.startswith(MIXED)


def _is_shared(spread: Spread, samples: Sequence[FailureRow]) -> bool:
    return spread.different == 1 and spread.messages == samples[0].group_messages


def _choose_cause(samples: Sequence[FailureRow], spreads: Mapping[str, Spread], shared: Facts) -> str | None:
    """Returns the cause of all messages, or the different causes, or None if no message has a cause."""
    if len(samples) == samples[0].group_messages:
        errors = {find_error(_read_attributes(row)) for row in samples}
        if len(errors) == 1:
            return errors.pop()
    if CAUSE in shared or CAUSE not in spreads:
        return shared.get(CAUSE)
    return _describe_mixed("", spreads[CAUSE], samples[0].group_messages)


def _choose_error(spreads: Mapping[str, Spread], shared: Facts, messages: int) -> str | None:
    """Returns an attribute with a usual name of an error, or None if the messages have no such attribute."""
    name = next((name for name in shared if _names_error(name)), None)
    if name is not None:
        return f"{name}: {shared[name]}"
    names = [name for name in spreads if _names_error(name)]
    if not names:
        return None
    name = max(names, key=lambda each: spreads[each].messages)
    return _describe_mixed(name, spreads[name], messages)


def _describe_mixed(name: str, spread: Spread, messages: int) -> str:
    texts = [text[:MAX_MIXED_LENGTH] for text in spread.texts]
    texts += ["…"] * (spread.different > len(spread.texts)) + ["none"] * (spread.messages < messages)
    return f"{MIXED} {name}".rstrip() + f": {', '.join(texts)}"


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


def _choose_difference(fields: Sequence[Facts], place: int) -> str | None:
    names = (name for name in fields[place] if name != CAUSE and _differs(fields, place, name))
    name = next(names, None)
    return None if name is None else f"{name}: {fields[place][name]}"


def _differs(groups: Sequence[Facts], place: int, name: str) -> bool:
    """Returns whether each other group has another value or no value, and at least one other group exists."""
    others = [group.get(name, _absent) for other, group in enumerate(groups) if other != place]
    return bool(others) and groups[place][name] not in others


def _read_spreads(samples: Sequence[FailureRow]) -> dict[str, Spread]:
    text = next((row.group_facts for row in samples if row.group_facts is not None), "{}")
    return dict(sorted(msgspec.json.decode(text, type=dict[str, Spread]).items()))


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
    if isinstance(value, dict) and 0 < len(value) <= MAX_FIELDS and depth:
        for name, member in value.items():
            yield from _walk(member, f"{path}.{name}" if path else str(name), depth - 1)
    elif path:
        yield path, value


def _describe_fields(rows: Sequence[FailureRow]) -> dict[str, str]:
    """Returns the value of each field if the samples are all messages, or the type of values that differ. If the group
    has more messages, the group's shape says which types all of them have.
    """
    is_whole = len(rows) == rows[0].group_messages
    if not is_whole and rows[0].group_shape is None:
        return {}
    samples = [_read_fields(row.body) for row in rows]
    described = {}
    for path, value in samples[0].items():
        values = [value, *(other[path] for other in samples[1:] if path in other)]
        texts = {msgspec.json.encode(each).decode() for each in values}
        kinds = {_name_type(each) for each in values}
        if len(values) == len(samples) and len(kinds) == 1:
            described[path] = texts.pop() if len(texts) == 1 and is_whole else kinds.pop()
    return described


def _name_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    names: dict[type, str] = {int: "number", float: "number", str: "string", list: "list", dict: "object"}
    return names.get(type(value), "null")
