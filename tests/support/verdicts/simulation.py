"""Simulates a queue and its consumers in steps of five seconds: the minutes that a service would store, and the truth.

Each consumer takes one message at a time, and handling ends with the same probability in each step (exponential times).
Arrivals are Poisson. A consumer that stops leaves its messages in flight until the visibility timeout. A bad message
always fails, and is redelivered until it has been received `max_receives` times.

Describes queues' days: how each queue is used, and which verdict is expected at which time.
"""

import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from penstock.verdicts import Facts, Kind, Minute

STEP_SECONDS = 5
MANY_TIMES = 50  # The largest number of receives that the simulation counts for a message.
START = datetime(2026, 11, 2, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@dataclass
class Plan:
    """Describes a queue's use. Three functions map a minute of the day to the arrivals a minute, the consumers, and the
    seconds for a message.

    `bad_share` is the share of messages that never succeed. `consumers` also receives the number of waiting messages.
    `partial_seconds` is the interval at which the current minute's row is kept, or 0.
    """

    arrivals: Callable[[float], float]
    consumers: Callable[[float, int], int]
    handling_seconds: Callable[[float], float]
    bad_share: Callable[[float], float] = lambda _minute: 0.0
    max_receives: int = 5
    partial_seconds: int = 0
    visibility_seconds: int = 30
    minutes: int = 24 * 60


@dataclass
class Day:
    """Contains the stored rows, and the number of visible messages at the end of each minute."""

    minutes: list[Minute] = field(default_factory=list)
    visible: list[int] = field(default_factory=list)
    partial: dict[int, Minute] = field(default_factory=dict)
    """The current minute's row by second of the day."""

    def at_second(self, second: int, minutes: int = 120) -> list[Minute]:
        """Returns the stored rows at the given second, including the known part of the current minute."""
        rows = self.until(second // 60, minutes)
        known = self.partial.get(second)
        return [*rows, known] if known and second % 60 else rows

    def until(self, minute: int, minutes: int = 120) -> list[Minute]:
        """Returns the rows of the last `minutes` up to the end of `minute`."""
        first, end = START + (minute - minutes) * MINUTE, START + minute * MINUTE
        return [row for row in self.minutes if first <= row.starts_at < end]

    def empty_after(self, minute: int, few: int = 10) -> int | None:
        """Returns the minutes until fewer than `few` messages wait, or None if that does not happen on that day."""
        for index in range(minute, len(self.visible)):
            if self.visible[index] < few:
                return index + 1 - minute
        return None


@dataclass
class Returning:
    """Counts the messages that become visible at a step. `bad` counts bad messages by their number of receives."""

    at: int
    good: int = 0
    bad: dict[int, int] = field(default_factory=dict)


def poisson(rng: random.Random, mean: float) -> int:
    """Returns a random number of arrivals."""
    if mean > 50:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        count += 1
    return count


def binomial(rng: random.Random, n: int, share: float) -> int:
    """Returns a random number of successes in n trials."""
    if n > 60:
        spread = math.sqrt(n * share * (1 - share))
        return min(n, max(0, round(rng.gauss(n * share, spread))))
    return sum(rng.random() < share for _ in range(n))


def simulate(plan: Plan, seed: int = 1) -> Day:
    return Simulation(plan, random.Random(seed)).run()


class Simulation:
    def __init__(self, plan: Plan, rng: random.Random) -> None:
        self.plan, self.rng = plan, rng
        self.good = 0  # visible
        self.again = 0  # visible and received before
        self.bad: dict[int, int] = {}  # visible, by number of receives
        self.in_flight = 0  # in flight with a consumer, without bad messages
        self.hidden = 0  # in flight without a consumer
        self.returning: deque[Returning] = deque()
        self.step = 0
        self.entered: deque[tuple[int, int]] = deque()  # arrivals as (step, messages), for the oldest message
        self.entered_count = 0
        self.bad_entered: deque[int] = deque()  # the steps in which bad messages arrived
        self.last_received_at: datetime | None = None

    def run(self) -> Day:
        day = Day()
        for minute in range(self.plan.minutes):
            counts = dict.fromkeys(("sent", "received", "redelivered", "deleted", "dead_lettered"), 0)
            for part in range(60 // STEP_SECONDS):
                self._step(minute + part * STEP_SECONDS / 60, counts)
                second = self.step * STEP_SECONDS
                if self.plan.partial_seconds and second % self.plan.partial_seconds == 0:
                    day.partial[second] = self._row(minute, counts)
            day.visible.append(self._visible())
            row = self._row(minute, counts)
            if any(counts.values()) or row.visible or row.in_flight:
                day.minutes.append(row)
        return day

    def _row(self, minute: int, counts: dict[str, int]) -> Minute:
        visible, in_flight = self._visible(), self.in_flight + self.hidden
        return Minute(
            START + minute * MINUTE, **counts, visible=visible, in_flight=in_flight, delayed=0,
            oldest_at=self._oldest(visible + in_flight), last_received_at=self.last_received_at,
        )  # fmt: skip

    def _visible(self) -> int:
        return self.good + sum(self.bad.values())

    def _now(self) -> datetime:
        return START + timedelta(seconds=self.step * STEP_SECONDS)

    def _oldest(self, total: int) -> datetime | None:
        """Returns the oldest message's arrival, as if consumers finished messages in the order of arrival. Bad messages
        remain.
        """
        if not total:
            return None
        while len(self.entered) > 1 and self.entered_count - self.entered[0][1] >= total:
            self.entered_count -= self.entered.popleft()[1]
        first = min([self.entered[0][0], *list(self.bad_entered)[:1]])
        return START + timedelta(seconds=first * STEP_SECONDS)

    def _step(self, minute: float, counts: dict[str, int]) -> None:
        plan, rng = self.plan, self.rng
        self._return_hidden()
        came = poisson(rng, plan.arrivals(minute) * STEP_SECONDS / 60)
        bad = binomial(rng, came, plan.bad_share(minute)) if came else 0
        if came:
            counts["sent"] += came
            self.good += came - bad
            self.bad[0] = self.bad.get(0, 0) + bad
            self.entered.append((self.step, came))
            self.entered_count += came
            self.bad_entered.extend([self.step] * bad)
        consumers = plan.consumers(minute, self._visible())
        if consumers < self.in_flight:  # Some consumers stopped, so their messages become visible later.
            lost = self.in_flight - consumers
            self.in_flight -= lost
            self.hidden += lost
            self.returning.append(Returning(self.step + plan.visibility_seconds // STEP_SECONDS, good=lost))
        self._work(consumers, counts)
        self.step += 1

    def _work(self, consumers: int, counts: dict[str, int]) -> None:
        """Lets consumers take and finish messages in a step, up to their capacity or the number of messages."""
        work = self.in_flight + self.good
        handled = STEP_SECONDS / self.plan.handling_seconds(self.step * STEP_SECONDS / 60)
        # Consumers that keep up still have the messages that arrived during the handling of one message.
        resting = poisson(self.rng, self.plan.arrivals(self.step * STEP_SECONDS / 60) / 60 * STEP_SECONDS / handled)
        able = poisson(self.rng, min(consumers, work) * handled) if work else 0
        done = min(max(0, work - min(resting, consumers)), able)
        in_flight = min(consumers, work - done)
        taken = done + in_flight - self.in_flight
        again = min(self.again, max(0, taken))
        self.good -= taken
        self.again -= again
        self.in_flight = in_flight
        counts["deleted"] += done
        counts["received"] += taken
        counts["redelivered"] += again
        bad = self._take_bad(consumers, counts) if consumers else 0
        if taken or bad:
            self.last_received_at = self._now()

    def _take_bad(self, places: int, counts: dict[str, int]) -> int:
        back = Returning(self.step + self.plan.visibility_seconds // STEP_SECONDS)
        received = 0
        for times, number in sorted(self.bad.items()):
            some = min(number, places - received)
            self.bad[times] -= some
            if times >= self.plan.max_receives:
                counts["dead_lettered"] += some
                for _ in range(some):
                    self.bad_entered.popleft()
                continue
            received += some
            counts["redelivered"] += some if times else 0
            if some:
                after = min(times + 1, MANY_TIMES)
                back.bad[after] = back.bad.get(after, 0) + some
        counts["received"] += received
        self.hidden += received
        if back.bad:
            self.returning.append(back)
        return received

    def _return_hidden(self) -> None:
        while self.returning and self.returning[0].at <= self.step:
            back = self.returning.popleft()
            self.good += back.good
            self.again += back.good
            self.hidden -= back.good + sum(back.bad.values())
            for times, number in back.bad.items():
                self.bad[times] = self.bad.get(times, 0) + number
            self.again += back.good


HEALTHY = frozenset({Kind.OK, Kind.IDLE})
Expectation = Callable[[int], frozenset[Kind]]
"""Returns the correct kinds at a minute. Between two kinds, the result is empty, and any kind is correct."""


@dataclass(frozen=True)
class Scenario:
    """A day. `expected` is an Expectation, or None if the test checks only the drain time."""

    plan: Plan
    expected: Expectation | None = None
    facts: Facts = field(default_factory=Facts)


def between(minute: float, start: float, end: float) -> bool:
    return start <= minute < end


def wave(minute: float, low: float, high: float, peak: float = 14 * 60) -> float:
    """Returns a value with a daily rhythm."""
    return low + (high - low) * (1 + math.cos(2 * math.pi * (minute - peak) / 1440)) / 2


def spans(*parts: tuple[int, int, frozenset[Kind]], otherwise: frozenset[Kind] = HEALTHY) -> Expectation:
    """Returns an expectation with different kinds in spans of minutes."""

    def expected(minute: int) -> frozenset[Kind]:
        return next((kinds for start, end, kinds in parts if start <= minute < end), otherwise)

    return expected


class Autoscaler:
    """Adds consumers every three minutes while more than 500 messages wait, up to 30. Removes consumers when fewer than
    50 wait.
    """

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
    "one group": Scenario(
        Plan(lambda m: 900 if between(m, 600, 660) else 200, lambda *_: 8, lambda _: 1.2),
        spans(
            (600, 607, frozenset()), (607, 660, frozenset({Kind.FALLING_BEHIND})), (660, 664, frozenset()),
            (664, 790, frozenset({Kind.DRAINING})), (790, 900, frozenset()),
        ),
        Facts(noisy_groups=1),
    ),
}  # fmt: skip
