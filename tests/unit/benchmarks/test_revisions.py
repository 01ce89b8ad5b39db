"""Two commits beside each other: alternating order, a first round that does not count, and the quotient's median."""

from __future__ import annotations

from typing import Any, cast

import pytest

from benchmarks.measure.cpu import Reading
from benchmarks.measure.outcome import Latency, Outcome, Plan
from benchmarks.revisions import compare, report
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


def costs_of(base: Service, new: Service, rounds: int) -> list[tuple[float, float]]:
    return list(compare(SEND, PLAN, cast("Any", base), cast("Any", new), rounds))


def test_the_order_changes_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    found = costs_of(Service("base", order, 99, 1, 2), Service("new", order, 99, 3, 4), 2)
    assert order == ["base", "new", "new", "base", "base", "new"]
    assert [pytest.approx(pair) for pair in found] == [(1.0, 3.0), (2.0, 4.0)]


def test_a_run_that_is_not_clean_has_no_cost() -> None:
    order: list[str] = []
    with pytest.raises(ValueError, match="send_1"):
        costs_of(Service("base", order, 1, bad_answers=1), Service("new", order, 1), 1)


def test_the_line_says_medians_and_quartiles(capsys: pytest.CaptureFixture[str]) -> None:
    report(SEND, 16, [(1.0, 1.1), (1.0, 1.2), (2.0, 2.6)])
    words = capsys.readouterr().out.split()
    assert words == ["send_1", "16", "connections", "1.0000", "1.2000", "1.200", "(1.100", "to", "1.300)"]
