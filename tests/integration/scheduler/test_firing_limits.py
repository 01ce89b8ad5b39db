"""Tests the limits of firing: the number of firings in a second, and the jitter of schedules."""

from datetime import datetime, timedelta

import pytest

from penstock.postgres.statements.events import BIND
from penstock.postgres.statements.firing import CLAIM_SCHEDULES, NEXT_LATER_SCHEDULE
from penstock.workers.fire import pause_seconds
from tests.integration.scheduler.conftest import Fire
from tests.support.schedules.rows import ACCOUNT, REGION, Hour, call, pass_time, put, read, scheduled_for, value
from tests.support.sql.calls import Connection


@pytest.fixture(autouse=True)
def _jobs(db: Connection) -> None:
    db.execute("select queue.create('jobs')")


# --- firings a second ------------------------------------------------------------------------------------------------
def put_as(db: Connection, account_id: str, name: str, at: datetime) -> None:
    put(db, name, at)
    db.execute("update queue.schedule set account_id = %s where name = %s", (account_id, name))


def test_an_account_fires_no_more_in_a_second_and_the_rest_later(
    db: Connection, connect_other: Connection, hour: Hour
) -> None:
    """Another account's schedules fire at once ("Quotas for Amazon EventBridge Scheduler")."""
    for n in range(8):
        put(db, f"mine{n}", hour())
    put_as(db, "111122223333", "other", hour())

    def claim(most: int) -> int:
        """Claims and fires up to ten. Returns the number of fired schedules of this account."""
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
    # The pause is nearly a second, because a firing is counted before it is recorded.
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
    """An occurrence is late from the end of its jitter on, and occurrences fire in their order."""
    at = hour() + timedelta(minutes=10)
    put(db, "s", at, canonical="* * * * *", jitter_seconds=600)
    fire(queue_schedule_misfire_grace_seconds=1200)
    times = scheduled_for(db, "jobs")
    assert times[:10] == [at + timedelta(minutes=n) for n in range(10)]
    assert times == sorted(set(times))
    row = read(db, "s")
    assert row is not None
    assert row["next_fire_at"] == times[-1] + timedelta(minutes=1)
