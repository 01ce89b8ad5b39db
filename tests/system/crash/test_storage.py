"""An acknowledged message survives kill -9 of the whole server; a deleted one stays deleted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import psycopg
import pytest

from penstock_web.local.binaries import Source
from penstock_web.local.postgres import Postgres, start
from penstock_web.system_account import SystemAccount
from tests.support.ledger import Ledger
from tests.support.sql.calls import Counts, counts, create, maintain
from tests.support.sql.server_crash import Round, drain, run_until_killed

ROUNDS = 3
SOURCE = cast("Source", os.environ.get("PENSTOCK_TEST_POSTGRES", "any"))


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
def test_acknowledged_messages_survive_a_crash(server: Postgres, state: Path, name: str) -> None:
    ledger = Ledger()
    with psycopg.connect(server.service_dsn(), autocommit=True) as db:
        arn = create(db, name, shards=2)
        on = "select current_setting('fsync') || current_setting('synchronous_commit')"
        assert db.execute(on).fetchone() == ("onon",)
    for number in range(ROUNDS):
        run_until_killed(server.data, Round(server.service_dsn(), arn, ledger, number), deletes=20)
        server = start(state, SystemAccount.choose(), SOURCE)
        assert not server.adopted
    with psycopg.connect(server.service_dsn(), autocommit=True) as db:
        drain(db, arn, ledger)
        maintain(db, arn)
        assert counts(db, arn) == Counts(0, 0, 0)
    findings = ledger.findings()
    assert findings.violations == {}
    assert findings.sent > ROUNDS * 20
    # Of each round at most one call an actor had no answer: 4 batches of 10.
    assert findings.unknown_sends <= ROUNDS * 40
    assert findings.unknown_deletes <= ROUNDS * 40
