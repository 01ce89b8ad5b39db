"""Reads the values of an event that patterns compare.

A value has a place: the names on its path. Arrays add no name, so `{"a": [{"b": 1}, {"b": 2}]}` has the values 1 and 2
at a.b. A dot in a name is equivalent to nesting, as in filter policies. Source: README of github.com/aws/event-ruler.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from penstock.sns.filter_policy.values import SEPARATOR, build_path, convert_value, is_in_range, round_value

Fact: TypeAlias = str | int | float | tuple[bool] | None
"""A value in the form that patterns compare. A boolean is a tuple, because Python's True equals 1."""

MANY: Final = 100
"""A place with more values than this keeps equal values once."""
_CONTAINERS: Final = frozenset((dict, list))
_SAME_FORM: Final = frozenset((int, type(None)))
_BOOLEANS: Final[dict[bool, Fact]] = {True: (True,), False: (False,)}


class Place:
    """A node in the tree of the places that patterns compare. `is_used` means that a pattern compares its values."""

    __slots__ = ("inner", "is_used")

    def __init__(self) -> None:
        self.inner: dict[str, Place] = {}
        self.is_used = False

    def add(self, names: tuple[str, ...]) -> "Place":
        """Returns the place at this path, and adds it to the tree if it is missing."""
        place = self
        for name in names:
            place = place.inner.setdefault(name, Place())
        place.is_used = True
        return place

    def find(self, name: str, *, converts: bool) -> "Place | None":
        """Returns the place of an object's member, or None if no pattern compares the member."""
        found = self.inner.get(name)
        if found is not None or not (converts or "." in name):
            return found
        place: Place | None = self
        for part in split_name(name):
            place = place.inner.get(part) if place is not None else None
        return place


@dataclass(slots=True)
class Facts:
    """The values of a document by place.

    `converts` means that texts can contain the characters that patterns replace. `has_several` means that an array has
    several elements, including objects or arrays. Keys then have to match in one element. `has_paths` means that names
    of members can differ from the names of places. `size` is the number of members and elements that a walk can visit.
    `memory` has what the values of long arrays have shown, `work` the comparisons by pattern, and `comparisons` those
    of all patterns (filter_rules.py).
    """

    document: object
    converts: bool
    values: dict[Place, list[Fact]] = field(default_factory=dict)
    has_several: bool = False
    has_paths: bool = False
    size: int = 0
    memory: dict[object, bool] = field(default_factory=dict)
    work: Counter[object] = field(default_factory=Counter)
    comparisons: int = 0


def split_name(name: str) -> tuple[str, ...]:
    """Returns the path of a name."""
    return tuple(build_path(convert_value(name)).split(SEPARATOR))


def convert_fact(value: object, *, converts: bool) -> Fact:
    """Returns a scalar of a document in the form that patterns compare. Numbers in the range of `numeric` have five
    digits after the point."""
    if isinstance(value, str):
        return convert_value(value) if converts else value
    if isinstance(value, bool):
        return _BOOLEANS[value]
    if isinstance(value, float) and is_in_range(value) and value != round(value, 5):
        return round_value(value)
    return value  # type: ignore[return-value]  # an integer, another float or None


def read_facts(document: object, places: Place, *, converts: bool) -> Facts:
    """Returns the values at the places. Needs no recursion, so the depth of the document does not matter."""
    facts = Facts(document, converts, has_paths=converts)
    pending: list[tuple[Place, object]] = [(places, document)]
    while pending:
        place, value = pending.pop()
        if isinstance(value, dict):
            facts.size += len(value)
            for name, member in value.items():
                found = place.find(name, converts=converts)
                if found is not None:
                    pending.append((found, member))
                    facts.has_paths = facts.has_paths or "." in name
        elif isinstance(value, list):
            _read_array(place, value, facts, pending)
        elif place.is_used:
            facts.values.setdefault(place, []).append(convert_fact(value, converts=converts))
    facts.values = {
        place: list(dict.fromkeys(known)) if len(known) > MANY else known for place, known in facts.values.items()
    }
    return facts


def _read_array(place: Place, array: list[object], facts: Facts, pending: list[tuple[Place, object]]) -> None:
    facts.size += len(array)
    kinds = set(map(type, array))
    if not _CONTAINERS.isdisjoint(kinds):
        facts.has_several = facts.has_several or len(array) > 1
        pending.extend((place, element) for element in array)
    elif array and place.is_used:
        is_plain = kinds <= _SAME_FORM or (kinds == {str} and not facts.converts)
        known = facts.values.setdefault(place, [])
        known.extend(array if is_plain else (convert_fact(each, converts=facts.converts) for each in array))  # type: ignore[arg-type]
