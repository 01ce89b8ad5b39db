"""Tests the worker's loops: the container's loop sleeps until something wakes it, and the function's loop runs for a
minute.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from penstock.settings import Settings
from penstock.workers.fire import Firer
from tests.integration.scheduler.conftest import Fire
from tests.support.database import Database
from tests.support.functions.server import Functions
from tests.support.programs.penstock_service import running_service, until_row
from tests.support.schedules.rows import Hour, now, put, read, received, value
from tests.support.sql.calls import Connection, call_pattern
from tests.support.wait import wait_until


@pytest.fixture(autouse=True)
def _jobs(db: Connection) -> None:
    db.execute("select queue.create('jobs')")


def once(db: Connection, name: str, seconds: float) -> None:
    """Creates a one-time schedule that is due in this many seconds."""
    at = now(db) + timedelta(seconds=seconds)
    put(db, name, at, expression_kind="fire_at")


# --- the container ---------------------------------------------------------------------------------------------------
@pytest.fixture
def _service(database: Database) -> Iterator[None]:
    """Runs a process that reads schedules once an hour, unless a schedule is due or a notification wakes the
    process.
    """
    with running_service(database.api_dsn, QUEUE_SCHEDULE_POLL_MS="3600000"):
        # The process has read the schedules, and now sleeps and listens for notifications.
        until_row(database.dsn, looked("queue.next_schedule"))
        until_row(database.dsn, looked("queue.due_work"))
        yield


def looked(function: str) -> str:
    return f"select from pg_stat_activity where query ~ '{call_pattern(function)}' and state = 'idle'"


@pytest.mark.usefixtures("_service")
def test_a_nearer_schedule_wakes_a_sleeping_worker(db: Connection, database: Database) -> None:
    once(db, "later", 300)
    once(db, "sooner", 0.2)
    until_row(database.dsn, "select from queue.log where body ~ 'it'")
    assert [headers["_schedule"]["name"] for _, headers in received(db, "jobs")] == ["sooner"]


@pytest.mark.usefixtures("_service")
def test_it_wakes_by_itself_when_the_next_one_is_due(db: Connection, database: Database) -> None:
    for n in range(3):
        once(db, f"s{n}", 0.3 * (n + 1))
    until_row(database.dsn, "select from queue.schedule_run offset 2")
    lags = db.execute("select fired_at - scheduled_for from queue.schedule_run").fetchall()
    assert all(timedelta() <= lag < timedelta(minutes=5) for (lag,) in lags)


def test_without_the_setting_nothing_fires(db: Connection, fire: Fire, hour: Hour) -> None:
    put(db, "s", hour(), catchup=True)
    assert not any(fire(queue_schedule_enabled=False).values())
    assert fire()["fired"] == 1


# --- the function ----------------------------------------------------------------------------------------------------
def test_a_run_stays_for_what_is_due_before_it_ends(db: Connection, database: Database) -> None:
    once(db, "soon", 0.5)
    once(db, "later", 300)
    with psycopg.connect(database.pooled_dsn, autocommit=True, prepare_threshold=None) as connection:
        firer = Firer(longest_run_seconds=60)
        assert firer.run_once(Settings.read({}), connection)["fired"] == 1
    assert firer.wait_ms is not None
    assert 200_000 < firer.wait_ms <= 300_000
    assert value(db, "select fired_at >= scheduled_for from queue.schedule_run") is True


def test_a_run_that_waits_notices_a_nearer_schedule(db: Connection, database: Database) -> None:
    """No process can wake a function."""
    once(db, "far", 3000)
    firer = Firer(longest_run_seconds=3600)
    settings = Settings.read({}, queue_schedule_poll_ms=10)
    with (
        psycopg.connect(database.pooled_dsn, autocommit=True, prepare_threshold=None) as connection,
        ThreadPoolExecutor(1) as thread,
    ):
        run = thread.submit(firer.run_once, settings, connection)
        try:
            wait_until(lambda: firer.wait_ms is not None)
            once(db, "near", 0)
            wait_until(lambda: value(db, "select count(*) from queue.schedule_run") == 1)
            assert not run.done()
        finally:
            firer.stop()
    assert run.result()["fired"] == 1


def test_the_function_answers_its_counts(db: Connection, database: Database, hour: Hour) -> None:
    put(db, "s", hour(), catchup=True)
    put(db, "failing", hour(), catchup=True, failure_threshold=1, target={"queue": "missing", "message": 1})
    with Functions(database.pooled_dsn) as functions:
        counts = functions.invoke("fire_schedules", {"version": "0", "source": "aws.scheduler"})
    assert counts == {"fired": 1, "skipped": 0, "failed": 1, "busy": 0, "exhausted": 0}
    assert read(db, "s") is not None


def test_a_run_that_is_stopped_claims_nothing(db: Connection, hour: Hour) -> None:
    put(db, "s", hour(), catchup=True)
    firer = Firer()
    firer.stop()
    assert not any(firer.run_once(Settings.read({}), db).values())
    assert received(db, "jobs") == []
