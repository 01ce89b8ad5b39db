"""The operators of filter policies. Each value in a policy's list becomes a test that SQL applies to one fact.

    exact, anything-but        ["in" | "not", [values]]
    equals-ignore-case, …      ["ci" | "not-ci", [values in lower case], characters of the longest]
    exists: true               ["not", [null, ""]]
    numeric                    ["range", low, includes low, high, includes high]
    prefix, suffix, wildcard   ["like", LIKE pattern]; anything-but: ["unlike", [patterns]]
    cidr                       ["cidr", network]

Sources: SNS Developer Guide, "String value matching", "Numeric value matching", "Key matching", "Filter policy
constraints"; error texts: github.com/aws/event-ruler, AWS's published engine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any, TypeGuard

import msgspec

from penstock.sns.errors import InvalidParameter

from .values import GREATEST, SMALLEST, convert_value, is_in_range, is_number, lower_case, round_value
from .wildcards import WildcardError, build_like_pattern, escape_literal

SEVERAL_WILDCARDS = 3  # the points of a pattern with several wildcards

# The names of operators, including some future operators. A key of an object in `$or` must not have the name of an
# operator.
RESERVED = frozenset((
    "exactly", "equals-ignore-case", "prefix", "suffix", "anything-but", "exists", "wildcard", "numeric", "cidr",
    "=", "<", "<=", ">", ">=", "regex", "not-wildcard", "not-equals-ignore-case", "date-after", "date-on-or-after",
    "date-before", "date-on-or-before", "in-date-range", "ip-address-in-range", "ip-address-not-in-range",
))  # fmt: skip

Test = list[Any]  # JSON whose members depend on the operator


@dataclass(frozen=True, slots=True)
class Operator:
    """A parsed value of a key's list. `absent` means that the key must be missing; otherwise `test` decides.

    `points` count towards the limit of wildcards. `wildcard` means that a pattern has a wildcard.
    """

    test: Test | None = None
    absent: bool = False
    points: int = 0
    wildcard: bool = False


def build_operator_error(reason: str) -> InvalidParameter:
    return InvalidParameter.named(f"FilterPolicy: {reason}", member="FilterPolicy")


def parse_operator(value: object) -> Operator:
    """Parses one value of a key's list. Raises InvalidParameter."""
    if isinstance(value, dict):
        name, argument = _take_single(value, "Match expression name not found")
        if name not in _OPERATOR_PARSERS:
            raise build_operator_error(f"Unrecognized match type {name[:256]}")
        return _OPERATOR_PARSERS[name](argument)
    if isinstance(value, list):
        raise build_operator_error("Match value must be String, number, true, false, or null")
    return Operator(["in", [convert_value(value) if isinstance(value, str) else round_value(value)]])


def _take_single(given: dict[str, object], if_empty: str) -> tuple[str, object]:
    """Returns the name and the value of the only member. Raises InvalidParameter unless the object has exactly one
    member."""
    if len(given) != 1:
        raise build_operator_error("Only one key allowed in match expression" if given else if_empty)
    return next(iter(given.items()))


def _check_text(argument: object, called: str) -> str:
    if not isinstance(argument, str):
        raise build_operator_error(f"{called} match pattern must be a string")
    return convert_value(argument)


def is_or(value: object) -> TypeGuard[list[dict[str, object]]]:
    """Returns whether `$or` is an operator and not a name. The operator's value lists two or more objects without
    reserved names."""
    return (
        isinstance(value, list)
        and len(value) > 1
        and all(isinstance(element, dict) and not has_reserved(element) for element in value)
    )


def has_reserved(members: dict[str, object]) -> bool:
    """Returns whether a member has the name of an operator, at any depth of objects."""
    return any(
        name in RESERVED or (isinstance(member, dict) and has_reserved(member)) for name, member in members.items()
    )


# --- strings ---------------------------------------------------------------------------------------------------------
def _parse_exact(argument: object) -> Operator:
    return Operator(["in", [_check_text(argument, "exact")]])


def _parse_ignoring_case(argument: object) -> Operator:
    text = lower_case(_check_text(argument, "equals-ignore-case"))
    return Operator(["ci", [text], len(text)])


def _parse_prefix_or_suffix(name: str) -> Callable[[object], Operator]:
    """Returns the parser of `prefix` or `suffix`."""

    def read(argument: object) -> Operator:
        text = escape_literal(_check_text(argument, name))
        return Operator(["like", text + "%" if name == "prefix" else "%" + text])

    return read


def _parse_wildcard(argument: object) -> Operator:
    try:
        pattern, stars = build_like_pattern(_check_text(argument, "wildcard"))
    except WildcardError as error:
        raise build_operator_error(str(error)) from None
    points = SEVERAL_WILDCARDS if stars > 1 else stars
    return Operator(["like", pattern], points=points, wildcard=stars > 0)


def _parse_cidr(argument: object) -> Operator:
    text = _check_text(argument, "prefix")  # the name in AWS's engine
    host, slash, mask = text.partition("/")
    if not slash or "/" in mask:
        raise build_operator_error("Malformed CIDR, one '/' required")
    if not (mask.isascii() and mask.isdigit()):
        raise build_operator_error("Malformed CIDR, mask bits must be an integer")
    if not _is_address(host):
        raise build_operator_error(f"Nonstandard IP address: {host[:64]}")
    try:
        return Operator(["cidr", str(ip_network(f"{host}/{mask}", strict=False))])
    except ValueError:
        raise build_operator_error(f"Invalid CIDR: {text[:64]}") from None


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


# --- presence --------------------------------------------------------------------------------------------------------
def _parse_exists(argument: object) -> Operator:
    """Parses `exists`. `true` requires a value that is neither null nor empty ("Key matching")."""
    if argument is True:
        return Operator(["not", [None, ""]])
    if argument is False:
        return Operator(absent=True)
    raise build_operator_error("exists match pattern must be either true or false.")


# --- numbers ---------------------------------------------------------------------------------------------------------
def _parse_numeric(argument: object) -> Operator:
    """Parses a list such as `["=", 1]` or `[">", 0, "<=", 5]` to a range. An open end becomes the least or
    greatest number."""
    if not isinstance(argument, list):
        raise build_operator_error("Value of numeric must be an array.")
    first = argument[0] if argument else "]"
    if not argument or not isinstance(first, str):
        raise build_operator_error(f"Invalid member in numeric match: {_format_value(first)}")
    if first not in ("=", "<", "<=", ">", ">="):
        raise build_operator_error(f"Unrecognized numeric range operator: {first[:64]}")
    value, rest = _parse_bound(argument[1:2], "equals" if first == "=" else first), argument[2:]
    if first.startswith(">"):
        return Operator(["range", value, first == ">=", *_parse_upper_bound(value, rest)])
    if rest:
        raise build_operator_error("Too many elements in numeric expression")
    if first == "=":
        return Operator(["range", value, True, value, True])
    return Operator(["range", SMALLEST, True, value, first == "<="])


def _parse_upper_bound(low: float, rest: list[object]) -> tuple[float, bool]:
    """Returns the upper end of a range, or the greatest number, and whether the end is in the range."""
    if not rest:
        return GREATEST, True
    if not isinstance(rest[0], str):
        raise build_operator_error(f"Bad value in numeric range: {_format_value(rest[0])}")
    if rest[0] not in ("<", "<="):
        raise build_operator_error(f"Bad numeric range operator: {rest[0][:64]}")
    high = _parse_bound(rest[1:2], rest[0])
    if len(rest) > 2:
        raise build_operator_error("Too many terms in numeric range expression")
    if low >= high:
        raise build_operator_error("Bottom must be less than top")
    return high, rest[0] == "<="


def _parse_bound(given: list[object], called: str) -> float:
    if not given or not is_number(given[0]):
        raise build_operator_error(f"Value of {called} must be numeric")
    if not is_in_range(given[0]):
        raise build_operator_error("Value must be between -1.0E9 and 1.0E9, inclusive")
    return round_value(given[0])


def _format_value(value: object) -> str:
    """Returns the form of a value in errors of AWS's parser: its opening bracket, its JSON literal, or the text
    itself."""
    if isinstance(value, list | dict):
        return "[" if isinstance(value, list) else "{"
    return value[:64] if isinstance(value, str) else msgspec.json.encode(value).decode()[:64]


# --- anything-but ----------------------------------------------------------------------------------------------------
def _parse_anything_but(argument: object) -> Operator:
    """Parses a test for values that do not equal any value of the list. The list has either numbers or strings."""
    if isinstance(argument, dict):
        return _parse_anything_but_patterns(*_take_single(argument, "Anything-But expression name not found"))
    values = argument if isinstance(argument, list) else [argument]
    if not all(isinstance(value, str) or is_number(value) for value in values):
        raise build_operator_error(
            "Inside anything but list, start|null|boolean is not supported."
            if isinstance(argument, list)
            else "Value of anything-but must be an array or single string/number value."
        )
    if len({isinstance(value, str) for value in values}) != 1:
        raise build_operator_error(
            "Inside anything but list, either all values are number or string, mixed type is not supported"
        )
    return Operator(
        ["not", [convert_value(value) if isinstance(value, str) else round_value(value) for value in values]], points=1
    )


def _parse_anything_but_patterns(name: str, argument: object) -> Operator:
    if name not in ("equals-ignore-case", "prefix", "suffix", "wildcard"):
        raise build_operator_error(f"Unsupported anything-but pattern: {name[:256]}")
    given = argument if isinstance(argument, list) else [argument]
    values = [value for value in given if isinstance(value, str)]
    if not given or len(values) < len(given):
        raise build_operator_error(_NOT_STRINGS.get(name, "prefix/suffix match pattern must be a string"))
    if name == "equals-ignore-case":
        texts = [lower_case(convert_value(value)) for value in values]
        return Operator(["not-ci", texts, max(map(len, texts))], points=1)
    if name != "wildcard" and "" in values:
        raise build_operator_error("Null prefix/suffix not allowed")
    read = [_OPERATOR_PARSERS[name](value) for value in values]
    patterns = [operand.test[1] for operand in read if operand.test]
    return Operator(["unlike", patterns], points=1, wildcard=any(operand.wildcard for operand in read))


_NOT_STRINGS = {
    "equals-ignore-case": ("Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported."),
    "wildcard": "wildcard match pattern must be a string",
}
_OPERATOR_PARSERS: dict[str, Callable[[object], Operator]] = {
    "exactly": _parse_exact,
    "equals-ignore-case": _parse_ignoring_case,
    "prefix": _parse_prefix_or_suffix("prefix"),
    "suffix": _parse_prefix_or_suffix("suffix"),
    "wildcard": _parse_wildcard,
    "cidr": _parse_cidr,
    "exists": _parse_exists,
    "numeric": _parse_numeric,
    "anything-but": _parse_anything_but,
}
OPERATOR_NAMES = frozenset(_OPERATOR_PARSERS)
