"""Describes, with AWS's texts, how a request violates the limits of its type (`msgspec.Meta`).

    Value '' at 'name' failed to satisfy constraint: Member must have length greater than or equal to 1

Source: responses quoted in public issues (aws-sdk-net 2495, SWO-GS/auto-tag 90, webiny/webiny-js 5445).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import msgspec

from .schema import NO_LIMITS, Limits, List, Map, Member, Scalar, Shape, Structure, read_structure

MAX_QUOTED_LENGTH = 512  # the most characters of a value that an error text quotes

LATEST = 253_402_300_799  # the end of the year 9999, in seconds since 1970


class Violation(NamedTuple):
    """A limit that a member of a request violates. `shown` is the value as error texts quote it, or empty for a value
    that they do not quote. `path` is the member's path in AWS's spelling.
    """

    shown: str
    path: str
    reason: str


Problems = list[Violation]
Check: TypeAlias = Callable[[Iterable[Any]], bool]


def describe_violations(problems: Sequence[Violation]) -> str:
    """Returns the error text for all violations of a request."""
    number = len(problems)
    texts = (
        f"{f'Value {shown}' if shown else 'Value'} at '{path}' failed to satisfy constraint: {reason}"
        for shown, path, reason in problems
    )
    return f"{number} validation error{'s' if number > 1 else ''} detected: {'; '.join(texts)}"


def find_member(problems: Sequence[Violation]) -> str:
    """Returns the path of the first violated member for `AwsError.member`, in the spelling of AWS's model."""
    parts = problems[0].path.split(".") if problems else []
    return ".".join(part[:1].upper() + part[1:] for part in parts)


def find_scalar_problems(limits: Limits, value: str | int, path: str) -> Problems:
    reasons = find_text_reasons(limits, value) if isinstance(value, str) else size_reasons(limits, value, "value")
    return [Violation(f"'{str(value)[:MAX_QUOTED_LENGTH]}'", path, reason) for reason in reasons]


def find_text_reasons(limits: Limits, value: str) -> Iterable[str]:
    """Yields the reasons why a text violates its limits."""
    yield from size_reasons(limits, len(value), "length")
    if limits.pattern is not None and not _compile_pattern(limits.pattern)(value):
        yield f"Member must satisfy regular expression pattern: {limits.pattern}"
    if limits.values and value not in limits.values:
        yield f"Member must satisfy enum value set: [{', '.join(limits.values)}]"


@cache
def _compile_pattern(text: str) -> Callable[[str], object]:
    return re.compile(text, re.ASCII).fullmatch


def size_reasons(limits: Limits, size: int, of: str) -> Iterable[str]:
    """Returns the reason why a value, a length or a number of items is too small or too large."""
    if limits.least is not None and size < limits.least:
        yield f"Member must have {of} greater than or equal to {limits.least}"
    if limits.most is not None and size > limits.most:
        yield f"Member must have {of} less than or equal to {limits.most}"


# --- converted values ------------------------------------------------------------------------------------------------
@cache
def build_check(shape: Shape) -> Check | None:
    """Returns a function that tests converted values for the limits that `msgspec.convert` leaves unchecked. These are
    a pattern, which the whole text must match, and the range of a time. Returns None for a shape without such limits.

    The function tests all values of a member together, and equal texts once, because a request can have hundreds of
    entries.
    """
    match shape:
        case Scalar(kind, limits):
            if limits.pattern is not None:
                fits = _compile_pattern(limits.pattern)
                return lambda texts: all(map(fits, set(texts)))
            return (lambda times: all(0 <= time <= LATEST for time in times)) if kind is float else None
        case List(item):
            check = build_check(item)
            return None if check is None else lambda lists: check(chain.from_iterable(lists))
        case Map(item, key_limits=limits):
            checks = build_check(Scalar(str, limits)), build_check(item)
            return None if checks == (None, None) else lambda maps: _pass_entries(*checks, maps)
        case Structure(members=members):
            found = [
                (attrgetter(member.attribute), check) for member in members if (check := build_check(member.shape))
            ]
            return (lambda structures: _pass_members(found, structures)) if found else None


def _pass_entries(check_key: Check | None, check_value: Check | None, maps: Iterable[dict[str, object]]) -> bool:
    entries = [entry for each in maps for entry in each.items()]
    return (check_key is None or check_key(key for key, _ in entries)) and (
        check_value is None or check_value(value for _, value in entries)
    )


def _pass_members(checks: Sequence[tuple[Callable[[object], object], Check]], structures: Iterable[object]) -> bool:
    given = list(structures)
    for get, check in checks:
        present = [member for member in map(get, given) if member is not None]
        if present and not check(present):
            return False
    return True


# --- decoded requests ------------------------------------------------------------------------------------------------
def find_violations(request: msgspec.Struct) -> Problems:
    """Returns the violations of a decoded request. Returns immediately if the type has no limits."""
    shape = _find_limits(type(request))
    return [] if shape is None else list(_find_in_structure(shape, request, ""))


@cache
def _find_limits(request: type[msgspec.Struct]) -> Structure | None:
    """Returns the request type's shape, or None if the type has no limits."""
    shape = read_structure(request)
    return shape if _has_limits(shape) else None


def _has_limits(shape: Shape) -> bool:
    match shape:
        case Scalar(limits=limits):
            return limits != NO_LIMITS
        case List(item) | Map(item):
            return _has_limits(item)
        case Structure(members=members):
            return any(_has_limits(member.shape) for member in members)


def _find_in_structure(shape: Structure, value: object, prefix: str) -> Iterator[Violation]:
    for member in shape.members:
        yield from _find_in_value(member.shape, getattr(value, member.attribute), prefix + build_display_name(member))


def _find_in_value(shape: Shape, value: object, path: str) -> Iterator[Violation]:
    """Returns the violations in a value. Maps in requests have no limits."""
    if isinstance(shape, Scalar) and isinstance(value, str | int):
        yield from find_scalar_problems(shape.limits, value, path)
    elif isinstance(shape, List) and isinstance(value, list):
        for number, element in enumerate(value, 1):
            yield from _find_in_value(shape.item, element, f"{path}.{number}.member")
    elif isinstance(shape, Structure) and value is not None:
        yield from _find_in_structure(shape, value, f"{path}.")


def build_display_name(member: Member) -> str:
    """Returns the member's name in AWS's error texts. The name starts with a lower-case letter."""
    return member.name[:1].lower() + member.name[1:]
