"""Generates priorities and routes of the load balancer's rules in infra/alb/template.yaml.

A rule keeps its priority even if its action moves in the table, because CloudFormation cannot swap priorities in one
update. Each request matches at most one rule, so the order has no other effect. A new action receives the number after
its service's highest number.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.actions import Action

# The priorities of each service's rules. The rules of the REST API (200) and of CBOR (201) are not generated.
PRIORITIES: dict[str, Sequence[int]] = {
    "sqs": range(1, 51),
    "sns": (*range(51, 91), *range(151, 191)),
    "scheduler": range(91, 151),
    "events": range(191, 200),
}
# The actions of event buses that have rules, because a load balancer has at most 100 rules. The rule of CBOR leads the
# requests of other actions to the function Gateway.
BUS_ACTIONS = frozenset(("PutEvents", "PutRawEvents"))

_row = re.compile(r" +(\w+): \{Number: (\d+)").match


class PriorityError(Exception):
    """A service has more actions than priorities."""


def has_rule(action: Action[Any, Any]) -> bool:
    """Returns whether a rule leads the action's requests to the action's function."""
    return action.service in PRIORITIES and (action.service != "events" or action.name in BUS_ACTIONS)


def render_rules(service: str, actions: Sequence[Action[Any, Any]], present: Iterable[str]) -> list[str]:
    """Returns the template's lines for a service's actions. `present` contains the template's current lines. Raises
    PriorityError.
    """
    numbers = assign_priorities(service, [action.name for action in actions], present)
    return [f"    {action.name}: {{Number: {numbers[action.name]}{_render_route(action)}}}" for action in actions]


def assign_priorities(service: str, names: Sequence[str], present: Iterable[str]) -> dict[str, int]:
    """Returns each action's number, which is the current number, or a new number if the current number is invalid or
    taken."""
    allowed = PRIORITIES[service]
    found = {match[1]: int(match[2]) for match in map(_row, present) if match}
    numbers: dict[str, int] = {}
    for name in names:
        number = found.get(name, 0)
        if number in allowed and number not in numbers.values():
            numbers[name] = number
    highest = max((number for number in found.values() if number in allowed), default=0)
    free = (number for number in allowed if number > highest)
    for name in names:
        if name not in numbers:
            given = next(free, None)
            if given is None:
                raise PriorityError(f"{service} has more actions than priorities: give it more in {__name__}.")
            numbers[name] = given
    return numbers


def _render_route(action: Action[Any, Any]) -> str:
    """Returns the method and the path of a REST-JSON action, with patterns in place of variables."""
    if not action.route:
        return ""
    method, path = action.route.split()
    return f', Method: {method}, Path: "{re.sub(r"{.*}", "*", path)}"'
