"""Compares one event with filters of subscribers, and generates patterns and payloads."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

import pytest

from penstock.events.delivery import filter_rules
from penstock.events.delivery.event import ContentType, Event
from penstock.events.delivery.filter_facts import Fact
from penstock.events.delivery.filters import FilterIndex

EVENT_ID = UUID("00000000-0000-4000-8000-000000000001")


def event(data: Any = None, *, raw: bytes | None = None, binary: bool = False, **members: Any) -> Event:
    """Returns an event whose payload is `raw`, or `data` as JSON."""
    return Event(
        number=1,
        ingested_at=datetime(2026, 8, 31, 7, 23, 38, 826_000, tzinfo=UTC),
        event_id=EVENT_ID,
        content_type=ContentType.OCTET_STREAM if binary else ContentType.JSON,
        data=json.dumps(data).encode() if raw is None else raw,
        **members,
    )


def configuration(**patterns: Any) -> dict[str, Any]:
    """Returns a FilterConfiguration. A pattern that is not a text becomes JSON."""
    return {
        "Language": "EVENT_BRIDGE_PATTERN",
        "Filters": [
            {"Scope": scope, "Pattern": pattern if isinstance(pattern, str) else json.dumps(pattern)}
            for scope, pattern in patterns.items()
        ],
    }


def matches(pattern: Any, data: Any, *, scope: str = "DATA", **members: Any) -> bool:
    """Returns whether one pattern matches one event. `data` is a payload that becomes JSON, or an event."""
    given = data if isinstance(data, Event) else event(data, **members)
    return bool(FilterIndex([(1, configuration(**{scope: pattern}))]).find(given))


def count_comparisons(monkeypatch: pytest.MonkeyPatch) -> list[Fact]:
    """Returns a list that gets each value which a test of a pattern examines."""
    compared: list[Fact] = []
    build = filter_rules.build_test

    def build_counted(name: str, *arguments: object) -> filter_rules.FactTest:
        test = build(name, *arguments)

        def test_counted(fact: Fact) -> bool:
            compared.append(fact)
            return test(fact)

        return test_counted

    monkeypatch.setattr(filter_rules, "build_test", build_counted)
    return compared


# --- random patterns and payloads ------------------------------------------------------------------------------------
NAMES = ("a", "b", "a.b", "b.a")
SCALARS = (0, 1, True, False, None, "", "x", "xy", 1.5, "1")
OPERATORS = (
    {"prefix": "x"}, {"suffix": "y"}, {"anything-but": [1]}, {"anything-but": {"prefix": "x"}}, {"exists": True},
    {"exists": False}, {"numeric": [">", 0]}, {"equals-ignore-case": "XY"},
)  # fmt: skip


def build_pattern(random: Random, levels: int = 3) -> dict[str, Any]:
    """Returns a valid pattern for an object, often with `$or`."""
    found: dict[str, Any] = {}
    for name in random.sample(NAMES, random.randint(1, 2)):
        is_leaf = levels == 0 or random.random() < 0.6
        found[name] = build_values(random) if is_leaf else build_pattern(random, levels - 1)
    if levels and random.random() < 0.25:
        found["$or"] = [build_pattern(random, levels - 1) for _ in range(2)]
    return found


def build_values(random: Random) -> list[Any]:
    return [random.choice(SCALARS if random.random() < 0.7 else OPERATORS) for _ in range(random.randint(1, 3))]


def build_payload(random: Random, names: Sequence[str] = NAMES, levels: int = 4) -> Any:
    """Returns a document with objects in arrays."""
    kind = random.random()
    if levels == 0 or kind < 0.3:
        return random.choice(SCALARS)
    if kind < 0.6:
        return [build_payload(random, names, levels - 1) for _ in range(random.randint(0, 3))]
    return {name: build_payload(random, names, levels - 1) for name in random.sample(names, random.randint(0, 2))}


def build_object(random: Random, names: Sequence[str] = NAMES) -> dict[str, Any]:
    """Returns a payload that is an object with members."""
    return {name: build_payload(random, names) for name in random.sample(names, random.randint(1, 2))}
