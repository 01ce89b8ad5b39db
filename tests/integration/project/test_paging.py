"""How soon a dead consumer pages, and that healthy queues never do: promtool on what /metrics shows of made-up days.

A scrape shows the oldest minutes and the oldest verdict that are possible. The bounds are those of docs/operations.md:
a page within three minutes of the end of a consumer, and none for a queue that is healthy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.verdicts import Facts
from tests.support.promtool import check
from tests.support.verdicts.days import SCENARIOS
from tests.support.verdicts.paging import series_of, verdicts_of
from tests.support.verdicts.simulation import Plan, simulate

RULES = Path(__file__).parents[3] / "infra/container/prometheus/alerts.yaml"
DIES_AT = 90  # minutes; a fraction of one is added
WITHIN = 180

# Consumers that end at a time of the day, in minutes: of a busy queue, of a quiet one, of one whose messages in flight
# stay there, and of one that had always been behind.
DYING: dict[str, Callable[[float], Plan]] = {
    "busy": lambda end: Plan(lambda _: 300, lambda m, _: 0 if m >= end else 10, lambda _: 1.5),
    "quiet": lambda end: Plan(lambda _: 3, lambda m, _: 0 if m >= end else 1, lambda _: 1),
    "long-timeout": lambda end: Plan(
        lambda _: 300, lambda m, _: 0 if m >= end else 10, lambda _: 1.5, visibility_seconds=43_200
    ),
    "behind": lambda end: Plan(lambda _: 500, lambda m, _: 0 if m >= end else 10, lambda _: 1.5),
}
HEALTHY = (
    "steady",
    "quiet",
    "idle",
    "slow handlers by nature",
    "diurnal, enough",
    "hourly batch",
    "autoscaled",
)


def run(tmp_path: Path, interval: str, series: list[dict[str, str]], tests: list[dict[str, Any]]) -> str:
    file = tmp_path / "paging.yaml"
    test = {"interval": interval, "input_series": series, "promql_expr_test": tests}
    content = {"rule_files": [str(RULES)], "evaluation_interval": interval, "tests": [test]}
    file.write_text(yaml.safe_dump(content))
    return check("test", "rules", file)


@pytest.mark.parametrize("fraction", [0, 20, 40])
def test_a_dead_consumer_pages_within_three_minutes(tmp_path: Path, fraction: int) -> None:
    death = DIES_AT * 60 + fraction
    start, series = death - 1200, []
    for name, plan in DYING.items():
        made = plan(death / 60)
        made.minutes, made.partial_seconds = DIES_AT + 10, 5
        verdicts = list(verdicts_of(simulate(made), Facts(), start // 15 * 15, death + 400))
        series += series_of(name, verdicts)
    fires = 'sort_desc(count by (queue) (ALERTS{alertname="PenstockNobodyReceives",alertstate="firing"}))'
    begin = start // 15 * 15
    tests: list[dict[str, Any]] = [
        {"expr": fires, "eval_time": f"{death - begin + 30}s", "exp_samples": []},
        {
            "expr": fires,
            "eval_time": f"{(death - begin + WITHIN) // 15 * 15}s",
            "exp_samples": [{"labels": f'{{queue="{name}"}}', "value": 1} for name in DYING],
        },
    ]
    assert "SUCCESS" in run(tmp_path, "15s", series, tests)


def test_healthy_queues_page_nobody(tmp_path: Path) -> None:
    series = []
    for name in HEALTHY:
        scenario = SCENARIOS[name]
        day = simulate(scenario.plan)
        minutes = range(600, 900, 2)
        verdicts = list(verdicts_of(day, scenario.facts, minutes.start * 60, minutes.stop * 60, 120))
        series += series_of(name, verdicts)
    paged = 'count_over_time(ALERTS{alertstate="firing",severity="page",queue!=""}[1d])'
    assert "SUCCESS" in run(tmp_path, "2m", series, [{"expr": paged, "eval_time": "300m", "exp_samples": []}])
