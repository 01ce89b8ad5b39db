"""Measures the quality of verdicts on simulated days, and compares it with a naive rule: `python -m
tests.support.verdicts.score SEED …`.

Also makes Prometheus's scrapes on a simulated day, in the format of promtool's unit tests.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby

from penstock.verdicts import Facts, Kind, Minute, Verdict, is_asking_for_more, judge

from .simulation import MINUTE, SCENARIOS, START, Day, Scenario, simulate

LONGEST_DRAIN = 300
TOLERANCE = 0.2
LEAST_BACKLOG = 10
AFTER = timedelta(seconds=20)
"""The time between the end of a minute and the verdict."""


@dataclass
class Score:
    """Scores one day. `drains` contains the predicted and true minutes of the hourly verdicts about queues that emptied
    within five hours.
    """

    right: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    drains: list[tuple[int, float | None, int]] = field(default_factory=list)

    @property
    def share_of_drains(self) -> float | None:
        """Returns the share of verdicts whose drain time is within a fifth of the truth."""
        if not self.drains:
            return None
        return sum(is_close(said, true) for _, said, true in self.drains) / len(self.drains)


def is_close(said: float | None, true: int) -> bool:
    """Returns whether the prediction is within a fifth of the truth, or within a minute."""
    return said is not None and abs(said - true) <= max(TOLERANCE * true, 1)


def naive(minutes: list[Minute], _facts: Facts, now: datetime) -> Verdict:
    """Imitates many dashboards: uses the sign of the rates over ten minutes."""
    recent = [row for row in minutes if row.starts_at >= now - 10 * MINUTE - AFTER]
    visible = (recent[-1].visible or 0) if recent else 0
    arrivals = sum(row.sent for row in recent) / 10
    drain = sum(row.deleted + row.dead_lettered for row in recent) / 10
    if not visible:
        return Verdict(Kind.OK)
    if not any(row.received for row in recent[-2:]):
        return Verdict(Kind.STALLED)
    if arrivals > drain:
        return Verdict(Kind.FALLING_BEHIND)
    return Verdict(Kind.DRAINING if visible > LEAST_BACKLOG else Kind.OK)


def naive_drain(minutes: list[Minute], now: datetime) -> float | None:
    recent = [row for row in minutes if row.starts_at >= now - 10 * MINUTE - AFTER]
    net = sum(row.deleted + row.dead_lettered - row.sent for row in recent) / 10
    visible = (recent[-1].visible or 0) if recent else 0
    return visible / net if net > 0 else None


def score(scenario: Scenario, day: Day, every: int = 1, minutes: int = 120, by_naive: bool = False) -> Score:
    """Returns a day's score. A verdict uses the last `minutes` rows."""
    found = Score()
    for minute in range(minutes // 2, scenario.plan.minutes, every):
        hourly = minute % 60 == 0
        kinds = scenario.expected(minute) if scenario.expected else frozenset()
        if not hourly and not kinds:
            continue
        rows, now = day.until(minute, minutes), START + minute * MINUTE + AFTER
        verdict = naive(rows, scenario.facts, now) if by_naive else response(day, minute, scenario.facts, now, minutes)
        if kinds:
            found.right += verdict.kind in kinds
            if verdict.kind not in kinds:
                found.wrong[verdict.kind] += 1
        true = day.empty_after(minute)
        if hourly and day.visible[minute - 1] >= LEAST_BACKLOG and true and 5 <= true <= LONGEST_DRAIN:
            said = naive_drain(rows, now) if by_naive else minutes_until(verdict, now)
            found.drains.append((minute, said, true))
    return found


def response(day: Day, minute: int, facts: Facts, now: datetime, minutes: int) -> Verdict:
    """Returns the service's verdict from `minutes` rows, or from 25 hours if these rows are not enough."""
    verdict = judge(day.until(minute, minutes), facts, now)
    return judge(day.until(minute, 1500), facts, now) if is_asking_for_more(verdict) else verdict


def minutes_until(verdict: Verdict, now: datetime) -> float | None:
    return (verdict.empties.at - now) / MINUTE if verdict.empties else None


def main() -> None:
    seeds = [int(text) for text in sys.argv[1:]] or [1]
    totals = [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    for name, scenario in SCENARIOS.items():
        line = f"{name:32}"
        days = [simulate(scenario.plan, seed) for seed in seeds]
        for total, by_naive in zip(totals, (False, True), strict=True):
            scores = [score(scenario, day, by_naive=by_naive) for day in days]
            drains = [drain for found in scores for drain in found.drains]
            numbers = [
                sum(found.right for found in scores),
                sum(found.wrong.total() for found in scores),
                sum(is_close(said, true) for _, said, true in drains),
                sum(said is not None for _, said, _ in drains),
                len(drains),
            ]
            total[:] = [a + b for a, b in zip(total, numbers, strict=True)]
            wrong = ", ".join(f"{kind} {count}" for kind, count in sum((f.wrong for f in scores), Counter()).items())
            line += " | right {:5} wrong {:4} ({}) drains {} of {} answers, {} asked".format(
                *numbers[:2], wrong, *numbers[2:]
            )
        print(line)  # noqa: T201
    print(totals)  # noqa: T201


if __name__ == "__main__":
    main()


SCRAPE_SECONDS = 15
FOLDED_SECONDS = 10
"""The maximum age of stored counts: QUEUE_METRICS_INTERVAL_MS."""
READ_SECONDS = 10
"""The maximum age of shown verdicts: FRESH_SECONDS."""


def verdicts_of(day: Day, facts: Facts, start: int, end: int, every: int = SCRAPE_SECONDS) -> Iterator[Verdict]:
    """Yields the oldest possible verdict for each scrape from second `start` to `end`."""
    for second in range(start, end, every):
        judged = second - READ_SECONDS
        stored = (judged - FOLDED_SECONDS) // 5 * 5
        now = START + timedelta(seconds=judged)
        verdict = judge(day.at_second(stored), facts, now)
        yield judge(day.at_second(stored, 1500), facts, now) if is_asking_for_more(verdict) else verdict


def series_of(queue: str, verdicts: list[Verdict]) -> list[dict[str, str]]:
    """Returns the series in /metrics that the queue alerts need."""
    found = {
        build_verdict_series(queue, kind): ["1" if verdict.kind is kind else "_" for verdict in verdicts]
        for kind in Kind
    }  # fmt: skip
    found[f'penstock_queue_until_empty_seconds{{queue="{queue}"}}'] = ["600" if v.empties else "_" for v in verdicts]
    return [
        {"series": name, "values": " ".join(map(shorten, run_lengths(values)))}
        for name, values in found.items()
        if set(values) != {"_"}
    ]


def build_verdict_series(queue: str, kind: Kind) -> str:
    return f'penstock_queue_verdict{{queue="{queue}",verdict="{kind.value}"}}'


def run_lengths(values: list[str]) -> Iterator[tuple[str, int]]:
    for value, same in groupby(values):
        yield value, len(list(same))


def shorten(run: tuple[str, int]) -> str:
    """Returns promtool's short form: `1x3` is four samples."""
    value, length = run
    return f"{value}x{length}" if value == "_" else f"{value}x{length - 1}"
