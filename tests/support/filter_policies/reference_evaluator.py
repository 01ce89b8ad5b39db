"""Evaluates a filter policy according to the SNS Developer Guide, without Penstock's compiled form.

For each message, the evaluator parses the policy and tries every way to fulfil it. The evaluator supports only valid
policies and small messages.

aws_examples.py names the pages. The rules for objects in arrays come from the README of github.com/aws/event-ruler,
"JSON Array Matching": two keys must not match in different elements of one array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import ip_address, ip_network
from itertools import combinations, product
from typing import Any

BILLION = Decimal(10) ** 9
RESERVED = {"exactly", "prefix", "suffix", "anything-but", "equals-ignore-case", "exists", "wildcard", "numeric"}
RESERVED |= {"cidr", "=", "<", "<=", ">", ">="}


@dataclass(frozen=True)
class Leaf:
    """Represents a value in a message, with its property names and its index in each array that contains the value."""

    names: tuple[str, ...]
    value: Any
    elements: Mapping[str, int]

    def stands_with(self, other: Leaf) -> bool:
        """Returns False if the two values are in different elements of one array."""
        return all(other.elements.get(array, index) == index for array, index in self.elements.items())


def accepts(policy: str, scope: str, message: Mapping[str, tuple[str, str]] | str) -> bool:
    """Returns whether the policy accepts the message, which is a body or maps an attribute's name to its type and
    value.
    """
    rule = json.loads(policy, parse_float=Decimal, parse_int=Decimal)
    document = read_body(message) if isinstance(message, str) else read_attributes(message)
    if rule == {}:
        return True
    leaves = list(walk(document, (), "", {})) if isinstance(document, dict) else []
    # "exists: false" matches only if the message has at least one attribute.
    return bool(leaves) and any(fulfils(dict(wanted), leaves) for wanted in alternatives(rule, ()))


def read_body(body: str) -> Any:
    try:
        return json.loads(body, parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        return None


def read_attributes(attributes: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name, (kind, value) in attributes.items():
        if kind == "Number":
            document[name] = Decimal(value)
        elif kind.endswith(".Array"):
            document[name] = escape(json.loads(value, parse_float=Decimal, parse_int=Decimal))
        elif kind == "String":
            document[name] = escape(value)
    return document


def escape(value: Any) -> Any:
    """Escapes double quotes and backslashes, because a policy for attributes requires two levels of escapes."""
    if isinstance(value, list):
        return [escape(element) for element in value]
    return re.sub(r'(["\\])', r"\\\1", value) if isinstance(value, str) else value


def walk(value: Any, names: tuple[str, ...], place: str, elements: dict[str, int]) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from walk(member, (*names, *parted(name)), f"{place}/{name}", elements)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from walk(element, names, f"{place}/{index}", {**elements, place: index})
    else:
        yield Leaf(names, value, elements)


Condition = tuple[tuple[str, ...], list[Any]]


def alternatives(rule: dict[str, Any], above: tuple[str, ...]) -> Iterator[list[Condition]]:
    """Yields every combination of `$or` branches, as lists of conditions that must all be true."""
    parts: list[list[list[Condition]]] = []
    for name, value in rule.items():
        if name == "$or" and means_or(value):
            parts.append([choice for element in value for choice in alternatives(element, above)])
        elif isinstance(value, dict):
            parts.append(list(alternatives(value, (*above, *parted(name)))))
        else:
            parts.append([[((*above, *parted(name)), value)]])
    for chosen in product(*parts):
        yield [condition for conditions in chosen for condition in conditions]


def parted(name: str) -> list[str]:
    """Splits a dotted name into a path, because the rule engine joins names with dots."""
    return name.split(".")


def means_or(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= 2
        and all(isinstance(element, dict) for element in value)
        and not any(RESERVED & set(element) for element in value)
    )


def fulfils(wanted: dict[tuple[str, ...], list[Any]], leaves: list[Leaf]) -> bool:
    """Returns whether each key has a matching leaf, and all matching leaves are in the same array elements."""
    choices: list[list[Leaf]] = []
    for names, values in wanted.items():
        there = [leaf for leaf in leaves if leaf.names == names]
        if there:
            choices.append([leaf for leaf in there if any(holds(value, leaf.value) for value in values)])
        elif {"exists": False} not in values:
            return False
    return any(all(a.stands_with(b) for a, b in combinations(chosen, 2)) for chosen in product(*choices))


def holds(wanted: Any, value: Any) -> bool:
    """Returns whether one value in a policy matches one value in a message."""
    if not isinstance(wanted, dict):
        return same(wanted, value)
    [(operator, argument)] = wanted.items()
    if operator == "exists":
        return argument and value is not None and value != ""
    if operator == "anything-but":
        return not any(holds(condition, value) for condition in excluded(argument))
    if operator == "numeric":
        return isinstance(value, Decimal) and abs(value) <= BILLION and in_range(argument, value)
    return isinstance(value, str) and like(operator, argument, value)


def excluded(argument: Any) -> list[Any]:
    """Returns the values of an anything-but as a list."""
    if isinstance(argument, dict):
        [(operator, values)] = argument.items()
        return [{operator: value} for value in (values if isinstance(values, list) else [values])]
    return argument if isinstance(argument, list) else [argument]


def same(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, Decimal) and isinstance(value, Decimal):
        return digits(wanted) == digits(value)
    return type(wanted) is type(value) and bool(wanted == value)


def digits(value: Decimal) -> Decimal:
    """Returns the number with five digits after the decimal point. AWS ignores further digits."""
    return round(value, 5)


def in_range(argument: list[Any], value: Decimal) -> bool:
    bounds = zip(argument[::2], argument[1::2], strict=True)
    return all(compare(operator, digits(value), digits(bound)) for operator, bound in bounds)


def compare(operator: str, value: Decimal, bound: Decimal) -> bool:
    if value == bound:
        return "=" in operator
    return operator[0] == ("<" if value < bound else ">")


def like(operator: str, argument: str, value: str) -> bool:
    match operator:
        case "exactly":
            return value == argument
        case "prefix":
            return value.startswith(argument)
        case "suffix":
            return value.endswith(argument)
        case "equals-ignore-case":
            return value.lower() == argument.lower()
        case "cidr":
            return in_network(argument, value)
        case "wildcard":
            return re.fullmatch(expression(argument), value, re.DOTALL) is not None
    raise AssertionError(operator)


def in_network(network: str, value: str) -> bool:
    try:
        return ip_address(value) in ip_network(network, strict=False)
    except ValueError:
        return False


def expression(pattern: str) -> str:
    """Returns the pattern as a regular expression. A star matches any text, and a backslash escapes the next
    character.
    """
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    return "".join(".*" if part == "*" else re.escape(part[-1]) for part in parts)
