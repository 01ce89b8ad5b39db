"""Checks the filters of a subscriber: event patterns for the data, the metadata and the system metadata of an event.

The syntax is that of SNS's filter policies (`sns/filter_policy`), with other limits and without wildcards. Sources of
texts: github.com/aws/event-ruler, and InvalidEventPatternException of PutRule ("Event pattern is not valid").
"""

from collections.abc import Iterable
from math import prod

from penstock.aws.json_text import decode_json
from penstock.sns.errors import InvalidParameter
from penstock.sns.filter_policy.compile import Or, PolicyKey, compile_key, list_parts
from penstock.sns.filter_policy.operators import Operator, build_operator_error, parse_operator
from penstock.sns.filter_policy.values import convert_value, lower_case

from .errors import InvalidInputException
from .shapes import Filter, FilterConfiguration

MAX_BYTES = 4_096
"""The most bytes of all patterns of a subscriber."""
MAX_COMBINATIONS = 1_000
MAX_LEVELS = 200
"""The most objects and arrays inside each other. Python's limit would depend on the calls around the compilation."""
FILTERS = "FilterConfiguration"
NO_FILTER = "FilterConfiguration must contain at least one Filter"
NO_WILDCARDS = "Filter pattern must not contain wildcard matchers (wildcard, anything-but wildcard)"
_PREFIX = "Invalid parameter: FilterPolicy: "


def check_filters(configuration: FilterConfiguration) -> FilterConfiguration:
    """Returns the configuration to store, with its language. Raises InvalidInputException."""
    filters = configuration.filters
    if filters is None:
        raise InvalidInputException(NO_FILTER, member=FILTERS)
    seen: set[str] = set()
    for each in filters:
        if each.scope in seen:
            raise InvalidInputException(f"Duplicate filter scope: {each.scope}", member=FILTERS)
        seen.add(each.scope)
    if sum(len(each.pattern.encode()) for each in filters) > MAX_BYTES:
        raise InvalidInputException(
            f"The patterns of a FilterConfiguration have at most {MAX_BYTES} bytes together.", member=FILTERS
        )
    for each in filters:
        _check_pattern(each)
    return FilterConfiguration(language="EVENT_BRIDGE_PATTERN", filters=filters)


def _check_pattern(each: Filter) -> None:
    try:
        if _count_combinations(read_pattern(each.pattern, each.scope)) > MAX_COMBINATIONS:
            raise _build_error(f"$or has more than {MAX_COMBINATIONS} combinations", each)
    except InvalidParameter as error:
        raise _build_error(error.message.removeprefix(_PREFIX), each) from None


def read_pattern(text: str, scope: str) -> "list[PolicyKey | Or]":
    """Returns the rules of a pattern. The rule of an array at the root has depth 0 and no path. Raises InvalidParameter
    for a pattern that is not valid, and InvalidInputException for a wildcard."""
    try:
        pattern = decode_json(text)
        if _has_too_many_levels(pattern):
            raise build_operator_error("Filter has too many levels")
    except (ValueError, RecursionError):
        raise build_operator_error("Filter is not valid JSON") from None
    if not isinstance(pattern, dict) and not (isinstance(pattern, list) and scope == "DATA"):
        raise build_operator_error("Filter is not an object")
    if scope == "METADATA" and not _has_only_literals(pattern):
        raise build_operator_error("The values of a METADATA pattern are non-empty arrays of literals")
    if _has_wildcard(pattern):
        raise InvalidInputException(NO_WILDCARDS, member=FILTERS)
    if isinstance(pattern, list):
        return [compile_key("", 0, pattern, _read_operator)]
    return list(list_parts(pattern, "", 1, nested=True, read=_read_operator))


def _read_operator(value: object) -> Operator:
    """Parses a value of a key's list. Unlike SNS's filter policies, patterns can ignore the case of a prefix or suffix,
    and `exists` accepts null and the empty text."""
    match value:
        case {"exists": True, **others} if not others:
            return Operator(["any"])
        case {"prefix": {"equals-ignore-case": str(text), **forms}, **others} if not forms and not others:
            return Operator(["prefix-ci", lower_case(convert_value(text))])
        case {"suffix": {"equals-ignore-case": str(text), **forms}, **others} if not forms and not others:
            return Operator(["suffix-ci", lower_case(convert_value(text))])
    return parse_operator(value)


def _has_too_many_levels(pattern: object) -> bool:
    """Returns whether more than MAX_LEVELS objects and arrays are inside each other."""
    level = [pattern]
    for _ in range(MAX_LEVELS):
        if not level:
            break
        inner = [part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list)]
        level = [part for parts in inner for part in parts]
    return any(isinstance(part, dict | list) for part in level)


def _build_error(reason: str, each: Filter) -> InvalidInputException:
    text = f"Event pattern is not valid. Reason: {reason} (scope {each.scope})"
    return InvalidInputException(text, member=f"{FILTERS}.{each.scope}")


def _has_only_literals(pattern: dict[str, object] | list[object]) -> bool:
    """Returns whether each member is a non-empty array of literals. METADATA has neither operators nor `$or`."""
    return isinstance(pattern, dict) and all(
        isinstance(values, list) and values and not any(isinstance(value, dict | list) for value in values)
        for values in pattern.values()
    )


def _has_wildcard(part: object, *, is_value: bool = False) -> bool:
    """Returns whether a pattern uses the operator wildcard. A member of the event can also have the name wildcard."""
    if isinstance(part, list):
        return any(_has_wildcard(each, is_value=True) for each in part)
    if not isinstance(part, dict):
        return False
    if is_value and ("wildcard" in part or "wildcard" in _as_dict(part.get("anything-but"))):
        return True
    return any(map(_has_wildcard, part.values()))


def _as_dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _count_combinations(parts: "Iterable[PolicyKey | Or]") -> int:
    """Returns the product of the arrays' lengths. `$or` counts as the sum of its objects. A pattern without `$or` has
    one combination, because AWS limits only `$or`."""
    found = list(parts)
    return _count_all(found) if any(not isinstance(part, PolicyKey) for part in found) else 1


def _count_all(parts: "Iterable[PolicyKey | Or]") -> int:
    return prod(
        len(part.operators) if isinstance(part, PolicyKey) else sum(_count_all(each.parts) for each in part)
        for part in parts
    )
