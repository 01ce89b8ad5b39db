"""Tests the worker's loops: the container's loop sleeps until a notification wakes it, and the function's loop runs for
a minute."""

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import psycopg
import pytest

from penstock.observing.observer import Observer
from penstock.postgres.statements.events import BIND
from penstock.postgres.statements.firing import CLAIM_SCHEDULES, NEXT_LATER_SCHEDULE
from penstock.settings import Settings
from penstock.workers.fire import Firer, pause_seconds
from tests.integration.scheduler.conftest import Fire
from tests.support.database import Database
from tests.support.functions.server import Functions
from tests.support.programs.penstock_service import running_service, until_row
from tests.support.schedules.rows import (
    ACCOUNT,
    REGION,
    Hour,
    call,
    now,
    pass_time,
    put,
    read,
    received,
    scheduled_for,
    value,
)
from tests.support.sql.calls import Connection, call_pattern
from tests.support.wait import wait_until


@pytest.fixture(autouse=True)
def _jobs(db: Connection) -> None:
    db.execute("select queue.create('jobs')")


def once(db: Connection, name: str, seconds: float) -> None:
    """Creates a one-time schedule that is due in the given number of seconds."""
    at = now(db) + timedelta(seconds=seconds)
    put(db, name, at, expression_kind="fire_at")


# --- the container ---------------------------------------------------------------------------------------------------
@pytest.fixture
def _service(database: Database) -> Iterator[None]:
    """Runs a process that reads schedules once an hour, and earlier if a schedule is due or a notification wakes it."""
    with running_service(database.api_dsn, QUEUE_SCHEDULE_POLL_MS="3600000"):
        # The process has read the schedules and now waits for notifications.
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
def test_the_worker_wakes_when_the_next_schedule_is_due(db: Connection, database: Database) -> None:
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


# --- firing limits ---------------------------------------------------------------------------------------------------
# Tests the limits on firing: the rate for each account, and the jitter of schedules.


# --- firings a second ------------------------------------------------------------------------------------------------
def put_as(db: Connection, account_id: str, name: str, at: datetime) -> None:
    put(db, name, at)
    db.execute("update queue.schedule set account_id = %s where name = %s", (account_id, name))


def test_an_account_fires_no_more_in_a_second_and_the_rest_later(
    db: Connection, connect_other: Connection, hour: Hour
) -> None:
    """The schedules of another account fire immediately ("Quotas for Amazon EventBridge Scheduler")."""
    for n in range(8):
        put(db, f"mine{n}", hour())
    put_as(db, "111122223333", "other", hour())

    def claim(most: int) -> int:
        """Claims and fires up to ten schedules. Returns the number of the first account's schedules that fired."""
        with db.transaction():
            claimed = [row.schedule_id for row in call(db, CLAIM_SCHEDULES, 10, most)]
            db.execute(
                "select queue.record_firings(array_agg(account_id), array_agg(1)) from queue.schedule"
                " where schedule_id = any (%s)",
                (claimed,),
            )
            moved = db.execute(
                "update queue.schedule set due_at = due_at + interval '1 h' where schedule_id = any (%s)"
                " returning account_id",
                (claimed,),
            )
            accounts = [account for (account,) in moved]
            assert ("111122223333" in accounts) == (not fired)
            return accounts.count(ACCOUNT)

    fired: list[int] = []
    fired.append(claim(3))
    fired.append(claim(3))
    assert fired == [3, 0]
    db.execute("update queue.recent_firing set fired_at = fired_at - interval '1 s'")
    fired.append(claim(3))
    assert fired[-1] == 3
    fired.append(claim(0))
    assert fired[-1] == 2  # no quota applies


def test_the_worker_keeps_to_the_quota_and_fires_everything(db: Connection, fire: Fire, hour: Hour) -> None:
    for n in range(3):
        put(db, f"s{n}", hour(), catchup=True)
    assert fire(quota_firings_per_second=2)["fired"] == 3
    seconds = value(db, "select extract(epoch from max(fired_at) - min(fired_at)) from queue.schedule_run")
    # The pause is almost a second long, because the quota counts a firing before the worker records it.
    assert seconds > 0.9


def test_a_schedule_that_cannot_fire_hides_no_other(db: Connection, hour: Hour) -> None:
    put(db, "due", hour())
    assert call(db, NEXT_LATER_SCHEDULE)[0].ms is None
    put(db, "later", hour())
    db.execute("update queue.schedule set due_at = clock_timestamp() + interval '20 s' where name = 'later'")
    (later,) = call(db, NEXT_LATER_SCHEDULE)
    assert later.ms is not None
    assert 0 < later.ms <= 20_000
    assert [pause_seconds(seconds) for seconds in (None, 20.0, 0.02, 0.0)] == [0.05, 0.05, 0.02, 0.005]


def test_retries_count_too(db: Connection, hour: Hour) -> None:
    put(db, "s", hour())
    db.execute("select queue.record_firings(array[%s], array[5])", (ACCOUNT,))
    with db.transaction():
        assert call(db, CLAIM_SCHEDULES, 10, 5) == []
        assert len(call(db, CLAIM_SCHEDULES, 10, 6)) == 1


def test_an_account_with_too_many_deliveries_fires_later_and_is_not_paused(
    db: Connection, fire: Fire, hour: Hour
) -> None:
    call(db, BIND, ACCOUNT, REGION, "news", "https", "https://example.com/", False, None, None, None)
    db.execute("select from queue.publish_events(%s, %s, 'news', '{}', null, null, null)", (ACCOUNT, REGION))
    db.execute("select queue.find_delivery_excess(1)")
    put(db, "s", hour(), target={"topic": "news", "message": {}}, catchup=True, failure_threshold=1)
    counts = fire()
    assert (counts["fired"], counts["failed"], counts["busy"]) == (0, 0, 1)
    row = read(db, "s")
    assert row is not None
    assert (row["status"], row["consecutive_failures"]) == ("active", 0)
    assert row["last_error"] == f"too many deliveries of account {ACCOUNT} wait"
    db.execute("delete from queue.outgoing_delivery")
    db.execute("select queue.find_delivery_excess(1)")
    pass_time(db, 11)
    assert fire()["fired"] == 1


# --- jitter ----------------------------------------------------------------------------------------------------------
def test_jitter_moves_the_firing_and_not_the_occurrence(db: Connection, hour: Hour) -> None:
    at = hour(1)
    offsets = set()
    for n in range(50):
        row, *_ = put(db, f"s{n}", at, jitter_seconds=600)
        offset = datetime.fromisoformat(row["due_at"]) - datetime.fromisoformat(row["next_fire_at"])
        assert timedelta() <= offset < timedelta(seconds=600)
        offsets.add(offset)
    assert len(offsets) > 40
    assert max(offsets) - min(offsets) > timedelta(seconds=300)


def test_an_occurrence_waits_for_its_jitter(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    put(db, "s", at, jitter_seconds=3600)
    db.execute("update queue.schedule set due_at = clock_timestamp() + interval '10 minutes'")
    assert fire()["fired"] == 0
    pass_time(db, 600)
    assert fire()["fired"] == 1
    assert scheduled_for(db, "jobs") == [at]


def test_jitter_beyond_the_period_loses_nothing(db: Connection, fire: Fire, hour: Hour) -> None:
    """An occurrence is late after its jitter ends, and occurrences fire in order."""
    at = hour() + timedelta(minutes=10)
    put(db, "s", at, canonical="* * * * *", jitter_seconds=600)
    fire(queue_schedule_misfire_grace_seconds=1200)
    times = scheduled_for(db, "jobs")
    assert times[:10] == [at + timedelta(minutes=n) for n in range(10)]
    assert times == sorted(set(times))
    row = read(db, "s")
    assert row is not None
    assert row["next_fire_at"] == times[-1] + timedelta(minutes=1)


# --- observer --------------------------------------------------------------------------------------------------------
# Tests the events that the worker reports while it fires.

HOUR = timedelta(hours=1)


class Heard(Observer):
    """Records the reports."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.counts: Counter[str] = Counter()

    def fired(self, late_seconds: float) -> None:
        self.late.append(late_seconds)

    def counted(self, counts: Mapping[str, int]) -> None:
        self.counts.update(counts)


def test_how_late_each_occurrence_fires_and_what_became_of_it(database: Database, db: Connection, hour: Hour) -> None:
    """The report omits occurrences with a flexible window, because such an occurrence is never late."""
    db.execute("select queue.create('jobs')")
    put(db, "late", hour() - HOUR, catchup=True)
    put(db, "any time", hour() - HOUR, catchup=True, jitter_seconds=30)
    pass_time(db, 60)
    heard = Heard()
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        counts = Firer(60, continues=False, observer=heard).run_once(Settings.read({}), connection)
    assert counts["fired"] == 4
    assert heard.counts == Counter(dict(counts))
    assert len(heard.late) == 2
    assert max(heard.late) - min(heard.late) == pytest.approx(3600)
    assert min(heard.late) >= 0
