"""The storage under senders, receivers and maintenance that fail in every way they can (see concurrent_use.py)."""

from __future__ import annotations

import pytest

from tests.support.database import Database
from tests.support.sql.calls import Counts
from tests.support.sql.concurrent_use import Outcome, Plan, run


def check(outcome: Outcome, plan: Plan) -> None:
    """Nothing lost, invented, handed out twice or in disorder; nothing left behind; each message ends once."""
    assert outcome.errors == []
    assert outcome.findings.violations == {}
    assert (outcome.findings.unknown_sends, outcome.findings.unknown_deletes) == (0, 0)
    assert outcome.counts == Counts(0, 0, 0)
    cursors = 0 if plan.groups else plan.shards
    assert outcome.rows == {"log": 0, "lease": cursors, "side": 0, "hole": 0, "deferred": 0}
    assert sum(outcome.history.values()) == outcome.findings.sent > plan.messages // 2
    assert outcome.history.get("dead_lettered", 0) == outcome.moved


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Plan(1500), id="standard"),
        pytest.param(Plan(600, maximum=2), id="standard-dead-letters"),
        pytest.param(Plan(1500, tenants=20), id="fair"),
        pytest.param(Plan(600, tenants=3, shards=1, maximum=2), id="fair-dead-letters"),
        pytest.param(Plan(500, groups=20, receivers=8, crash_rate=0.01), id="fifo-20-groups"),
        pytest.param(Plan(100, groups=1, receivers=8, crash_rate=0.01), id="fifo-1-group"),
        pytest.param(Plan(300, groups=20, receivers=8, maximum=2, crash_rate=0.03), id="fifo-dead-letters"),
    ],
)
def test_nothing_is_lost_doubled_or_disordered(database: Database, plan: Plan) -> None:
    check(run(database.api_dsn, plan), plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Plan(100_000, senders=6, receivers=6, shards=4), id="standard"),
        pytest.param(Plan(20_000, senders=6, receivers=8, shards=2, maximum=2), id="standard-dead-letters"),
        pytest.param(Plan(60_000, senders=6, receivers=6, shards=2, tenants=20), id="fair"),
        pytest.param(Plan(20_000, groups=20, receivers=8, crash_rate=0.005), id="fifo-20-groups"),
        pytest.param(Plan(5_000, groups=20, receivers=8, maximum=2, crash_rate=0.02), id="fifo-dead-letters"),
    ],
)
def test_nothing_is_lost_doubled_or_disordered_in_a_long_run(database: Database, plan: Plan) -> None:
    check(run(database.api_dsn, plan), plan)
