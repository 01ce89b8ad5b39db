"""Commits beside each other: alternating order, a first round that does not count, and the quotients' medians.

The host-load host: figures of a busy machine are marked, waited for, or not taken.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.measure import host
from benchmarks.measure.cpu import Reading
from benchmarks.measure.host import HostLoad
from benchmarks.measure.outcome import Latency, Outcome, Plan
from benchmarks.revisions import Cost, append_round, compare, places, plans, report
from benchmarks.scenarios import SCENARIOS, Scenario

PLAN = Plan(16, 1000, 100)
SEND = SCENARIOS["send_1"]


class Service:
    """Each run costs what the next of `costs` says, in seconds of CPU."""

    def __init__(self, name: str, order: list[str], *costs: float, bad_answers: int = 0) -> None:
        self.name, self.order, self.costs, self.bad_answers = name, order, list(costs), bad_answers

    def run(self, scenario: Scenario, plan: Plan) -> Outcome:
        self.order.append(self.name)
        before, after = Reading({"service": 1.0}, 0, 0), Reading({"service": 1.0 + self.costs.pop(0)}, 9, 9)
        latency = Latency(1, 1, 1)
        outcome = Outcome(
            "penstock", scenario.name, plan, plan.messages, 1.0, 1, 1, latency, 0, before, after
        )
        outcome.bad_answers = self.bad_answers
        return outcome


def costs_of(rounds: int, *services: Service) -> list[list[float]]:
    found = compare(SEND, PLAN, cast("Any", services), rounds)
    return [[cost.cpu_seconds for cost in costs] for costs in found]


def test_the_order_changes_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    found = costs_of(2, Service("base", order, 99, 1, 2), Service("new", order, 99, 3, 4))
    assert order == ["base", "new", "base", "new", "new", "base"]
    assert [pytest.approx(pair) for pair in found] == [[1.0, 3.0], [2.0, 4.0]]


def test_the_costs_of_several_are_in_the_order_of_the_command() -> None:
    order: list[str] = []
    found = costs_of(2, *(Service(name, order, 99, int(name), int(name) * 10) for name in "123"))
    assert order[3:] == ["1", "2", "3", "3", "2", "1"]
    assert [pytest.approx(costs) for costs in found] == [[1, 2, 3], [10, 20, 30]]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_each_runs_equally_often_in_each_place_and_before_and_after_each_other(count: int) -> None:
    orders = [places(count, number) for number in range(2 * count)]
    assert [sorted(column) for column in zip(*orders, strict=True)] == [
        sorted([*range(count)] * 2) for _ in range(count)
    ]
    for one in range(count):
        for other in range(one):
            assert sum(order.index(one) < order.index(other) for order in orders) == count


def test_a_run_that_is_not_clean_has_no_cost() -> None:
    order: list[str] = []
    with pytest.raises(ValueError, match="send_1"):
        costs_of(1, Service("base", order, 1, bad_answers=1), Service("new", order, 1))


def test_idle_latency_has_one_plan() -> None:
    assert [plan.connections for plan in plans(SEND, [16, 64], 1000, 50)] == [16, 64]
    idle = plans(SCENARIOS["idle_latency"], [16, 64], 1000, 50)
    assert [(plan.connections, plan.idle_samples) for plan in idle] == [(2, 50)]


def test_a_line_for_each_new_says_medians_and_quartiles(capsys: pytest.CaptureFixture[str]) -> None:
    costs = [(1.0, 1.1, 2.0), (1.0, 1.2, 2.0), (2.0, 2.6, 4.0)]
    report(
        SEND, PLAN, ["base", "one", "two"], [[Cost(cpu, cpu * 2, cpu * 3) for cpu in row] for row in costs]
    )
    one, two = (line.split() for line in capsys.readouterr().out.splitlines())
    assert one[:9] == ["send_1", "16", "connections", "one", "1.0000", "1.2000", "1.200", "(1.100", "to"]
    assert one[9:] == ["1.300)", "p50", "2.00", "2.40", "ms", "p99", "3.00", "3.60", "ms"]
    assert two[3:] == [
        *("two", "1.0000", "2.0000", "2.000", "(2.000", "to", "2.000)"),
        *("p50", "2.00", "4.00", "ms", "p99", "3.00", "6.00", "ms"),
    ]


def test_a_round_is_a_line_of_the_log(tmp_path: Path) -> None:
    append_round(None, SEND, PLAN, ["base", "new"], [Cost(1, 2, 3), Cost(4, 5, 6)])
    for _ in range(2):
        append_round(tmp_path / "log", SEND, PLAN, ["base", "new"], [Cost(1, 2, 3), Cost(4, 5, 6)])
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert (
        lines
        == [
            {
                "scenario": "send_1",
                "connections": 16,
                "costs": [
                    {"revision": "base", "cpu_seconds": 1, "p50_ms": 2, "p99_ms": 3},
                    {"revision": "new", "cpu_seconds": 4, "p50_ms": 5, "p99_ms": 6},
                ],
            }
        ]
        * 2
    )


BUSY, QUIET = HostLoad(0.5, 3.0), HostLoad(0.02, 0.1)


def loads(monkeypatch: pytest.MonkeyPatch, *found: HostLoad) -> list[float]:
    """The loads that are seen one after the other; the pauses between them."""
    seen, pauses = iter(found), list[float]()
    monkeypatch.setattr(host, "host_load", lambda: next(seen))
    monkeypatch.setattr("benchmarks.measure.host.time.sleep", pauses.append)
    return pauses


@pytest.mark.parametrize("when_busy", ["mark", "wait", "refuse"])
def test_a_quiet_host_passes(monkeypatch: pytest.MonkeyPatch, when_busy: str) -> None:
    pauses = loads(monkeypatch, QUIET)
    assert host.check_host_load(when_busy) == QUIET
    assert pauses == []


def test_a_busy_host_is_marked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    loads(monkeypatch, BUSY)
    assert host.check_host_load("mark").busy
    assert "busy (50% of all cores)" in capsys.readouterr().err


def test_a_busy_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loads(monkeypatch, BUSY)
    with pytest.raises(host.BusyHostError):
        host.check_host_load("refuse")


def test_a_busy_host_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = loads(monkeypatch, BUSY, BUSY, QUIET)
    assert host.check_host_load("wait") == QUIET
    assert len(pauses) == 2
