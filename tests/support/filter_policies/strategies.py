"""Generates filter policies and messages for comparisons: every operator with every value, and random structures.

The structures have only a few values, because the comparison is about positions. All policies are valid, although some
may exceed AWS's limits.
"""

import json
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

# --- every operator, every value -------------------------------------------------------------------------------------
WORDS = ("", "a", "A", "ab", "aB", "aba", "a*b", "a%b", "a_b", "axb", "a\\b", 'a"b', "é", "É", "a\nb", "1", "null")
ADDRESSES = ("10.0.0.5", "10.0.0.255", "10.0.1.0", "10.0.0", "256.0.0.1", "::1", "0:0::1", "::ffff", "4:0a000005")
NETWORKS = ("10.0.0.0/24", "10.0.0.5/32", "10.0.0.9/16", "0.0.0.0/0", "::/0", "::1/128", "::/112")
NUMBERS = (0, 1, -1, 1.0, 1.5, 0.000014, 0.000016, 0.00002, 999_999_999.99999, 10**9, -(10**9))
BEYOND = (10**9 + 1, -(10**9) - 0.5, 123_456_789_012)
VALUES = (*WORDS, *ADDRESSES, *NUMBERS, *BEYOND, True, False, None)


def _patterns() -> list[str]:
    """Returns patterns with a star before, after and between words. The words' stars and backslashes are escaped."""
    escaped = [word.replace("\\", "\\\\").replace("*", "\\*") for word in WORDS[1:13]]
    between = [f"{first}*{other}" for first, other in pairwise(escaped)]
    return [
        *escaped,
        *(f"{text}*" for text in escaped),
        *(f"*{text}" for text in escaped),
        *between,
        "*",
        "a*b*a",
        "*b*",
    ]


def _ranges() -> list[list[Any]]:
    single = [[operator, number] for operator in ("=", "<", "<=", ">", ">=") for number in NUMBERS]
    ordered = sorted({round(number, 5) for number in NUMBERS})
    double = [
        [above, low, below, high] for low, high in pairwise(ordered) for above in (">", ">=") for below in ("<", "<=")
    ]
    return [*single, *double]


def operators() -> list[Any]:
    """Returns the values that a policy's list may contain, for every operator."""
    strings = [{name: word} for name in ("prefix", "suffix", "equals-ignore-case", "exactly") for word in WORDS]
    excluded: list[Any] = [*WORDS, *NUMBERS, list(WORDS[1:4]), list(NUMBERS[:3])]
    excluded += [{name: word} for name in ("prefix", "suffix", "equals-ignore-case") for word in WORDS[1:]]
    excluded += [{"equals-ignore-case": ["É", "AB"]}, {"wildcard": ["*b", "a"]}]
    excluded += [{"wildcard": pattern} for pattern in _patterns()]
    return [
        *VALUES,
        *strings,
        *({"wildcard": pattern} for pattern in _patterns()),
        *({"anything-but": value} for value in excluded),
        *({"numeric": numbers} for numbers in _ranges()),
        *({"cidr": network} for network in NETWORKS),
        {"exists": True},
        {"exists": False},
    ]


# --- random structures -----------------------------------------------------------------------------------------------
Rule = dict[str, Any]
names = st.sampled_from(("a", "b"))
leaf = st.sampled_from((1, 2, 2, "x", None))
values = st.lists(
    st.sampled_from((1, 2, "x", None, {"anything-but": [1]}, {"exists": False}, {"exists": True}, {"prefix": "x"})),
    min_size=1,
    max_size=2,
)
flat = st.dictionaries(names, values, min_size=1)


def with_or(rules: st.SearchStrategy[Rule]) -> st.SearchStrategy[Rule]:
    either = st.lists(rules, min_size=2, max_size=2).map(lambda found: {"$or": found})
    return st.one_of(rules, rules, either, st.tuples(rules, either).map(lambda both: {**both[0], **both[1]}))


attribute_policies = with_or(flat)
body_policies = with_or(
    st.dictionaries(names, st.one_of(values, with_or(flat), st.dictionaries(names, flat)), min_size=1).filter(
        lambda rule: all(rule.values())
    )
)


def dotted(rule: Rule) -> Rule:
    """Returns the rule with dotted names for nested objects without `$or`."""
    found: Rule = {}
    for name, value in rule.items():
        if isinstance(value, dict) and "$or" not in value:
            found |= {f"{name}.{below}": inner for below, inner in dotted(value).items()}
        else:
            found[name] = [dotted(element) for element in value] if name == "$or" else value
    return found


objects = st.dictionaries(names, st.one_of(leaf, st.lists(leaf, max_size=2)), min_size=1)
arrays = st.lists(st.one_of(objects, objects, leaf, st.lists(objects, max_size=2)), max_size=3)
inner = st.dictionaries(names, st.one_of(leaf, objects, arrays), min_size=1)
bodies = st.dictionaries(names, st.one_of(leaf, inner, arrays, st.lists(inner, max_size=3))).map(json.dumps)
attributes = st.dictionaries(
    names,
    st.one_of(
        leaf.filter(lambda value: isinstance(value, int)).map(lambda number: ("Number", str(number))),
        st.just(("String", "x")),
        st.lists(leaf, max_size=3).map(lambda found: ("String.Array", json.dumps(found))),
        st.just(("Binary", "eA==")),
    ),
)
