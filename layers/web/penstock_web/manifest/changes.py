"""Represents the changes of a plan, with their order and their texts, and makes the changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from .model import Document, Value

Differences = Mapping[str, tuple[object, object]]
Step = tuple["Phase", Callable[[], object]]


class Phase(IntEnum):
    """Orders the changes. A change comes after required changes, and after the removal of dependent objects."""

    QUEUES = 0
    REFERENCES = 1
    TOPICS = 2
    SUBSCRIPTIONS = 3
    SCHEDULES = 4
    MAPPINGS = 5
    USERS = 6
    MAPPINGS_GO = 7
    SCHEDULES_GO = 8
    SUBSCRIPTIONS_GO = 9
    TOPICS_GO = 10
    QUEUES_GO = 11


@dataclass(slots=True)
class Change:
    """A line of the plan. `sign` is + for a created, ~ for a changed and - for a deleted object. `differences` has old
    and new values.
    """

    sign: str
    what: str
    steps: list[Step]
    differences: Differences = field(default_factory=dict)
    remark: str = ""

    def lines(self) -> Iterator[str]:
        """Yields the lines for people."""
        yield f"{self.sign} {self.what}{self.remark}"
        for name, (old, new) in self.differences.items():
            yield (
                f"    {name}: {_display(new)}" if self.sign == "+" else f"    {name}: {_display(old)} → {_display(new)}"
            )

    def document(self) -> Document:
        """Returns the document for programs."""
        kind, _, name = self.what.partition(" ")
        values = {key: {"from": old, "to": new} for key, (old, new) in self.differences.items()}
        return {
            "change": {"+": "create", "~": "change", "-": "delete"}[self.sign],
            "kind": kind,
            "name": name,
            **({"values": values} if values else {}),
        }


def make(changes: Iterable[Change]) -> None:
    """Makes the changes. Raises LocalError at the first failure. Earlier changes stay, and the next `apply`
    continues.
    """
    steps = [step for change in changes for step in change.steps]
    for _, run in sorted(steps, key=lambda step: step[0]):
        run()


def differences(wanted: Mapping[str, object], there: Mapping[str, object]) -> Differences:
    """Returns the wanted values that differ, each with the present value."""
    return {key: (there.get(key), value) for key, value in wanted.items() if there.get(key) != value}


def text(value: Value) -> str:
    """Returns the value in the notation of SQS and SNS."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _display(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
