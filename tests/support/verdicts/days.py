"""Describes days of queues: how each is used, and what a verdict should say when."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.verdicts import Facts, Kind

from .simulation import Plan

HEALTHY = frozenset({Kind.OK, Kind.IDLE})
Expectation = Callable[[int], frozenset[Kind]]
"""Returns the right kinds at a minute. The answer is empty at the border of two kinds, where any is right."""


@dataclass(frozen=True)
class Scenario:
    """A day. `expected` is an Expectation, or None if only the drain time is judged."""

    plan: Plan
    expected: Expectation | None = None
    facts: Facts = field(default_factory=Facts)


def between(minute: float, start: float, end: float) -> bool:
    return start <= minute < end


def wave(minute: float, low: float, high: float, peak: float = 14 * 60) -> float:
    """Returns a daily rhythm."""
    return low + (high - low) * (1 + math.cos(2 * math.pi * (minute - peak) / 1440)) / 2


def spans(*parts: tuple[int, int, frozenset[Kind]], otherwise: frozenset[Kind] = HEALTHY) -> Expectation:
    """Returns kinds by spans of minutes."""

    def expected(minute: int) -> frozenset[Kind]:
        return next((kinds for start, end, kinds in parts if start <= minute < end), otherwise)

    return expected


class Autoscaler:
    """Starts five consumers more every three minutes while over 500 messages wait, up to 30, and fewer when under 50
    wait."""

    def __init__(self) -> None:
        self.consumers = 5
        self.changed = 0

    def __call__(self, minute: float, visible: int) -> int:
        if int(minute) >= self.changed + 3 or minute < self.changed:
            self.changed = int(minute)
            if visible > 500:
                self.consumers = min(30, self.consumers + 5)
            elif visible < 50:
                self.consumers = max(5, self.consumers - 5)
        return self.consumers


SCENARIOS: dict[str, Scenario] = {
    "steady": Scenario(Plan(lambda _: 300, lambda *_: 10, lambda _: 1.5), spans()),
    "nearly full": Scenario(Plan(lambda _: 45, lambda *_: 1, lambda _: 1.2), spans()),
    "full": Scenario(Plan(lambda _: 950, lambda *_: 20, lambda _: 1.2), spans()),
    "quiet": Scenario(Plan(lambda _: 0.2, lambda *_: 1, lambda _: 2), spans()),
    "idle": Scenario(Plan(lambda m: 5 if m < 60 else 0, lambda *_: 1, lambda _: 2), spans()),
    "slow handlers by nature": Scenario(
        Plan(lambda _: 0.8, lambda *_: 6, lambda _: 300, visibility_seconds=3600), spans()
    ),
    "diurnal, too few at the peak": Scenario(
        Plan(lambda m: wave(m, 100, 900, 480), lambda *_: 10, lambda _: 1)
    ),
    "diurnal, nearly enough": Scenario(Plan(lambda m: wave(m, 100, 900, 600), lambda *_: 12, lambda _: 1)),
    "two waves a day": Scenario(
        Plan(lambda m: wave(2 * m, 20, 120, 600), lambda *_: 3, lambda _: 2)
    ),
    "diurnal, enough": Scenario(Plan(lambda m: wave(m, 100, 900), lambda *_: 17, lambda _: 1), spans()),
    "outage of an hour": Scenario(
        Plan(lambda _: 200, lambda m, _: 0 if between(m, 600, 650) else 10, lambda _: 1.5),
        spans(
            (600, 602, frozenset()), (602, 650, frozenset({Kind.STALLED})), (650, 652, frozenset()),
            (652, 695, frozenset({Kind.DRAINING})), (695, 730, frozenset()),
        ),
    ),
    "outage, long drain": Scenario(
        Plan(lambda _: 200, lambda m, _: 0 if between(m, 290, 410) else 7, lambda _: 1.5)
    ),
    "half of the consumers": Scenario(
        Plan(lambda _: 300, lambda m, _: 5 if between(m, 400, 520) else 12, lambda _: 1.5),
        spans(
            (400, 408, frozenset()), (408, 520, frozenset({Kind.FALLING_BEHIND})), (520, 524, frozenset()),
            (524, 570, frozenset({Kind.DRAINING})), (570, 600, frozenset()),
        ),
    ),
    "autoscaled": Scenario(
        Plan(lambda m: 2000 if between(m % 240, 130, 170) else 150, Autoscaler(), lambda _: 1.5)
    ),
    "autoscaled, too little": Scenario(
        Plan(lambda m: 2500 if between(m % 480, 130, 230) else 700, Autoscaler(), lambda _: 1.5)
    ),
    "hourly batch": Scenario(
        Plan(lambda m: 5000 if int(m) % 60 == 0 else 0, lambda *_: 5, lambda _: 1.5),
        lambda _minute: frozenset({Kind.OK, Kind.IDLE, Kind.DRAINING}),
    ),
    "hourly batch, collected later": Scenario(
        Plan(
            lambda m: 1000 if int(m) % 60 == 0 else 0, lambda m, _: 5 if int(m) % 60 >= 10 else 0,
            lambda _: 1.5,
        ),
        lambda minute: frozenset({Kind.OK, Kind.IDLE, Kind.DRAINING}) if minute > 360 else frozenset(),
    ),
    "cron consumer": Scenario(
        Plan(lambda _: 10, lambda m, _: 20 if int(m) % 60 >= 55 else 0, lambda _: 1),
        lambda minute: frozenset({Kind.OK, Kind.IDLE, Kind.DRAINING}) if minute > 360 else frozenset(),
    ),
    "poison, one in fifty": Scenario(
        Plan(
            lambda _: 120, lambda *_: 8, lambda _: 1.5,
            bad_share=lambda m: 0.02 if between(m, 500, 800) else 0,
        ),
        spans((500, 515, frozenset()), (515, 800, frozenset({Kind.POISONED})), (800, 815, frozenset())),
    ),
    "poison, no dead-letter queue": Scenario(
        Plan(
            lambda _: 120, lambda *_: 8, lambda _: 1.5, max_receives=10**6,
            bad_share=lambda m: 0.01 if between(m, 500, 510) else 0,
        ),
        spans((500, 525, frozenset()), (525, 1440, frozenset({Kind.POISONED}))),
    ),
    "one tenant": Scenario(
        Plan(lambda m: 900 if between(m, 600, 660) else 200, lambda *_: 8, lambda _: 1.2),
        spans(
            (600, 607, frozenset()), (607, 660, frozenset({Kind.FALLING_BEHIND})), (660, 664, frozenset()),
            (664, 790, frozenset({Kind.DRAINING})), (790, 900, frozenset()),
        ),
        Facts(noisy_groups=1),
    ),
}  # fmt: skip
