"""Evaluates a policy's Condition element for a request.

Sources: "IAM JSON policy elements: Condition operators", "Creating a condition with multiple keys or values" and "AWS
global condition context keys" (IAM User Guide). The module supports the operators in OPERATORS, with and without
`IfExists`, `ForAnyValue:` and `ForAllValues:`, and the keys in KEYS and of published events. Each supported key has at
most one value. A Condition with another operator or key is unsupported. An Allow with an unsupported Condition never
applies. A Deny with an unsupported Condition applies if its other elements match.
"""

from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from .patterns import compiled

# The names are in lower case, because IAM ignores the case of key names.
KEYS = frozenset((
    "aws:principalaccount", "aws:principalarn", "aws:securetransport", "aws:sourceaccount", "aws:sourcearn",
    "aws:sourceip", "aws:username",
))  # fmt: skip

# The keys of an event ("Actions, resources, and condition keys for Amazon EventBridge", Service Authorization
# Reference). Only requests that publish have values of these keys.
EVENT_KEYS = frozenset((
    "events:source", "events:detail-type", "events:systemmetadata/contenttype", "events:systemmetadata/eventgroupid",
    "events:systemmetadata/awssource", "events:systemmetadata/awsdetailtype",
))  # fmt: skip
METADATA = "events:metadata/"
"""The prefix of the keys of an event's Metadata."""
PUBLISHING = frozenset(("events:putevents", "events:putrawevents"))
"""The actions whose requests have the keys of events."""

Test = Callable[[str], bool]


class Condition(NamedTuple):
    """A test of one condition key.

    `is_negated` means that the condition is true if no wanted value matches. `if_missing` is the result for a request
    without the key.
    """

    key: str
    tests: tuple[Test, ...]
    is_negated: bool
    if_missing: bool

    @property
    def is_of_event(self) -> bool:
        """Whether only requests that publish events have values of the key."""
        return _is_of_event(self.key)

    def holds(self, values: Mapping[str, str]) -> bool:
        """Returns whether the condition is true. `values` contains the request's values by key, in lower case."""
        value = values.get(self.key)
        if value is None:
            return self.if_missing
        return any(test(value) for test in self.tests) is not self.is_negated


def _is_of_event(key: str) -> bool:
    return key in EVENT_KEYS or (key.startswith(METADATA) and key != METADATA)


def read_conditions(element: object) -> tuple[Condition, ...] | None:
    """Returns the tests in a Condition element, or None if a test is unsupported."""
    if not isinstance(element, dict):
        return None
    conditions: list[Condition] = []
    for operator, keys in element.items():
        if not isinstance(keys, dict) or not keys:
            return None
        for key, wanted in keys.items():
            condition = _read(str(operator), str(key).lower(), _list_texts(wanted))
            if condition is None:
                return None
            conditions.append(condition)
    return tuple(conditions)


def _read(operator: str, key: str, wanted: list[str] | None) -> Condition | None:
    name = operator.lower()
    quantifier, colon, rest = name.partition(":")
    if colon:
        name = rest
    plain = name.removesuffix("ifexists")
    if wanted is None or not (key in KEYS or _is_of_event(key)) or any("${" in text for text in wanted):
        return None
    if name == "null":
        missing = [text.lower() == "true" for text in wanted]
        return Condition(key, (), is_negated=False in missing, if_missing=True in missing)
    build_test, is_negated = OPERATORS.get(plain, (None, False))
    if build_test is None or quantifier not in (name, "forallvalues", "foranyvalue"):
        return None
    tests = tuple(map(build_test, wanted))
    if None in tests:
        return None
    if_missing = plain != name or (quantifier == "forallvalues" if colon else is_negated)
    return Condition(key, tuple(test for test in tests if test is not None), is_negated, if_missing)


def _list_texts(wanted: object) -> list[str] | None:
    """Returns the wanted values as texts, or None if a value is not a text, number or boolean."""
    values = wanted if isinstance(wanted, list) else [wanted]
    if not all(isinstance(value, (str, int, float)) for value in values):
        return None
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]


# --- operators: functions from a wanted value to a test, or to None for an impossible value -----------------------
def _is_equal(wanted: str) -> Test:
    return wanted.__eq__


def _is_equal_ignoring_case(wanted: str) -> Test:
    folded = wanted.casefold()
    return lambda value: value.casefold() == folded


def _is_like(wanted: str) -> Test:
    return compiled(wanted).matches


def _is_like_arn(wanted: str) -> Test | None:
    """Compares each of an ARN's six parts separately. ArnEquals and ArnLike have the same effect."""
    parts = wanted.split(":", 5)
    if len(parts) != 6:
        return None
    patterns = [compiled(part) for part in parts]

    def test(value: str) -> bool:
        found = value.split(":", 5)
        return len(found) == 6 and all(pattern.matches(part) for pattern, part in zip(patterns, found, strict=True))

    return test


def _is_in_network(wanted: str) -> Test | None:
    try:
        network = ip_network(wanted, strict=False)
    except ValueError:
        return None

    def test(value: str) -> bool:
        try:
            address = ip_address(value)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return (mapped or address) in network

    return test


OPERATORS: dict[str, tuple[Callable[[str], Test | None], bool]] = {
    "stringequals": (_is_equal, False),
    "stringnotequals": (_is_equal, True),
    "stringequalsignorecase": (_is_equal_ignoring_case, False),
    "stringnotequalsignorecase": (_is_equal_ignoring_case, True),
    "stringlike": (_is_like, False),
    "stringnotlike": (_is_like, True),
    "arnequals": (_is_like_arn, False),
    "arnlike": (_is_like_arn, False),
    "arnnotequals": (_is_like_arn, True),
    "arnnotlike": (_is_like_arn, True),
    "ipaddress": (_is_in_network, False),
    "notipaddress": (_is_in_network, True),
    "bool": (_is_equal_ignoring_case, False),
}
