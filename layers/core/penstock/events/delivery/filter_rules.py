"""Tests the values of an event with the rules of a compiled pattern.

A pattern is a list of alternatives, more than one with `$or`. An alternative matches if all its keys match. Sources:
"Filter events", custom event bus (Amazon EventBridge User Guide); README of github.com/aws/event-ruler.
"""

import re
from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_network

from penstock.events.patterns import read_pattern
from penstock.sns.filter_policy.compile import Object, PolicyKey, list_branches
from penstock.sns.filter_policy.values import SEPARATOR, lower_case

from .filter_facts import Fact, Facts, Place, convert_fact, split_name

FactTest = Callable[[Fact], bool]
MAX_COMPARISONS = 2_000_000
"""The most comparisons of a pattern with one event, which take about a second. Without a limit, 4 KiB of
patterns and an event of 1 MiB can need minutes, in which the bus delivers nothing (our choice)."""
MAX_EVENT_COMPARISONS = 10_000_000
"""The most comparisons of all patterns with one event (our choice). Without a limit, hundreds of subscribers need half
a minute for an event of 1 MiB."""
CIDR_COST = 10
"""A comparison with a network takes as long as this number of other comparisons."""
FEW = 100
"""A key with at most this number of comparisons is compared again, and not counted."""


class TooManyComparisons(Exception):  # noqa: N818 - no error of the client
    """A pattern needs more than MAX_COMPARISONS comparisons with an event, or all patterns together more than
    MAX_EVENT_COMPARISONS."""


class Key:
    """A key of a pattern: a place, the values that it can equal, and other tests, of which one must pass."""

    __slots__ = ("cost", "equal", "may_be_missing", "names", "place", "tests")

    def __init__(self, key: PolicyKey, places: Place) -> None:
        self.names = tuple(key.path.split(SEPARATOR)) if key.depth else ()
        self.place = places.add(self.names)
        self.may_be_missing = any(operator.absent for operator in key.operators)
        tests = [operator.test for operator in key.operators if operator.test]
        self.equal = frozenset(
            convert_fact(value, converts=False) for test in tests if test[0] == "in" for value in test[1]
        )
        self.tests = tuple(build_test(*test) for test in tests if test[0] != "in")
        self.cost = 1 + sum(CIDR_COST if test[0] == "cidr" else 1 for test in tests if test[0] != "in")

    def passes(self, facts: Sequence[Fact]) -> bool:
        """Returns whether one of the values passes one of the tests."""
        return not self.equal.isdisjoint(facts) or any(any(map(test, facts)) for test in self.tests)

    @property
    def has_only_values(self) -> bool:
        """Whether the key passes only if the event has one of the values of `equal`."""
        return not self.tests and not self.may_be_missing


class KeyGroup:
    """Keys whose paths begin with the same `depth` names, as a tree. All keys must pass below the same node, with one
    element of each array."""

    __slots__ = ("_depth", "_inner", "_is_leaf", "_keys")

    def __init__(self, keys: list[Key], depth: int = 0) -> None:
        self._keys, self._depth = keys, depth
        ends = {len(key.names) == depth for key in keys}
        self._is_leaf = ends == {True}
        names = () if True in ends else dict.fromkeys(key.names[depth] for key in keys)
        self._inner = {name: KeyGroup([key for key in keys if key.names[depth] == name], depth + 1) for name in names}

    def passes(self, node: object, facts: Facts) -> bool:
        """Returns whether all keys pass below a node of the document. Raises RecursionError for a node with too many
        levels of arrays."""
        if isinstance(node, list):
            return any(self.passes(element, facts) for element in node)
        if not isinstance(node, dict):
            fact = (convert_fact(node, converts=facts.converts),)
            return self._is_leaf and all(key.passes(fact) for key in self._keys)
        if facts.has_paths:
            return self._passes_with_paths(node, facts)
        for name, group in self._inner.items():
            if name not in node or not group.passes(node[name], facts):
                return False
        return bool(self._inner)

    def _passes_with_paths(self, node: dict[str, object], facts: Facts) -> bool:
        """Returns whether all keys pass below an object whose names can be paths. If several names lead to a key, the
        longest name whose keys all pass counts."""
        left = self._keys
        members = sorted(((split_name(name), member) for name, member in node.items()), key=lambda each: -len(each[0]))
        for names, member in members:
            depth = self._depth + len(names)
            inside = [key for key in left if key.names[self._depth : depth] == names]
            if inside and KeyGroup(inside, depth).passes(member, facts):
                left = [key for key in left if key not in inside]
        return not left


class Alternative:
    """Keys that must match together. The first keys are the ones that are fastest to test. `pattern` is the same object
    in all alternatives of a pattern."""

    __slots__ = ("_group", "_pattern", "keys")

    def __init__(self, keys: Sequence[Key], pattern: object) -> None:
        self.keys = sorted(keys, key=lambda key: len(key.tests))
        self._pattern = pattern
        self._group: KeyGroup | None = None

    def passes(self, facts: Facts) -> bool:
        """Returns whether all keys match. Raises RecursionError for an event with too many arrays in arrays, and
        TooManyComparisons."""
        values = facts.values
        for key in self.keys:
            known = values.get(key.place)
            if known is None:
                if not key.may_be_missing:
                    return False
            elif not (key.passes(known) if len(known) * key.cost <= FEW else self._try_key(key, facts)):
                return False
        return not facts.has_several or self._passes_together(facts)

    def _try_key(self, key: Key, facts: Facts) -> bool:
        """Returns whether a key passes that has many values or tests. Alternatives share keys, so an event is compared
        with each key once."""
        found = facts.memory.get(key)
        if found is None:
            known = facts.values[key.place]
            self._count(len(known) * key.cost, facts)
            found = facts.memory[key] = key.passes(known)
        return found

    def _passes_together(self, facts: Facts) -> bool:
        """Returns whether the keys that have values match in a single element of each array."""
        keys = [key for key in self.keys if key.place in facts.values]
        if len(keys) < min(2, len(self.keys)):
            return True
        self._count(facts.size, facts)
        if len(keys) < len(self.keys):
            return KeyGroup(keys).passes(facts.document, facts)
        if self._group is None:
            self._group = KeyGroup(keys)
        return self._group.passes(facts.document, facts)

    def _count(self, comparisons: int, facts: Facts) -> None:
        facts.work[self._pattern] += comparisons
        is_over = facts.work[self._pattern] > MAX_COMPARISONS
        if is_over or facts.comparisons + comparisons > MAX_EVENT_COMPARISONS:
            raise TooManyComparisons
        facts.comparisons += comparisons


def compile_pattern(text: str, scope: str, places: Place) -> list[Alternative]:
    """Returns the alternatives of a pattern, and adds their places to the tree."""
    compiled: dict[int, Key] = {}
    pattern, found = object(), []
    for branch in list_branches(Object(tuple(read_pattern(text, scope)))):
        for key in branch.values():
            if id(key) not in compiled:
                compiled[id(key)] = Key(key, places)
        found.append(Alternative([compiled[id(key)] for key in branch.values()], pattern))
    return found


# --- operators -------------------------------------------------------------------------------------------------------
def build_test(name: str, *arguments: object) -> FactTest:
    """Returns the function for a test of a parsed operator (`sns/filter_policy/operators.py`, `events/patterns.py`)."""
    return BUILDERS[name](*arguments)


def _build_any() -> FactTest:
    return lambda _: True


def _build_not(values: list[object]) -> FactTest:
    excluded = frozenset(convert_fact(value, converts=False) for value in values)
    return lambda fact: fact not in excluded


def _build_like(pattern: str) -> FactTest:
    """Reverses the LIKE pattern of a prefix or suffix. A percent sign of the text itself is escaped."""
    if pattern.startswith("%"):
        suffix = _read_literal(pattern[1:])
        return lambda fact: isinstance(fact, str) and fact.endswith(suffix)
    prefix = _read_literal(pattern[:-1])
    return lambda fact: isinstance(fact, str) and fact.startswith(prefix)


def _read_literal(pattern: str) -> str:
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)


def _build_unlike(patterns: list[str]) -> FactTest:
    tests = [_build_like(pattern) for pattern in patterns]
    return lambda fact: not any(test(fact) for test in tests)


def _build_ci(texts: list[str], _: int) -> FactTest:
    accepted = frozenset(texts)
    return lambda fact: isinstance(fact, str) and lower_case(fact) in accepted


def _build_not_ci(texts: list[str], _: int) -> FactTest:
    excluded = frozenset(texts)
    return lambda fact: not isinstance(fact, str) or lower_case(fact) not in excluded


def _build_prefix_ci(text: str) -> FactTest:
    return lambda fact: isinstance(fact, str) and lower_case(fact[: len(text)]) == text


def _build_suffix_ci(text: str) -> FactTest:
    return lambda fact: isinstance(fact, str) and lower_case(fact).endswith(text)


def _build_range(low: float, includes_low: bool, high: float, includes_high: bool) -> FactTest:
    def passes(fact: Fact) -> bool:
        return (
            isinstance(fact, int | float)
            and (low < fact or (includes_low and low == fact))
            and (fact < high or (includes_high and fact == high))
        )

    return passes


def _build_cidr(text: str) -> FactTest:
    network = ip_network(text)

    def passes(fact: Fact) -> bool:
        if not isinstance(fact, str) or "%" in fact:  # an IPv6 address with a zone is not in a network
            return False
        try:
            return ip_address(fact) in network
        except ValueError:
            return False

    return passes


BUILDERS: dict[str, Callable[..., FactTest]] = {
    "any": _build_any,
    "not": _build_not,
    "like": _build_like,
    "unlike": _build_unlike,
    "ci": _build_ci,
    "not-ci": _build_not_ci,
    "prefix-ci": _build_prefix_ci,
    "suffix-ci": _build_suffix_ci,
    "range": _build_range,
    "cidr": _build_cidr,
}
