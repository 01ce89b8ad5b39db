r"""Flattens a message's attributes or body once for each publish, so that SQL only compares (queue.policy_matches).

Facts are the leaves of the message by path: `{"a\x1fb": [values]}`. Objects in an array count as if they replaced the
array. If an array has several elements, including objects, the facts also contain the message itself, under the name
U+001F. Keys that match in such an array must match in a single element (queue.keys_match_together). A dot in a name is
equivalent to nesting: `{"a.b": 1}` has the facts of `{"a": {"b": 1}}`. `queue.body_facts` does the same in SQL.
Sources: SNS Developer Guide, "Filter policy constraints", "Key matching"; arrays: README of
github.com/aws/event-ruler.
"""

from collections.abc import Mapping

import msgspec

from penstock.aws.json_text import decode_json
from penstock.sqs.types import MessageAttributeValue

from .values import SEPARATOR, build_path, convert_value

Facts = dict[str, list[object]]

MAX_PATH_CHARACTERS = 4_194_304  # the limit of a message; deep objects with long names have long paths
MAX_ARRAY_LEVELS = 32  # the limit of nested arrays, because queue.keys_match_together calls itself once for each level
# The limit of objects and arrays, counted by brackets. A message of 256 KiB can reach the limit, and is then converted
# in 10 to 25 ms.
MAX_CONTAINERS = 131_072
_CONTAINERS = frozenset((dict, list))


UNJUDGED = b"true"
"""Replaces the facts of a JSON object that exceeds a limit of this module, or is nested too deeply. The object
matches every policy, so that a complicated message is not lost."""


class UnreadableBody(Exception):  # noqa: N818 - no error of the client
    """The message cannot be compared with policies."""


# --- message attributes ----------------------------------------------------------------------------------------------
def attribute_facts(attributes: Mapping[str, MessageAttributeValue]) -> Facts:
    """Returns the facts of message attributes, without binary attributes.

    If an attribute's value does not fit its type, the message has no facts, so no policy matches it. AWS counts these
    messages in the metric NumberOfNotificationsFilteredOut-InvalidAttributes. SQL compares values in JSON
    form, because policies escape quotes and backslashes twice ("Policy constraints for attribute-based filtering").
    """
    try:
        found = {
            convert_value(name): _attribute(value.data_type, value.string_value)
            for name, value in attributes.items()
            if value.string_value is not None
        }
        return {name: values for name, values in found.items() if values}
    except (ValueError, RecursionError, UnreadableBody):
        return {}


def _attribute(kind: str, text: str) -> list[object]:
    if kind in ("String.Array", "Number.Array"):
        values = decode_json(text)
        if not isinstance(values, list) or any(isinstance(value, list | dict) for value in values):
            raise UnreadableBody
        return [_escape(value) if isinstance(value, str) else value for value in values]
    return [msgspec.Raw(format_number(text))] if kind.startswith("Number") else [_escape(text)]


def format_number(text: str) -> bytes:
    """Returns a number attribute's value in JSON. Also accepts `+1`, `01` and `.5`."""
    try:
        decode_json(text.strip())
        return text.strip().encode()
    except ValueError:
        return repr(float(text)).encode()


def _escape(text: str) -> str:
    return convert_value(text).replace("\\", "\\\\").replace('"', '\\"')


# --- bodies ----------------------------------------------------------------------------------------------------------
def encode_body_facts(body: str) -> bytes | None:
    """Returns the facts of a body in JSON, or UNJUDGED.

    Returns None if the body is not a JSON object. No MessageBody policy matches a body that is not a JSON object.
    """
    try:
        facts = find_body_facts(body)
        return None if facts is None else msgspec.json.encode(facts)
    except (RecursionError, UnreadableBody):
        return UNJUDGED


def find_body_facts(body: str) -> Mapping[str, object] | None:
    """Returns the facts of a body, or None if it is not a JSON object. Raises UnreadableBody, RecursionError."""
    if body.lstrip()[:1] != "{":
        return None
    if has_too_many_containers(body):
        raise UnreadableBody
    try:
        document = decode_json(body)
    except ValueError:
        return None
    # Escapes are rare, and only an escape can produce a character that `convert_value` replaces.
    return flatten_document(list_members(document) if "\\u00" in body else document)


def has_too_many_containers(body: str) -> bool:
    """Returns whether a JSON text has more than 131,072 objects and arrays. Brackets inside strings do not count."""
    if body.count("{") + body.count("[") <= MAX_CONTAINERS:
        return False
    outside = "".join(body.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    return outside.count("{") + outside.count("[") > MAX_CONTAINERS


def remove_surrogates(value: object) -> object:
    """Converts all names and texts of the value with `convert_value`."""
    if isinstance(value, dict):
        return list_members(value)
    if isinstance(value, list):
        return [remove_surrogates(element) for element in value]
    return convert_value(value) if isinstance(value, str) else value


def list_members(document: Mapping[str, object]) -> dict[str, object]:
    """Returns the converted members of an object."""
    return {convert_value(name): remove_surrogates(member) for name, member in document.items()}


def flatten_document(document: dict[str, object]) -> Mapping[str, object]:
    """Returns the facts of an object. Raises UnreadableBody."""
    facts: Facts = {}
    several, characters = False, 0
    pending = [(name, value, 0) for name, value in document.items()]
    while pending:
        path, value, level = pending.pop()
        if isinstance(value, dict):
            characters += sum(len(path) + len(name) for name in value)
            pending.extend((f"{path}{SEPARATOR}{name}", inner, level) for name, inner in value.items())
        elif isinstance(value, list):
            if not _CONTAINERS.isdisjoint(map(type, value)):
                several = several or len(value) > 1
                pending.extend((path, inner, level + 1) for inner in value)
            elif value:
                facts.setdefault(path, []).extend(value)
                level += 1
        else:
            facts.setdefault(path, []).append(value)
        if level > MAX_ARRAY_LEVELS or characters > MAX_PATH_CHARACTERS:
            raise UnreadableBody
    if any("." in path for path in facts):
        facts = add_nested_names(facts)
    return facts | {SEPARATOR: document} if several else facts


def add_nested_names(facts: Facts) -> Facts:
    """Expands names with dots in the facts to paths."""
    nested: Facts = {}
    for path, values in facts.items():
        nested.setdefault(build_path(path), []).extend(values)
    return nested
