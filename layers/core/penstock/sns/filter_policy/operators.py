"""The operators of filter policies: a value of a policy's list becomes a test that SQL applies to one fact.

    exact, anything-but        ["in" | "not", [values]]
    equals-ignore-case, …      ["ci" | "not-ci", [values in lower case], characters of the longest]
    exists: true               ["not", [null, ""]]
    numeric                    ["range", low, low is in it, high, high is in it]
    prefix, suffix, wildcard   ["like", pattern of LIKE]; anything-but: ["unlike", [patterns]]
    cidr                       ["cidr", network]

Sources: SNS Developer Guide, "String value matching", "Numeric value matching", "Key matching", "Filter policy
constraints"; texts of errors: github.com/aws/event-ruler, the engine that AWS publishes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

import msgspec

from penstock.sns.errors import InvalidParameter

from .values import GREATEST, SMALLEST, in_range, is_number, lower_case, plain_value, round_value
from .wildcards import WildcardError, like_pattern, literal

SEVERAL_WILDCARDS = 3  # points of a pattern with more than one wildcard

# Names of operators, also of some that do not exist yet: a key of an object in `$or` may not have such a name.
RESERVED = frozenset((
    "exactly", "equals-ignore-case", "prefix", "suffix", "anything-but", "exists", "wildcard", "numeric", "cidr",
    "=", "<", "<=", ">", ">=", "regex", "not-wildcard", "not-equals-ignore-case", "date-after", "date-on-or-after",
    "date-before", "date-on-or-before", "in-date-range", "ip-address-in-range", "ip-address-not-in-range",
))  # fmt: skip

Test = list[Any]  # JSON: which members there are depends on the operator


@dataclass(frozen=True, slots=True)
class Operator:
    """One value of a key's list, parsed. `absent`: the key must be missing; else `test` decides.

    `points`: those of its patterns towards the limit of wildcards. `wildcard`: one of the patterns has a wildcard.
    """

    test: Test | None = None
    absent: bool = False
    points: int = 0
    wildcard: bool = False


def invalid_operator(reason: str) -> InvalidParameter:
    """Returns the error for a policy that cannot be used."""
    return InvalidParameter.named(f"FilterPolicy: {reason}")


def read_operator(value: object) -> Operator:
    """Returns the operator that one value of a key's list stands for. Raises InvalidParameter."""
    if isinstance(value, dict):
        name, argument = _single(value, "Match expression name not found")
        if name not in _OPERATOR_READERS:
            raise invalid_operator(f"Unrecognized match type {name[:256]}")
        return _OPERATOR_READERS[name](argument)
    if isinstance(value, list):
        raise invalid_operator("Match value must be String, number, true, false, or null")
    return Operator(["in", [plain_value(value) if isinstance(value, str) else round_value(value)]])


def _single(given: dict[str, object], if_empty: str) -> tuple[str, object]:
    """Name and value of the only member. Raises InvalidParameter when there are more or none."""
    if len(given) != 1:
        raise invalid_operator("Only one key allowed in match expression" if given else if_empty)
    return next(iter(given.items()))


def _text(argument: object, called: str) -> str:
    if not isinstance(argument, str):
        raise invalid_operator(f"{called} match pattern must be a string")
    return plain_value(argument)


# --- strings ---------------------------------------------------------------------------------------------------------
def _exactly(argument: object) -> Operator:
    return Operator(["in", [_text(argument, "exact")]])


def _ignoring_case(argument: object) -> Operator:
    text = lower_case(_text(argument, "equals-ignore-case"))
    return Operator(["ci", [text], len(text)])


def _prefix_or_suffix(name: str) -> Callable[[object], Operator]:
    """Returns the reader of `prefix` or of `suffix`."""

    def read(argument: object) -> Operator:
        text = literal(_text(argument, name))
        return Operator(["like", text + "%" if name == "prefix" else "%" + text])

    return read


def _wildcard(argument: object) -> Operator:
    try:
        pattern, stars = like_pattern(_text(argument, "wildcard"))
    except WildcardError as error:
        raise invalid_operator(str(error)) from None
    points = SEVERAL_WILDCARDS if stars > 1 else stars
    return Operator(["like", pattern], points=points, wildcard=stars > 0)


def _cidr(argument: object) -> Operator:
    text = _text(argument, "prefix")  # as AWS's engine does
    host, slash, mask = text.partition("/")
    if not slash or "/" in mask:
        raise invalid_operator("Malformed CIDR, one '/' required")
    if not (mask.isascii() and mask.isdigit()):
        raise invalid_operator("Malformed CIDR, mask bits must be an integer")
    try:
        return Operator(["cidr", str(ip_network(f"{host}/{mask}", strict=False))])
    except ValueError:
        raise invalid_operator(f"Invalid CIDR: {text[:64]}") from None


# --- presence --------------------------------------------------------------------------------------------------------
def _exists(argument: object) -> Operator:
    """`true` requires a value that is neither null nor empty ("Key matching")."""
    if argument is True:
        return Operator(["not", [None, ""]])
    if argument is False:
        return Operator(absent=True)
    raise invalid_operator("exists match pattern must be either true or false.")


# --- numbers ---------------------------------------------------------------------------------------------------------
def _numeric(argument: object) -> Operator:
    """`["=", 1]`, `[">", 0, "<=", 5]` and the like: a range; an open end is the least or greatest number of all."""
    if not isinstance(argument, list):
        raise invalid_operator("Value of numeric must be an array.")
    first = argument[0] if argument else "]"
    if not argument or not isinstance(first, str):
        raise invalid_operator(f"Invalid member in numeric match: {_display(first)}")
    if first not in ("=", "<", "<=", ">", ">="):
        raise invalid_operator(f"Unrecognized numeric range operator: {first[:64]}")
    value, rest = _bound(argument[1:2], "equals" if first == "=" else first), argument[2:]
    if first.startswith(">"):
        return Operator(["range", value, first == ">=", *_upper(value, rest)])
    if rest:
        raise invalid_operator("Too many elements in numeric expression")
    if first == "=":
        return Operator(["range", value, True, value, True])
    return Operator(["range", SMALLEST, True, value, first == "<="])


def _upper(low: float, rest: list[object]) -> tuple[float, bool]:
    """Returns the upper end of a range, or the greatest number, and whether the end is in the range."""
    if not rest:
        return GREATEST, True
    if not isinstance(rest[0], str):
        raise invalid_operator(f"Bad value in numeric range: {_display(rest[0])}")
    if rest[0] not in ("<", "<="):
        raise invalid_operator(f"Bad numeric range operator: {rest[0][:64]}")
    high = _bound(rest[1:2], rest[0])
    if len(rest) > 2:
        raise invalid_operator("Too many terms in numeric range expression")
    if low >= high:
        raise invalid_operator("Bottom must be less than top")
    return high, rest[0] == "<="


def _bound(given: list[object], called: str) -> float:
    if not given or not is_number(given[0]):
        raise invalid_operator(f"Value of {called} must be numeric")
    if not in_range(given[0]):
        raise invalid_operator("Value must be between -1.0E9 and 1.0E9, inclusive")
    return round_value(given[0])


def _display(value: object) -> str:
    """Returns a value as AWS's parser names it in errors: its opening bracket, its JSON literal, or the text itself."""
    if isinstance(value, list | dict):
        return "[" if isinstance(value, list) else "{"
    return value[:64] if isinstance(value, str) else msgspec.json.encode(value).decode()[:64]


# --- anything-but ----------------------------------------------------------------------------------------------------
def _anything_but(argument: object) -> Operator:
    """Matches a value that equals none of the list. The list has numbers or strings, not both."""
    if isinstance(argument, dict):
        return _anything_but_like(*_single(argument, "Anything-But expression name not found"))
    values = argument if isinstance(argument, list) else [argument]
    if not all(isinstance(value, str) or is_number(value) for value in values):
        raise invalid_operator(
            "Inside anything but list, start|null|boolean is not supported."
            if isinstance(argument, list)
            else "Value of anything-but must be an array or single string/number value."
        )
    if len({isinstance(value, str) for value in values}) != 1:
        raise invalid_operator(
            "Inside anything but list, either all values are number or string, mixed type is not supported"
        )
    return Operator(
        ["not", [plain_value(value) if isinstance(value, str) else round_value(value) for value in values]],
        points=1,
    )


def _anything_but_like(name: str, argument: object) -> Operator:
    if name not in ("equals-ignore-case", "prefix", "suffix", "wildcard"):
        raise invalid_operator(f"Unsupported anything-but pattern: {name[:256]}")
    given = argument if isinstance(argument, list) else [argument]
    values = [value for value in given if isinstance(value, str)]
    if not given or len(values) < len(given):
        raise invalid_operator(_NOT_STRINGS.get(name, "prefix/suffix match pattern must be a string"))
    if name == "equals-ignore-case":
        texts = [lower_case(plain_value(value)) for value in values]
        return Operator(["not-ci", texts, max(map(len, texts))], points=1)
    if name != "wildcard" and "" in values:
        raise invalid_operator("Null prefix/suffix not allowed")
    read = [_OPERATOR_READERS[name](value) for value in values]
    patterns = [one.test[1] for one in read if one.test]
    return Operator(["unlike", patterns], points=1, wildcard=any(one.wildcard for one in read))


_NOT_STRINGS = {
    "equals-ignore-case": (
        "Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported."
    ),
    "wildcard": "wildcard match pattern must be a string",
}
_OPERATOR_READERS: dict[str, Callable[[object], Operator]] = {
    "exactly": _exactly,
    "equals-ignore-case": _ignoring_case,
    "prefix": _prefix_or_suffix("prefix"),
    "suffix": _prefix_or_suffix("suffix"),
    "wildcard": _wildcard,
    "cidr": _cidr,
    "exists": _exists,
    "numeric": _numeric,
    "anything-but": _anything_but,
}
