"""A PostgreSQL that crashes under the job and starts again. docs/metrics_job.md, "When something breaks"."""

from __future__ import annotations

import os
import subprocess
import sys

import psycopg
import pytest

from penstock.postgres.migrations import migrate
from penstock_web.local.postgres import ROLE, Postgres, running_postgres, start
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.integration.jobs.test_job import CHANGING_CLOCKS, check_against_sql
from tests.support.database import memory_directory
from tests.support.jobs import history_generator
from tests.support.jobs.history_generator import Mixture
from tests.support.wait import wait_until

pytestmark = [pytest.mark.metrics, pytest.mark.slow, pytest.mark.xdist_group("spark")]

DAYS = [
    f"--from={CHANGING_CLOCKS.from_at.isoformat()}",
    f"--to={CHANGING_CLOCKS.to_at.isoformat()}",
    f"--zone={CHANGING_CLOCKS.timezone}",
]


def job(server: Postgres) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "penstock_web.cli", "metrics", "run", "--nice=0", *DAYS]
    variables = {**os.environ, "DATABASE_URL": server.service_dsn()}
    return subprocess.Popen(
        command, env=variables, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )


def has_begun(server: Postgres) -> bool:
    with psycopg.connect(server.service_dsn()) as connection:
        begun = "select exists (select from queue.metrics_run where finished_at is null)"
        return connection.execute(begun).fetchone() == (True,)


def test_a_run_is_tried_again_after_a_crash_of_the_database() -> None:
    account = SystemAccount.choose()
    with ephemeral_state(memory_directory()) as state, running_postgres(state, account) as server:
        migrate(server.service_dsn(), role=ROLE)
        with psycopg.connect(server.service_dsn(), autocommit=True) as connection:
            history_generator.write(connection, CHANGING_CLOCKS, Mixture(100_000))
        with job(server) as run:
            wait_until(lambda: has_begun(server))
            crashed = account.run(
                [server.binaries.path("pg_ctl"), "-w", "-D", server.data, "-m", "immediate", "stop"],
                log=account.write(state / "stop.log", ""),
            )
            assert crashed.returncode == 0
            again = start(state, account)
            _, said = run.communicate(timeout=1500)
        assert run.returncode == 0, said
        assert "; trying again in 5 s" in said  # the crash was not too late
        assert "Traceback" not in said
        with psycopg.connect(again.service_dsn(), autocommit=True) as connection:
            check_against_sql(connection, CHANGING_CLOCKS)
            runs = connection.execute(
                "select finished_at is not null, error from queue.metrics_run order by run_id"
            ).fetchall()
        assert runs == [(True, "the process ended before the run"), (True, None)]
