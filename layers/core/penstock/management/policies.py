"""Validates users' policies before they are stored. Otherwise a misspelt policy would silently allow no action."""

from typing import Final

from penstock.access.keys import find_form_problem
from penstock.access.policy.patterns import Pattern
from penstock.aws.json_text import decode_json

from .actions import KNOWN_ACTIONS

_KNOWN: Final = frozenset(name.lower() for name in KNOWN_ACTIONS)
_SERVICES: Final = frozenset(name.partition(":")[0] for name in _KNOWN)


def find_policy_problem(text: str) -> str | None:
    """Returns why a text is not a user's policy, or which of its actions do not exist, or None for a valid policy.

    Actions of services that Penstock does not have are valid, because the policy can come from AWS.
    """
    if problem := find_form_problem(text):
        return problem
    if not text.startswith("{"):
        return None
    for name in _list_actions(decode_json(text)):
        if name.partition(":")[0].lower() not in _SERVICES:
            continue
        matched = sorted(known for known in KNOWN_ACTIONS if Pattern(name.lower()).matches(known.lower()))
        if not matched:
            return f"there is no action {name!r}"
        single = [known.removesuffix("Batch") for known in matched]
        if all(known.endswith("Batch") for known in matched) and _KNOWN.issuperset(map(str.lower, single)):
            return f"{name!r} has no effect: a batch is asked for as {', '.join(map(repr, single))}"
    return None


def _list_actions(document: dict[str, object]) -> list[str]:
    statements = document.get("Statement")
    found: list[str] = []
    for statement in statements if isinstance(statements, list) else [statements]:
        if isinstance(statement, dict):
            for element in ("Action", "NotAction"):
                named = statement.get(element, [])
                found += [named] if isinstance(named, str) else [entry for entry in named if isinstance(entry, str)]
    return found
