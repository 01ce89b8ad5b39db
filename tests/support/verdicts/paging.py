"""What Prometheus would have scraped on a made-up day, in the form of promtool's unit tests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import groupby

from penstock.verdicts import Facts, Kind, Verdict, asks_for_more, judge

from .simulation import START, Day

SCRAPE_SECONDS = 15
FOLDED_SECONDS = 10
"""Stored counts are as old as this at most: QUEUE_METRICS_INTERVAL_MS."""
READ_SECONDS = 10
"""Verdicts that are shown are as old as this at most: FRESH_SECONDS."""


def verdicts_of(
    day: Day, facts: Facts, start: int, end: int, every: int = SCRAPE_SECONDS
) -> Iterator[Verdict]:
    """The verdict that each scrape shows, from second `start` to `end` of the day: the oldest that is possible."""
    for second in range(start, end, every):
        judged = second - READ_SECONDS
        stored = (judged - FOLDED_SECONDS) // 5 * 5
        now = START + timedelta(seconds=judged)
        verdict = judge(day.at_second(stored), facts, now)
        yield judge(day.at_second(stored, 1500), facts, now) if asks_for_more(verdict) else verdict


def series_of(queue: str, verdicts: list[Verdict]) -> list[dict[str, str]]:
    """The series of /metrics that the alerts on queues need."""
    found = {
        verdict_series(queue, kind): ["1" if verdict.kind is kind else "_" for verdict in verdicts]
        for kind in Kind
    }  # fmt: skip
    found[f'penstock_queue_until_empty_seconds{{queue="{queue}"}}'] = [
        "600" if v.empties else "_" for v in verdicts
    ]
    return [
        {"series": name, "values": " ".join(map(shorten, run_lengths(values)))}
        for name, values in found.items()
        if set(values) != {"_"}
    ]


def verdict_series(queue: str, kind: Kind) -> str:
    return f'penstock_queue_verdict{{queue="{queue}",verdict="{kind.value}"}}'


def run_lengths(values: list[str]) -> Iterator[tuple[str, int]]:
    for value, same in groupby(values):
        yield value, len(list(same))


def shorten(run: tuple[str, int]) -> str:
    """promtool's short form: `1x3` is four samples."""
    value, length = run
    return f"{value}x{length}" if value == "_" else f"{value}x{length - 1}"
