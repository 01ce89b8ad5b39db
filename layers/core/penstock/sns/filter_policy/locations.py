"""Finds where AWS's parser stops at a fault of a filter policy. AWS's error texts end with this position.

    "suffix" must be an object or an array
     at [Source: (String)"{"key":{"suffix":"v"}}"; line: 1, column: 19]

AWS reads the text with Jackson, a streaming parser, and names the position after the current token. The position is
after a string's opening quote if the parser has not read the string's characters yet. The order of the checks comes
from github.com/aws/event-ruler, RuleCompiler.java. The positions and the form come from
github.com/FasterXML/jackson-core, ReaderBasedJsonParser.java and ContentReference.java, and from recorded responses.
"""

import json
import re
from typing import NamedTuple

from penstock.aws.json_text import decode_json
from penstock.sns.errors import InvalidParameter

from .operators import OPERATOR_NAMES, is_or, parse_operator
from .values import is_number

MAX_QUOTED_LENGTH = 500  # characters of the policy
_WORD = re.compile(r"[\w$]+", re.ASCII).match
_TOKEN_PATTERN = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)', re.DOTALL)
_TOKEN, _TOKENS = _TOKEN_PATTERN.match, _TOKEN_PATTERN.finditer
_REDACTED = "REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled)"


class Node(NamedTuple):
    """A value of the policy. `at` is the position when its token is current, `end` the position after the value.

    A list has `items`, and an object has `members`. Positions are indexes of the next character.
    """

    value: object
    at: int
    end: int
    items: "tuple[Node, ...]" = ()
    members: "tuple[tuple[str, Node], ...]" = ()


def describe_parse_error(text: str) -> str:
    """Returns AWS's text about invalid JSON: an unknown token, an early end, or only the position of another fault.
    Returns an empty string if the fault has no position."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        word = _WORD(text, error.pos)
        if word is not None:
            expected = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
            reason = f" Unrecognized token '{word[0]}': was expecting {expected}"
            return f"{reason}\n at {_format_source(text, word.end())}"
        if (opened := _find_open(text)) is not None and not text[error.pos :].strip():
            kind = "Object" if text[opened] == "{" else "Array"
            marker = f"expected close marker for {kind} (start marker at {_format_source(text, opened)})"
            return f" Unexpected end-of-input: {marker}\n at {_format_source(text, len(text))}"
        return f"\n at {_format_source(text, error.pos)}"
    except (RecursionError, ValueError):
        pass
    return ""


def describe_location(text: str) -> str:
    """Returns the location of a JSON policy's first fault, or an empty string if the fault is not in a single value."""
    try:
        at = _find_fault(_read(text, 0))
    except (RecursionError, ValueError):
        at = None
    if at is None:
        return ""
    quoted = re.sub(
        r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]", lambda control: f"\\u{ord(control[0]):04X}", text[:MAX_QUOTED_LENGTH]
    )
    cut = f"[truncated {len(text) - MAX_QUOTED_LENGTH} chars]" if len(text) > MAX_QUOTED_LENGTH else ""
    return f'\n at [Source: (String)"{quoted}"{cut}; {_format_place(text, at)}]'


def _find_open(text: str) -> int | None:
    """Returns the index of the last bracket that is not closed, or None."""
    opened = []
    for token in _TOKENS(text):
        symbol = token[0][-1]
        if len(token[0].strip()) == 1 and symbol in "{[":
            opened.append(token.end() - 1)
        elif len(token[0].strip()) == 1 and symbol in "}]" and opened:
            opened.pop()
    return opened[-1] if opened else None


def _format_source(text: str, at: int) -> str:
    return f"[Source: {_REDACTED}; {_format_place(text, at)}]"


def _format_place(text: str, at: int) -> str:
    lines = text[:at].split("\n")
    return f"line: {len(lines)}, column: {len(lines[-1].encode('utf-16-le', 'surrogatepass')) // 2 + 1}"


# --- reading ---------------------------------------------------------------------------------------------------------
def _read(text: str, start: int) -> Node:
    """Reads the value that starts at this index of a JSON text."""
    symbol, end = _read_token(text, start)
    if symbol == "{":
        return _read_object(text, end)
    if symbol == "[":
        return _read_list(text, end)
    at = end - len(symbol) + 1 if symbol.startswith('"') else end
    return Node(decode_json(symbol), at, end)


def _read_token(text: str, start: int) -> tuple[str, int]:
    found = _TOKEN(text, start)
    return (found[0].lstrip(), found.end()) if found is not None else ("", len(text))


def _read_object(text: str, start: int) -> Node:
    members: list[tuple[str, Node]] = []
    symbol, at = _read_token(text, start)
    while symbol != "}":
        if symbol == ",":
            symbol, at = _read_token(text, at)
        _, colon = _read_token(text, at)
        member = _read(text, colon)
        members.append((str(decode_json(symbol)), member))
        symbol, at = _read_token(text, member.end)
    return Node({name: member.value for name, member in members}, start, at, members=tuple(members))


def _read_list(text: str, start: int) -> Node:
    items: list[Node] = []
    symbol, end = _read_token(text, start)
    at = start
    while symbol != "]":
        items.append(_read(text, end if symbol == "," else at))
        symbol, end = _read_token(text, items[-1].end)
        at = items[-1].end
    return Node([item.value for item in items], start, end, tuple(items))


# --- faults, in the order of AWS's checks ----------------------------------------------------------------------------
def _find_fault(node: Node) -> int | None:
    """Returns where the first fault of a rules object begins, or None."""
    if not isinstance(node.value, dict):
        return node.at
    if not node.members:
        return node.end
    return next((at for member in node.members if (at := _find_fault_of_member(*member)) is not None), None)


def _find_fault_of_member(name: str, member: Node) -> int | None:
    if name == "$or" and is_or(member.value):
        return next((at for item in member.items if (at := _find_fault(item)) is not None), None)
    if isinstance(member.value, dict):
        return _find_fault(member)
    if not isinstance(member.value, list):
        return member.at
    if not member.items:
        return member.end
    return next((at for item in member.items if _is_refused(item) and (at := _find_in_value(item)) is not None), None)


def _is_refused(node: Node) -> bool:
    try:
        parse_operator(node.value)
    except InvalidParameter:
        return True
    return "suffix" in _get_exclusion(node)


def _get_exclusion(node: Node) -> dict[str, object]:
    excluded = node.value.get("anything-but") if isinstance(node.value, dict) else None
    return excluded if isinstance(excluded, dict) else {}


def _find_in_value(node: Node) -> int | None:
    """Returns the position of the fault in a value of a key's list."""
    if not isinstance(node.value, dict):
        return node.at
    if not node.members:
        return node.end
    name, argument = node.members[0]
    if name not in OPERATOR_NAMES:
        return argument.at
    if not _is_refused(Node({name: argument.value}, node.at, node.end)):
        return node.members[1][1].at  # only one key is allowed
    if name == "numeric":
        return _find_in_numeric(argument)
    if name == "anything-but":
        return _find_in_exclusion(argument)
    if name == "cidr" and isinstance(argument.value, str):
        return None  # AWS's class for addresses has no access to the parser
    return argument.end if name == "wildcard" and isinstance(argument.value, str) else argument.at


def _find_in_numeric(node: Node) -> int | None:
    if not isinstance(node.value, list):
        return node.at
    starts = ("=", "<", "<=", ">", ">=")
    for index, (item, operators) in enumerate(zip(node.items, (starts, (), ("<", "<="), ()), strict=False)):
        if not operators and not is_number(item.value):
            return item.at
        if operators and item.value not in operators:
            return item.end if isinstance(item.value, str) else item.at
        if index == 1 and node.items[0].value in starts[:3] and len(node.items) > 2:
            return node.items[2].at
    if len(node.items) == 3 or len(node.items) < 2:
        return node.end
    return node.items[4].at if len(node.items) > 4 else node.items[-1].at


def _find_in_exclusion(node: Node) -> int | None:
    if isinstance(node.value, list):
        values = (item for item in node.items if not (isinstance(item.value, str) or is_number(item.value)))
        return next((item.at for item in values), node.end)
    if not isinstance(node.value, dict):
        return node.at
    if not node.members:
        return node.end
    name, argument = node.members[0]
    if name == "suffix" or len(node.members) > 1:
        return node.members[-1][1].at
    return argument.end if argument.value == "" else argument.at
