"""Defines the changes of a plan, and makes the changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from .model import Document, Value

Differences = Mapping[str, tuple[object, object]]
Step = tuple["Phase", Callable[[], object]]


class Phase(IntEnum):
    """The order of the changes. `apply` creates a resource after the resources that it needs, and deletes it before
    those resources.
    """

    QUEUES = 0
    REFERENCES = 1
    BUSES = 2
    TOPICS = 3
    SUBSCRIPTIONS = 4
    SCHEDULES = 5
    MAPPINGS = 6
    CONNECTIONS = 7
    API_DESTINATIONS = 8
    SUBSCRIBERS = 9
    USERS = 10
    SUBSCRIBERS_GO = 11
    BUSES_GO = 12
    API_DESTINATIONS_GO = 13
    CONNECTIONS_GO = 14
    MAPPINGS_GO = 15
    SCHEDULES_GO = 16
    SUBSCRIPTIONS_GO = 17
    TOPICS_GO = 18
    QUEUES_GO = 19


@dataclass(slots=True)
class Change:
    """A change in the plan. `sign` is + for a new resource, ~ for a changed resource and - for a deleted resource.
    `differences` maps names to old and new values.
    """

    sign: str
    what: str
    steps: list[Step]
    differences: Differences = field(default_factory=dict)
    remark: str = ""

    def lines(self) -> Iterator[str]:
        """Yields the change as text."""
        yield f"{self.sign} {self.what}{self.remark}"
        for name, (old, new) in self.differences.items():
            yield (
                f"    {name}: {_display(new)}" if self.sign == "+" else f"    {name}: {_display(old)} → {_display(new)}"
            )

    def document(self) -> Document:
        """Returns the change as a JSON document."""
        kind, _, name = self.what.partition(" ")
        values = {key: {"from": old, "to": new} for key, (old, new) in self.differences.items()}
        return {
            "change": {"+": "create", "~": "change", "-": "delete"}[self.sign],
            "kind": kind,
            "name": name,
            **({"values": values} if values else {}),
        }


def carry_out(changes: Iterable[Change]) -> None:
    """Makes the changes. Raises LocalError at the first failure. Does not undo earlier changes, so the next `apply`
    makes only the remaining changes.
    """
    steps = [step for change in changes for step in change.steps]
    for _, run in sorted(steps, key=lambda step: step[0]):
        run()


def differences(wanted: Mapping[str, object], existing: Mapping[str, object]) -> Differences:
    """Returns the current and the wanted value of each name whose values differ."""
    return {key: (existing.get(key), value) for key, value in wanted.items() if existing.get(key) != value}


def text(value: Value) -> str:
    """Formats a value for SQS and SNS."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _display(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
