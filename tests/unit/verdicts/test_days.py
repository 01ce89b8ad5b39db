"""Verdicts on whole made-up days, whose truth is known: see tests/support/verdicts."""

from __future__ import annotations

import pytest

from tests.support.verdicts.days import SCENARIOS
from tests.support.verdicts.recorded import scores
from tests.support.verdicts.score import Score, is_close, score
from tests.support.verdicts.simulation import simulate

EVERY_MINUTES = 12
JUDGED = {name: scenario for name, scenario in SCENARIOS.items() if scenario.expected}
DRAINING = ("diurnal, too few at the peak", "outage, long drain", "autoscaled, too little")
RIGHT_ANSWERS = 0.8


@pytest.mark.parametrize("name", JUDGED)
def test_a_day_gets_the_verdicts_that_it_deserves(name: str) -> None:
    """At the border of two verdicts any is right."""
    found = score(JUDGED[name], simulate(JUDGED[name].plan), every=EVERY_MINUTES)
    assert found.right > 0
    assert found.wrong.total() <= 0.01 * found.right, found.wrong


def test_a_backlog_is_gone_when_it_was_said_to_be() -> None:
    """Four of five hourly answers are within a fifth of the truth, of queues empty within five hours."""
    days = [(SCENARIOS[name], simulate(SCENARIOS[name].plan)) for name in DRAINING]
    answers = [answer for scenario, day in days for answer in score(scenario, day, every=60).drains]
    close = sum(is_close(said, true) for _, said, true in answers)
    assert len(answers) >= 15
    assert close >= RIGHT_ANSWERS * len(answers), answers


def test_the_score_would_notice() -> None:
    """A naive rule is wrong on a day on which a batch comes every hour."""
    scenario = SCENARIOS["hourly batch"]
    found: Score = score(scenario, simulate(scenario.plan), every=2, by_naive=True)
    assert found.wrong.total() > 0.1 * found.right


def test_recorded_runs_of_the_benchmarks() -> None:
    verdicts, naive = scores()
    assert not verdicts.wrong
    assert verdicts.right > naive.right + 5
    assert all(verdicts.drains)
    assert verdicts.drains
