"""Measures the quality of verdicts on the recorded runs in benchmarks/queen, and compares it with the naive rule in
`score`.

    python -m tests.support.verdicts.recorded

In each run, two consumer groups have separate queues. Messages arrive for 600 seconds, and the consumers then process
the backlog. The records contain the rate of arrivals and the backlog. The module computes the other values of a minute:
deletes are arrivals minus growth. Dead letters arrive in proportion to the deletes. The records count dead letters in
the backlog.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from penstock.verdicts import Facts, Kind, Minute, Verdict, judge

from .score import AFTER, LEAST_BACKLOG, is_close, minutes_until, naive, naive_drain
from .simulation import MINUTE, START

RESULTS = Path(__file__).parents[3] / "benchmarks/results.json"
RUNS = ("queen_fair", "queen_fifo")
GROUPS = ("backlog of the first group", "backlog of the second group")
WINDOW = 150.0
"""The growth in this many seconds before and after a moment determines the queue's state."""
STEADY = 0.02
"""A backlog is steady if it grows or shrinks by less than this share of the arrivals."""
FIRST_MINUTE, LATEST = 2, 5

Series = list[tuple[float, float]]


@dataclass
class Record:
    """Represents a queue in a run. `pushes` is the number of seconds with arrivals. Each series contains pairs of a
    second and a value.
    """

    name: str
    fifo: bool
    pushes: float
    rate: Series
    backlog: Series

    @property
    def minutes(self) -> int:
        return int(self.backlog[-1][0] // 60)

    @cached_property
    def sent(self) -> list[float]:
        """Returns the cumulative number of arrivals by second."""
        rates = (at(self.rate, second + 0.5) for second in range(int(self.pushes)))
        return list(accumulate(rates, initial=0.0))

    def arrivals(self, first: float, end: float) -> float:
        """Returns the number of arrivals between the given seconds."""
        last = len(self.sent) - 1
        return self.sent[min(int(end), last)] - self.sent[min(int(first), last)]

    def dead(self, second: float) -> float:
        done, total = (self.arrivals(0, until) - at(self.backlog, until) for until in (second, self.backlog[-1][0]))
        return self.backlog[-1][1] * max(done, 0) / total

    def waiting(self, second: float) -> float:
        """Returns the backlog without dead letters."""
        return max(at(self.backlog, second) - self.dead(second), 0)

    def expected(self, second: float) -> set[Kind]:
        """Returns the queue's correct states at the given second, from the messages before and after it."""
        if self.waiting(second) < LEAST_BACKLOG:
            return {Kind.OK, Kind.IDLE}
        is_over = second >= self.pushes
        first = max(second - WINDOW, self.pushes if is_over else 0)
        end = min(second + WINDOW, self.backlog[-1][0] if is_over else self.pushes)
        arrivals, growth = self.arrivals(first, end), self.waiting(end) - self.waiting(first)
        # Messages that take less than a minute are not a backlog (docs/reference/verdicts.md).
        keeps_up = {Kind.OK} if self.waiting(second) * (end - first) < 60 * (arrivals - growth) else set()
        if abs(growth) <= STEADY * arrivals:
            return {Kind.OK, Kind.DRAINING}
        return keeps_up | ({Kind.FALLING_BEHIND} if growth > 0 else {Kind.DRAINING})

    def rows(self, minutes: int) -> list[Minute]:
        """Returns the first minutes in the service's format."""
        found = []
        for minute in range(minutes):
            first, end = 60.0 * minute, 60.0 * (minute + 1)
            sent, dead = self.arrivals(first, end), self.dead(end) - self.dead(first)
            deleted = max(sent + self.waiting(first) - self.waiting(end) - dead, 0)
            starts_at = START + minute * MINUTE
            found.append(
                Minute(
                    starts_at,
                    sent=round(sent),
                    received=round(deleted + dead),
                    deleted=round(deleted),
                    dead_lettered=round(dead),
                    visible=round(self.waiting(end)),
                    in_flight=0,
                    delayed=0,
                    last_received_at=starts_at + MINUTE if deleted + dead >= 1 else None,
                )
            )
        return found

    def empty_after(self, minute: int) -> float | None:
        """Returns the minutes until fewer than LEAST_BACKLOG messages wait."""
        gone = [at_second for at_second, _ in self.backlog if self.waiting(at_second) < LEAST_BACKLOG]
        later = [second for second in gone if second > 60 * minute and second > self.pushes]
        return later[0] / 60 - minute if later else None


@dataclass
class Score:
    right: int = 0
    late: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    drains: list[bool] = field(default_factory=list)

    def add(self, record: Record, minute: int, verdict: Verdict, drain: float | None) -> None:
        """Counts a verdict at the end of a minute."""
        if verdict.kind in record.expected(60 * minute):
            self.right += 1
        elif any(verdict.kind in record.expected(60 * earlier) for earlier in before(minute)):
            self.late += 1
        else:
            self.wrong[f"{verdict.kind} ({record.name}, minute {minute})"] += 1
        true = record.empty_after(minute)
        if drain is not None and true and 60 * minute >= record.pushes:
            self.drains.append(is_close(drain, round(true)))


def before(minute: int) -> range:
    """Returns the minutes for which a late verdict was right."""
    return range(max(minute - LATEST, 1), minute)


def at(series: Series, second: float) -> float:
    """Returns the value at a second by linear interpolation."""
    earlier = max((point for point in series if point[0] <= second), default=series[0])
    later = min((point for point in series if point[0] > second), default=earlier)
    share = (second - earlier[0]) / (later[0] - earlier[0]) if later[0] > earlier[0] else 0.0
    return earlier[1] + share * (later[1] - earlier[1])


def records() -> list[Record]:
    found = []
    results: dict[str, Any] = json.loads(RESULTS.read_text())
    for run in RUNS:
        result = results[run]
        series = result["systems"][0]["series"]
        for group in GROUPS:
            pushes = float(result["settings"]["queen_seconds"])
            name = f"{run}, {group.removeprefix('backlog of ')}"
            found.append(Record(name, run == "queen_fifo", pushes, series["rate of pushes"], series[group]))
    return found


def scores() -> tuple[Score, Score]:
    """Returns the scores of the verdicts and of the naive rule."""
    ours, others = Score(), Score()
    for record in records():
        for minute in range(FIRST_MINUTE, record.minutes + 1):
            rows, now, facts = record.rows(minute), START + minute * MINUTE + AFTER, Facts(fifo=record.fifo)
            verdict = judge(rows, facts, now)
            ours.add(record, minute, verdict, minutes_until(verdict, now))
            others.add(record, minute, naive(rows, facts, now), naive_drain(rows, now))
    return ours, others


def main() -> None:
    for name, score in zip(("verdicts", "naive"), scores(), strict=True):
        wrong = "; ".join(score.wrong)
        print(f"{name}: right {score.right}, late {score.late}, wrong {score.wrong.total()} ({wrong})")  # noqa: T201
        print(f"  when empty: {sum(score.drains)} of {len(score.drains)} within a fifth")  # noqa: T201


if __name__ == "__main__":
    main()
