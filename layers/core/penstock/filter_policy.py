r"""Filter policies of subscriptions: checked and compiled once, when they are set; compared in SQL at each publish.

    policy     {"store": ["example_corp"], "price": [{"numeric": [">=", 100]}]}
    compiled   [[["store", [["in", ["example_corp"]]]], ["price", [["numeric", [">=", 100]]]]]]
    facts      {"store": ["example_corp"], "price": [120]}

A compiled policy is a list of alternatives (more than one with `$or`); an alternative is a list of [path, tests], which
all have to hold; a path holds when any of its tests holds for any of its values. Paths are names joined by U+001F.
Nothing in it is a regular expression: `queue.policy_matches` compares texts, numbers and networks.

Sources: "Filter policy constraints", "String value matching", "Numeric value matching", "Key matching", "AND/OR logic"
(SNS Developer Guide). Where AWS publishes no text of an error, it is ours.
"""

from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_network
from itertools import product
from math import prod
from typing import Any

import msgspec

from .errors_sns import InvalidParameter
from .messages.sqs import MessageAttributeValue

SEPARATOR = "\x1f"
MOST_KEYS = 5
MOST_COMBINATIONS = 150
MAXIMUM_BYTES = 262_144
LARGEST_NUMBER = 10**9

Path = tuple[str, ...]
Test = list[Any]
Condition = tuple[Path, list[Test]]

_OPERATORS = (
    "prefix",
    "suffix",
    "equals-ignore-case",
    "anything-but",
    "numeric",
    "exists",
    "wildcard",
    "cidr",
)
_COMPARISONS = ("=", "<", "<=", ">", ">=")


# --- compiling -------------------------------------------------------------------------------------------------------
def compile_policy(text: str, scope: str) -> str | None:
    """The compiled policy as JSON text; None for one that every message matches.

    `scope`: MessageAttributes, where nothing is nested, or MessageBody. Raises InvalidParameter.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAXIMUM_BYTES:
        raise bad(f"Filter policy is longer than {MAXIMUM_BYTES} bytes")
    try:
        policy = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise bad("failed to parse JSON.") from None
    if not isinstance(policy, dict):
        raise bad("Filter policy must be a JSON object")
    keys = {path for path, _ in leaves(policy, ())}
    if len(keys) > MOST_KEYS:
        raise bad(f"Filter policy can not have more than {MOST_KEYS} keys")
    if scope == "MessageAttributes" and any(len(path) > 1 for path in keys):
        raise bad("Filter policy scope MessageAttributes does not support nested filter policy")
    if combinations(policy, 1) > MOST_COMBINATIONS:
        raise bad("Filter policy is too complex")
    alternatives = [list(found) for found in alternatives_of(policy, ())]
    compiled = [[[SEPARATOR.join(path), tests] for path, tests in found] for found in alternatives]
    return msgspec.json.encode(compiled).decode() if policy else None


def bad(reason: str) -> InvalidParameter:
    """The policy cannot be used."""
    return InvalidParameter.named(f"FilterPolicy: {reason}")


def is_or(name: str, value: Any) -> bool:
    """`$or` is an operator before a list of two or more objects whose names are no operators; else it is a name."""
    return (
        name == "$or"
        and isinstance(value, list)
        and len(value) > 1
        and all(isinstance(one, dict) and one and not one.keys() & set(_OPERATORS) for one in value)
    )


def leaves(policy: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, list[Any]]]:
    """The lists of a policy, with the path to each."""
    for name, value in policy.items():
        if is_or(name, value):
            for one in value:
                yield from leaves(one, path)
        elif isinstance(value, dict):
            if not value:
                raise bad("Empty objects are not allowed")
            yield from leaves(value, (*path, name))
        elif isinstance(value, list):
            yield (*path, name), value
        else:
            raise bad(f'"{name}" must be an object or an array')


def combinations(policy: Mapping[str, Any], level: int) -> int:
    """Values of each list times its depth, multiplied; of `$or` the sum of its parts."""
    return prod(
        sum(combinations(one, level) for one in value)
        if is_or(name, value)
        else combinations(value, level + 1)
        if isinstance(value, dict)
        else len(value) * level
        for name, value in policy.items()
    )


def alternatives_of(policy: Mapping[str, Any], path: Path) -> Iterator[tuple[Condition, ...]]:
    """Every way to match a policy: one alternative of each of its members."""
    members: list[list[tuple[Condition, ...]]] = []
    for name, value in policy.items():
        if is_or(name, value):
            members.append([found for one in value for found in alternatives_of(one, path)])
        elif isinstance(value, dict):
            members.append(list(alternatives_of(value, (*path, name))))
        else:
            members.append([(((*path, name), tests_of(value)),)])
    for chosen in product(*members):
        yield tuple(condition for part in chosen for condition in part)


# --- tests -----------------------------------------------------------------------------------------------------------
def tests_of(values: list[Any]) -> list[Test]:
    """The tests of one list: plain values together, each operator alone."""
    if not values:
        raise bad("Empty arrays are not allowed")
    plain = [value for value in values if not isinstance(value, dict)]
    for value in plain:
        check_scalar(value)
    tests = [["in", plain]] if plain else []
    return tests + [operator(value) for value in values if isinstance(value, dict)]


def check_scalar(value: Any) -> None:
    """Text, a number in range, true, false or null."""
    if isinstance(value, list | dict):
        raise bad("Match value must be String, number, true, false, or null")
    if isinstance(value, int | float) and not isinstance(value, bool):
        check_number(value)


def check_number(value: Any) -> None:
    """-10^9 to 10^9."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad("Value of numeric must be a number")
    if not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        raise bad("Value of number must be between -1,000,000,000 and 1,000,000,000")


def operator(given: dict[str, Any]) -> Test:
    """The test of an object with one operator."""
    if len(given) != 1:
        raise bad("Only one key allowed in match expression")
    ((name, value),) = given.items()
    compiler = _COMPILERS.get(name)
    if compiler is None:
        raise bad(f"Unrecognized match type {name}")
    return compiler(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise bad(f"{name} match pattern must be a string")
    if value == "" and name in ("prefix", "suffix"):
        raise bad("Null prefix/suffix not allowed")
    return value


def _affix(name: str) -> Callable[[Any], Test]:
    """`prefix` and `suffix`, of the text as it is or whatever its case."""

    def compiled(value: Any) -> Test:
        if isinstance(value, dict) and value.keys() == {"equals-ignore-case"}:
            return [f"{name}-ci", _text(name, value["equals-ignore-case"]).lower()]
        return [name, _text(name, value)]

    return compiled


def _ignoring_case(value: Any) -> Test:
    return ["ci", _text("equals-ignore-case", value).lower()]


def _exists(value: Any) -> Test:
    if not isinstance(value, bool):
        raise bad("exists match pattern must be either true or false.")
    return ["exists", value]


def _anything_but(value: Any) -> Test:
    """Not one of these: values, or what begins, ends or looks like one of some texts."""
    if isinstance(value, dict):
        if len(value) != 1 or next(iter(value)) not in ("prefix", "suffix", "equals-ignore-case", "wildcard"):
            raise bad("Unsupported anything-but pattern")
        ((name, texts),) = value.items()
        return ["not", [_COMPILERS[name](text) for text in (texts if isinstance(texts, list) else [texts])]]
    values = value if isinstance(value, list) else [value]
    if not values or any(not isinstance(one, str | int | float) or isinstance(one, bool) for one in values):
        raise bad("Inside anything but list, start|null|boolean is not supported.")
    return ["not", tests_of(values)]


def _numeric(value: Any) -> Test:
    """`[">=", 1]` or a range `[">", 0, "<=", 5]`."""
    if not isinstance(value, list) or not value:
        raise bad("Value of numeric must be an array.")
    if len(value) not in (2, 4):
        raise bad(
            "Too many elements in numeric expression" if len(value) > 4 else "Invalid numeric expression"
        )
    for name, number in zip(value[::2], value[1::2], strict=True):
        if name not in _COMPARISONS:
            raise bad(f"Unrecognized numeric range operator: {name}")
        check_number(number)
    if len(value) == 4:
        if value[0][0] != ">" or value[2][0] != "<":
            raise bad(f"Bad numeric range operator: {value[2]}")
        if value[1] >= value[3]:
            raise bad("Bottom must be less than top")
    return ["numeric", value]


def _wildcard(value: Any) -> Test:
    r"""`*` is any text; `\*` and `\\` are themselves. Compiled to a pattern of LIKE."""
    text = _text("wildcard", value)
    if "**" in text.replace("\\\\", "").replace("\\*", ""):
        raise bad("Consecutive wildcard characters are not allowed")
    pattern, escaped = [], False
    for character in text:
        if escaped:
            if character not in "*\\":
                raise bad("Unexpected escape character")
            pattern.append("*" if character == "*" else "\\\\")
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            pattern.append({"*": "%", "%": "\\%", "_": "\\_"}.get(character, character))
    if escaped:
        raise bad("Unexpected escape character")
    return ["like", "".join(pattern)]


def _cidr(value: Any) -> Test:
    try:
        return ["cidr", str(ip_network(_text("cidr", value), strict=False))]
    except ValueError:
        raise bad(f"Malformed CIDR, one '/' required: {value[:64]}") from None


_COMPILERS: dict[str, Callable[[Any], Test]] = {
    "prefix": _affix("prefix"),
    "suffix": _affix("suffix"),
    "equals-ignore-case": _ignoring_case,
    "anything-but": _anything_but,
    "numeric": _numeric,
    "exists": _exists,
    "wildcard": _wildcard,
    "cidr": _cidr,
}


# --- facts -----------------------------------------------------------------------------------------------------------
def attribute_facts(attributes: Mapping[str, MessageAttributeValue]) -> dict[str, list[Any]]:
    """What policies compare, of message attributes. Binary ones never match, and so do not exist here."""
    facts: dict[str, list[Any]] = {}
    for name, value in attributes.items():
        if value.string_value is None:
            continue
        if value.data_type.startswith("Number"):
            facts[name] = [msgspec.Raw(number_text(value.string_value))]
        elif value.data_type == "String.Array":
            facts[name] = array_of(value.string_value)
        else:
            facts[name] = [value.string_value]
    return facts


def number_text(text: str) -> bytes:
    """A number attribute as JSON writes it: `+1`, `01` and `.5` are numbers too."""
    try:
        msgspec.json.decode(text.strip())
        return text.strip().encode()
    except msgspec.DecodeError:
        return repr(float(text)).encode()


def array_of(text: str) -> list[Any]:
    """The values of a String.Array; none when it is not a JSON array of plain values."""
    try:
        values = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return []
    return [v for v in values if not isinstance(v, list | dict)] if isinstance(values, list) else []


def body_facts(body: str) -> dict[str, list[Any]] | None:
    """What policies compare, of a JSON body; None for a body that is no JSON object, which matches no policy."""
    try:
        document = msgspec.json.decode(body) if body.lstrip()[:1] == "{" else None
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    facts: dict[str, list[Any]] = {}
    pending: list[tuple[str, Any]] = [(name, value) for name, value in document.items()]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            pending.extend((f"{path}{SEPARATOR}{name}", inner) for name, inner in value.items())
        elif isinstance(value, list):
            facts.setdefault(path, [])
            pending.extend((path, inner) for inner in value)
        else:
            facts.setdefault(path, []).append(value)
    return facts
