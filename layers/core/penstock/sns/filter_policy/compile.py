r"""Validates and compiles subscriptions' filter policies when clients set them. SQL compares messages with the compiled
policies at each publish.

    policy     {"store": ["example_corp"], "price": [{"numeric": [">=", 100]}]}
    compiled   [[["store", false, ["in", ["example_corp"]]], ["price", false, ["range", 100, true, 1000000000, true]]]]
    facts      {"store": ["example_corp"], "price": [120]}

A key of a policy on the body can be a path: `{"a.b": [1]}` is `{"a": {"b": [1]}}`. AWS's rule engine also joins the
names of a path by dots. A compiled policy is a list of alternatives (more than one with `$or`). An alternative is a
list of keys that must all match: [path, whether it may be missing, test, …] (tests: operators.py). Paths are names
joined by U+001F. A compiled policy has no regular expressions: `queue.policy_matches` compares texts, numbers and
networks with a message's facts (facts.py). If you change a rule here, also check queue.policy_matches.sql and
facts.sql; test_policy_matches tests both sides together.

Sources: "Filter policy constraints", "AND/OR logic" (SNS Developer Guide). The error texts come from users' reports
(limits) and from github.com/aws/event-ruler, AWS's published engine (syntax).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

import msgspec

from penstock.aws.json_text import decode_json
from penstock.sns.errors import InvalidParameter

from .locations import describe_location, describe_parse_error
from .operators import Operator, build_operator_error, is_or, parse_operator
from .values import SEPARATOR, build_path, convert_value

NESTED = "Filter policy scope MessageAttributes does not support nested filter policy"
MAX_BYTES = 262_144
MAX_KEYS = 5
MAX_COMBINATIONS = 150
MAX_WILDCARD_POINTS = 100

NOT_PARSED = "failed to parse JSON."
TOO_LONG = f"Filter policy is longer than {MAX_BYTES} bytes"
TOO_COMPLEX = "Filter policy is too complex"
TOO_MANY_KEYS = f"Filter policy can not have more than {MAX_KEYS} keys"


@dataclass(frozen=True, slots=True)
class PolicyKey:
    """A key of the policy with the operators of its list. `depth` is 1 at the top."""

    path: str
    depth: int
    operators: tuple[Operator, ...]

    def points(self) -> int:
        """Returns the key's points towards the wildcard limit: the sum of its patterns' points times their number."""
        points = [operator.points for operator in self.operators if operator.points]
        return sum(points) * len(points) if any(operator.wildcard for operator in self.operators) else 0

    def compile_key(self) -> list[object]:
        """Returns the key in SQL's format. The key's tests for equality become one test."""
        tests = [operator.test for operator in self.operators if operator.test]
        equal = [value for test in tests if test[0] == "in" for value in test[1]]
        others = [test for test in tests if test[0] != "in"]
        may_be_missing = any(operator.absent for operator in self.operators)
        return [self.path, may_be_missing, *([["in", equal]] if equal else []), *others]


@dataclass(frozen=True, slots=True)
class Object:
    """An object of the policy. All its keys must match, and at least one object of each `$or`."""

    parts: "tuple[PolicyKey | Or, ...]"


Or = tuple[Object, ...]
ReadOperator = Callable[[object], Operator]


def compile_policy(text: str, scope: str) -> str | None:
    """Compiles a policy to JSON. Returns None for `{}`, which every message matches.

    `scope` is MessageAttributes, which allows no nesting, or MessageBody. The limits are 256 KB, five keys, 150
    combinations of values (each times its key's depth), and 100 points of wildcards. Raises InvalidParameter.
    """
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise build_operator_error(TOO_LONG)
    try:
        policy = decode_json(text)
    except (RecursionError, ValueError):
        raise build_operator_error(NOT_PARSED) from None
    if not isinstance(policy, dict):
        raise build_operator_error("Filter is not an object")
    return compile_policy_rules(policy, nested=scope == "MessageBody") if policy else None


def compile_topic_policy(text: str, scope: str) -> str | None:
    """Compiles the filter policy of a subscription to a topic. Unlike `compile_policy`, this function refuses
    `anything-but` with `suffix`, as SNS does (recorded at AWS). Raises InvalidParameter."""
    try:
        compiled = compile_policy(text, scope)
        if compiled is not None and excludes_suffixes(decode_json(text)):
            raise build_operator_error("Unsupported anything-but pattern: suffix")
    except InvalidParameter as error:
        raise InvalidParameter(error.message + describe_place(text, error.message), member=error.member) from None
    return compiled


def describe_place(text: str, message: str) -> str:
    """Returns the end of AWS's error text about a policy: the position where AWS's parser stopped."""
    if message.endswith(NOT_PARSED):
        return describe_parse_error(text)
    if any(message.endswith(whole) for whole in (NESTED, TOO_COMPLEX, TOO_MANY_KEYS, TOO_LONG)):
        return ""
    return describe_location(text)


def excludes_suffixes(part: object) -> bool:
    """Returns whether a part of a valid policy contains `{"anything-but": {"suffix": …}}`."""
    if isinstance(part, dict):
        return any(map(excludes_suffixes, part.values()))
    return isinstance(part, list) and any(
        isinstance(element, dict)
        and (
            excludes_suffixes(element)
            if isinstance(element.get("anything-but", []), list)
            else "suffix" in element["anything-but"]
        )
        for element in part
    )


def compile_policy_rules(policy: dict[str, object], *, nested: bool) -> str:
    """Compiles a policy that is an object and not empty. Raises InvalidParameter."""
    try:
        read = Object(tuple(list_parts(policy, "", 1, nested=nested)))
        # AWS reports a fault inside a nested object first.
        if not nested and any(key.depth > 1 for key in list_keys(read)):
            raise build_operator_error(NESTED)
        check_limits(read)
        found = [[key.compile_key() for key in branch.values()] for branch in list_branches(read)]
    except RecursionError:  # the depth alone exceeds the limit of combinations
        raise build_complexity_error() from None
    return msgspec.json.encode(found).decode()


def build_complexity_error() -> InvalidParameter:
    """Returns the error for more combinations or wildcards than AWS allows."""
    return build_operator_error(TOO_COMPLEX)


# --- reading ---------------------------------------------------------------------------------------------------------
def list_parts(
    members: dict[str, object], path: str, depth: int, *, nested: bool, read: ReadOperator = parse_operator
) -> Iterator[PolicyKey | Or]:
    """Reads the rules of a policy's object and its nested objects. `read` parses a value of a key's list. Raises
    InvalidParameter."""
    if not members:
        raise build_operator_error("Empty objects are not allowed")
    for name, value in members.items():
        plain = build_path(convert_value(name)) if nested else convert_value(name)
        below = f"{path}{SEPARATOR}{plain}" if depth > 1 else plain
        if name == "$or" and is_or(value):
            yield tuple(Object(tuple(list_parts(element, path, depth, nested=nested, read=read))) for element in value)
        elif isinstance(value, list):
            yield compile_key(below, depth, value, read)
        elif isinstance(value, dict):
            yield from list_parts(value, below, depth + 1, nested=nested, read=read)
        else:
            raise build_operator_error(f'"{name[:256]}" must be an object or an array')


def compile_key(path: str, depth: int, values: list[object], read: ReadOperator = parse_operator) -> PolicyKey:
    """Returns the key for one list of values. Raises InvalidParameter."""
    if not values:
        raise build_operator_error("Empty arrays are not allowed")
    return PolicyKey(path, depth, tuple(read(value) for value in values))


# --- limits ----------------------------------------------------------------------------------------------------------
def check_limits(policy: Object) -> None:
    """Raises InvalidParameter for a policy with too many keys, combinations or points of wildcards."""
    keys = list(list_keys(policy))
    if len({key.path for key in keys}) > MAX_KEYS:
        raise build_operator_error(TOO_MANY_KEYS)
    if count_combinations(policy) > MAX_COMBINATIONS or sum(key.points() for key in keys) > MAX_WILDCARD_POINTS:
        raise build_complexity_error()


def list_keys(policy: Object) -> Iterator[PolicyKey]:
    """Yields all keys, including those inside `$or`."""
    for part in policy.parts:
        if isinstance(part, PolicyKey):
            yield part
        else:
            for alternative in part:
                yield from list_keys(alternative)


def count_combinations(policy: Object) -> int:
    """Returns the product of each key's values times depth. `$or` counts as the sum of its objects ("AND/OR logic")."""
    return prod(
        len(part.operators) * part.depth
        if isinstance(part, PolicyKey)
        else sum(count_combinations(alternative) for alternative in part)
        for part in policy.parts
    )


def list_branches(policy: Object) -> list[dict[str, PolicyKey]]:
    """Returns every combination of choices from the `$or`s, as keys by path. If two keys have the same path, the last
    key counts.
    """
    found: list[dict[str, PolicyKey]] = [{}]
    for part in policy.parts:
        if isinstance(part, PolicyKey):
            found = [{**branch, part.path: part} for branch in found]
        else:
            chosen = [branch for alternative in part for branch in list_branches(alternative)]
            found = [{**branch, **more} for branch in found for more in chosen]
    return found
