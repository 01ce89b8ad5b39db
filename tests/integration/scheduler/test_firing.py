"""Tests how the REST API's schedules fire (docs/reference/schedules.md)."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.postgres.statements.events import BIND
from penstock.postgres.statements.firing import CLAIM_SCHEDULES
from penstock.postgres.statements.schedules import LIST_SCHEDULE_RUNS, RUN_SCHEDULE
from tests.integration.scheduler.conftest import Fire
from tests.support.schedules.rows import (
    ACCOUNT,
    GROUP,
    REGION,
    Hour,
    Row,
    call,
    now,
    pass_time,
    put,
    read,
    received,
    runs,
    scheduled_for,
    value,
)
from tests.support.sql.calls import Connection

pytestmark = pytest.mark.emptied

HOUR = timedelta(hours=1)
LONG_GRACE = 100_000


@pytest.fixture(autouse=True)
def _jobs(db: Connection) -> None:
    db.execute("select queue.create('jobs')")


def test_simple_ones_fire_together(db: Connection, fire: Fire, hour: Hour) -> None:
    """The schedules fire in one statement. With a savepoint for each schedule, the rows would have different xmin
    values. After a schedule fails, each schedule of the batch fires in a savepoint.
    """
    written_in = "select count(distinct xmin::text) from queue.schedule_run where fired_at is not null"
    for name in ("a", "b"):
        put(db, name, hour(), catchup=True)
    assert fire()["fired"] == 2
    assert value(db, written_in) == 1
    for name in ("c", "d"):
        put(db, name, hour(), catchup=True)
    put(db, "e", hour(), catchup=True, target={"queue": "unknown", "message": {}})
    assert fire()["fired"] == 2
    assert value(db, written_in) == 3


def write(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


# --- one occurrence --------------------------------------------------------------------------------------------------
def test_a_due_schedule_fires_once_and_moves_on(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    put(db, "hourly", at)
    assert fire(queue_schedule_misfire_grace_seconds=LONG_GRACE)["fired"] == 1
    ((message, headers),) = received(db, "jobs")
    assert message == {"do": "it"}
    assert headers == {"_schedule": {"name": "hourly", "scheduled_for": write(at), "out_of_band": False}}
    row = read(db, "hourly")
    assert row is not None
    assert (row["next_fire_at"], row["due_at"]) == (at + HOUR, at + HOUR)
    assert (row["fire_count"], row["consecutive_failures"], row["last_error"]) == (1, 0, None)
    assert abs(row["last_fired_at"] - now(db)) < timedelta(minutes=5)
    assert runs(db, "hourly") == [(at, False, 1, True, None)]
    assert fire()["fired"] == 0


def test_a_schedule_that_is_not_due_or_paused_does_not_fire(db: Connection, fire: Fire, hour: Hour) -> None:
    put(db, "future", hour(1))
    put(db, "paused", hour(), status="paused")
    assert not any(fire(queue_schedule_misfire_grace_seconds=LONG_GRACE).values())
    assert received(db, "jobs") == []


def test_the_headers_of_the_user_are_kept(db: Connection, fire: Fire, hour: Hour) -> None:
    put(db, "s", hour(-2), expression_kind="fire_at", target={"queue": "jobs", "message": [1], "headers": {"a": "b"}})
    fire()
    ((message, headers),) = received(db, "jobs")
    assert message == [1]
    assert headers["a"] == "b"
    assert headers["_schedule"]["name"] == "s"


def test_a_fifo_queue_gets_the_name_as_group(db: Connection, fire: Fire, hour: Hour) -> None:
    db.execute("select queue.create_fifo('lines.fifo')")
    put(db, "s", hour(-3), catchup=True,
        target={"queue": "lines.fifo", "message": {"same": "each time"}})  # fmt: skip
    assert fire()["fired"] == 4
    groups = value(db, "select array_agg(system ->> 'MessageGroupId') from queue.fifo_message where body ~ 'same'")
    assert groups == ["s"] * 4


def test_a_topic_reaches_queues_and_urls_in_one_transaction(db: Connection, fire: Fire, hour: Hour) -> None:
    db.execute("select queue.create('other')")
    for queue in ("jobs", "other"):
        db.execute("select queue.subscribe('reports.#', %s)", (queue,))
    call(db, BIND, ACCOUNT, REGION, "reports.daily", "https", "https://example.com/", False, None, None, None)
    put(db, "s", hour(), target={"topic": "reports.daily", "message": {"n": 1}}, catchup=True)
    assert fire()["fired"] == 1
    for queue in ("jobs", "other"):
        ((message, headers),) = received(db, queue)
        assert message == {"n": 1}
        assert headers["_schedule"]["name"] == "s"
    assert value(db, "select endpoint from queue.outgoing_delivery") == "https://example.com/"
    assert value(db, "select headers -> '_schedule' ->> 'name' from queue.notice") == "s"
    (run,) = call(db, LIST_SCHEDULE_RUNS, ACCOUNT, REGION, GROUP, "s", None, 10)
    assert [member["queue_name"] for member in run.message_ids] == ["jobs", "other"]


def test_a_topic_that_nobody_listens_to_is_no_failure(db: Connection, fire: Fire, hour: Hour) -> None:
    put(db, "s", hour(), target={"topic": "nobody.listens", "message": 1}, catchup=True)
    assert fire()["fired"] == 1


# --- one-shots and ends ----------------------------------------------------------------------------------------------
def test_a_one_shot_fires_however_late_and_goes(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour(-1000)
    put(db, "once", at, expression_kind="fire_at", canonical=write(at))
    assert fire()["fired"] == 1
    assert read(db, "once") is None
    assert scheduled_for(db, "jobs") == [at]


def test_without_a_future_occurrence_it_is_paused(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    put(db, "s", at, end_at=write(at))
    assert fire(queue_schedule_misfire_grace_seconds=LONG_GRACE)["fired"] == 1
    row = read(db, "s")
    assert row is not None
    assert (row["status"], row["last_error"], row["next_fire_at"]) == ("paused", "no future occurrence", None)


def test_the_end_is_included(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour(-5)
    put(db, "s", at, catchup=True, end_at=write(at + timedelta(hours=2)))
    fire()
    assert scheduled_for(db, "jobs") == [at + timedelta(hours=n) for n in range(3)]


# --- missed occurrences ----------------------------------------------------------------------------------------------
def test_without_catch_up_what_was_missed_is_skipped(db: Connection, fire: Fire, hour: Hour) -> None:
    put(db, "s", hour(-30))
    fire(queue_schedule_misfire_grace_seconds=3600)
    (at,) = scheduled_for(db, "jobs")
    assert at == hour()
    row = read(db, "s")
    assert row is not None
    assert (row["next_fire_at"], row["fire_count"]) == (at + timedelta(hours=1), 1)
    missed = "missed: 30 fires skipped, which were more than 3600 s late"
    assert runs(db, "s") == [(hour(-30), False, 1, False, missed), (at, False, 1, True, None)]


def test_an_occurrence_that_failed_until_too_late_is_recorded_as_skipped(
    db: Connection, fire: Fire, hour: Hour
) -> None:
    put(db, "s", hour(-2), target={"queue": "missing", "message": {}}, failure_threshold=10)
    assert fire(queue_schedule_misfire_grace_seconds=LONG_GRACE)["failed"] == 1
    db.execute("update queue.schedule set due_at = now()")
    db.execute("select queue.create('missing')")
    fire(queue_schedule_misfire_grace_seconds=3600)
    said = "Queue 'missing' did not exist; missed: 2 fires skipped, which were more than 3600 s late"
    assert runs(db, "s") == [(hour(-2), False, 1, False, said), (hour(), False, 1, True, None)]


def test_a_change_that_comes_before_a_late_firing_does_not_hide_it(db: Connection, fire: Fire, hour: Hour) -> None:
    """The change replaces the late occurrence only if the change affects the times of the schedule."""
    put(db, "s", hour(-2))
    put(db, "s", None, "patch", target={"queue": "jobs", "message": {"changed": True}})
    assert value(db, "select count(*) from queue.schedule_run") == 0
    put(db, "s", hour(1), "patch", timezone="Europe/Berlin")
    skipped = "skipped: the schedule was changed before it fired"
    assert runs(db, "s") == [(hour(-2), False, 1, False, skipped)]


def test_an_occurrence_that_is_a_little_late_fires_without_catch_up(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour(-4)
    put(db, "s", at)
    fire(queue_schedule_misfire_grace_seconds=5 * 3600)
    assert scheduled_for(db, "jobs") == [at + timedelta(hours=n) for n in range(5)]


def test_catch_up_fires_each_missed_one_in_order(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour(-30)
    put(db, "s", at, catchup=True)
    assert fire()["fired"] == 31
    assert scheduled_for(db, "jobs") == [at + timedelta(hours=n) for n in range(31)]
    row = read(db, "s")
    assert row is not None
    assert (row["fire_count"], row["last_error"]) == (31, None)


def test_catch_up_has_a_limit_and_says_what_it_skipped(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour(-30)
    put(db, "s", at, catchup=True, catchup_limit=10)
    fire()
    assert scheduled_for(db, "jobs") == [at + timedelta(hours=n) for n in range(10)]
    row = read(db, "s")
    assert row is not None
    assert row["last_error"] == "catchup_limit_exceeded: 21 fires skipped"
    assert row["next_fire_at"] == at + timedelta(hours=31)
    assert row["status"] == "active"
    assert (at + timedelta(hours=10), False, 1, False, row["last_error"]) in runs(db, "s")


def test_an_account_with_many_schedules_delays_no_other(db: Connection, hour: Hour) -> None:
    """Claims alternate between the accounts, and first take the schedules of each account that are overdue longest."""
    put(db, "mine", hour())
    db.execute("""insert into queue.schedule
        select (jsonb_populate_record(s, jsonb_build_object('schedule_id', n, 'name', 'other-' || n, 'account_id',
            lpad((n % 2 + 1)::text, 12, '0'), 'due_at', s.due_at - interval '1 hour'))).*
        from queue.schedule s, generate_series(1000, 1999) n""")
    with db.transaction():
        claimed = [row.schedule_id for row in call(db, CLAIM_SCHEDULES, 10, 0)]
    assert len(claimed) == 10
    mine = value(db, "select schedule_id from queue.schedule where name = 'mine'")
    others = [number for number in claimed if number != mine]
    assert len(others) == 9
    assert {sum(number % 2 for number in others)} <= {3, 4, 5, 6}


# --- failures --------------------------------------------------------------------------------------------------------
def test_a_failing_schedule_harms_nobody_else(db: Connection, fire: Fire, hour: Hour) -> None:
    for n in range(6):
        target = {"queue": "jobs" if n % 2 else "missing", "message": n}
        put(db, f"s{n}", hour(), catchup=True, target=target)
    counts = fire()
    assert (counts["fired"], counts["failed"]) == (3, 3)
    assert [message for message, _ in received(db, "jobs")] == [1, 3, 5]


def test_failures_pause_at_the_threshold(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    put(db, "s", at, catchup=True, failure_threshold=3, target={"queue": "missing", "message": 1})
    row = None
    for failures in (1, 2, 3):
        assert fire()["failed"] == 1
        assert fire()["failed"] == 0  # The schedule waits before its next attempt.
        row = read(db, "s")
        assert row is not None
        assert (row["consecutive_failures"], row["last_error"]) == (failures, "Queue 'missing' did not exist")
        assert row["status"] == ("paused" if failures == 3 else "active")
        pass_time(db, 60)
    assert runs(db, "s") == [(at, False, 3, False, "Queue 'missing' did not exist")]
    assert row is not None
    assert row["next_fire_at"] == at  # The schedule can therefore fire after an operator removes the cause.


def test_a_success_forgets_failures(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    put(db, "s", at, catchup=True, target={"queue": "late", "message": 1})
    fire()
    db.execute("select queue.create('late')")
    pass_time(db, 60)
    assert fire()["fired"] == 1
    row = read(db, "s")
    assert row is not None
    assert (row["consecutive_failures"], row["last_error"], row["fire_count"]) == (0, None, 1)
    assert scheduled_for(db, "late") == [at]
    assert runs(db, "s") == [(at, False, 2, True, None)]


def test_a_failed_catch_up_leaves_nothing_behind(db: Connection, fire: Fire, hour: Hour) -> None:
    """The savepoint covers all of a schedule's occurrences. The second message is too long for the queue."""
    db.execute("""select queue.create('small', '{"MaximumMessageSize": "1024"}')""")
    db.execute("select queue.subscribe('both', 'jobs')")
    put(db, "s", hour(-5), catchup=True,
        target={"queue": "small", "message": "x" * 2000})  # fmt: skip
    assert fire()["failed"] == 1
    row = read(db, "s")
    assert row is not None
    assert row["last_error"] == "The message is longer than the queue's 1024 bytes"
    assert received(db, "small") == []


def test_a_locked_group_makes_it_wait_and_nobody_else(
    db: Connection, connect_other: Connection, fire: Fire, hour: Hour
) -> None:
    db.execute("select queue.create_fifo('lines.fifo')")
    db.execute("select queue.send_fifo('lines.fifo', '1', 's')")
    put(db, "s", hour(), catchup=True, target={"queue": "lines.fifo", "message": 2})
    put(db, "t", hour(), catchup=True)
    with connect_other.transaction():
        connect_other.execute("select queue.send_fifo('lines.fifo', '3', 's')")
        counts = fire()
        assert (counts["fired"], counts["busy"], counts["failed"]) == (1, 1, 0)
    pass_time(db, 1)
    assert fire()["fired"] == 1
    row = read(db, "s")
    assert row is not None
    assert row["consecutive_failures"] == 0


# --- overlap ---------------------------------------------------------------------------------------------------------
def test_overlap_skip_fires_when_the_last_message_is_gone(db: Connection, fire: Fire, hour: Hour) -> None:
    put(db, "s", hour(-1), overlap="skip", catchup=True)
    counts = fire()
    assert (counts["fired"], counts["skipped"]) == (1, 1)
    skipped = "skipped: what an earlier run sent is still there"
    assert [(fired, error) for _, _, _, fired, error in runs(db, "s")] == [(True, None), (False, skipped)]
    for state in ("in flight", "deleted"):
        db.execute("update queue.schedule set next_fire_at = next_fire_at - interval '1 h', due_at = now()")
        db.execute("delete from queue.schedule_run where fired_at is null")
        if state == "in flight":
            db.execute("select queue.receive('jobs', 1000, 100)")
        else:
            db.execute("select queue.delete('jobs', (message_ids -> 0 ->> 'msg_id')::bigint) from queue.schedule_run")
        assert fire()["fired"] == (state == "deleted")


# --- exactly once ----------------------------------------------------------------------------------------------------
def test_an_occurrence_that_has_fired_does_not_fire_again(db: Connection, fire: Fire, hour: Hour) -> None:
    """Each run has a unique key, so the test can move the schedule back by any time."""
    at = hour()
    put(db, "s", at, catchup=True)
    assert fire()["fired"] == 1
    db.execute("update queue.schedule set next_fire_at = %s, due_at = %s", (at, at))
    counts = fire()
    assert (counts["fired"], counts["skipped"], counts["failed"]) == (0, 1, 0)
    assert len(received(db, "jobs")) == 1
    row = read(db, "s")
    assert row is not None
    assert row["next_fire_at"] == at + HOUR


@pytest.mark.parametrize("fields", [
    {},
    {"expression_kind": "every", "expression": "1h"},
    {"api": "aws", "expression_kind": "rate", "expression": "rate(1 hour)", "canonical": "rate(1 hour)"},
])  # fmt: skip
def test_a_clock_that_went_forward_and_back_keeps_no_schedule_waiting(
    db: Connection, fire: Fire, hour: Hour, fields: Row
) -> None:
    """Schedules that fired while the clock was a day ahead fire at their next occurrence. Other schedules do not
    change."""
    at = hour()
    put(db, "s", at, anchor_at=write(at), **fields)
    put(db, "other", at + 30 * HOUR)
    assert fire(queue_schedule_misfire_grace_seconds=LONG_GRACE)["fired"] == 1
    for table, columns in {
        "schedule": ["next_fire_at", "due_at", "last_fired_at"],
        "schedule_run": ["scheduled_for", "recorded_at"],
    }.items():
        changes = ", ".join(f"{column} = {column} + interval '1 day'" for column in columns)
        db.execute(
            f"update queue.{table} set {changes} where schedule_id ="
            " (select schedule_id from queue.schedule where name = 's')"
        )
    assert fire()["fired"] == 0
    row = read(db, "s")
    assert row is not None
    assert (row["next_fire_at"], row["due_at"]) == (at + HOUR, at + HOUR)
    assert row["last_fired_at"] <= now(db)
    other = read(db, "other")
    assert other is not None
    assert other["due_at"] == at + 30 * HOUR
    assert value(db, "select schedule_ms from queue.next_schedule()") > 0


def test_two_workers_share_what_is_due(db: Connection, connect_other: Connection, fire: Fire, hour: Hour) -> None:
    for n in range(4):
        put(db, f"s{n}", hour(), catchup=True)
    with connect_other.transaction():
        assert len(call(connect_other, CLAIM_SCHEDULES, 3, 0)) == 3
        assert len(call(db, CLAIM_SCHEDULES, 10, 0)) == 1
    assert fire(queue_schedule_batch_size=2)["fired"] == 4


# --- run now ---------------------------------------------------------------------------------------------------------
def test_run_now_is_out_of_band(db: Connection, hour: Hour) -> None:
    at = hour(1)
    put(db, "s", at, status="paused")
    before = value(db, "select date_trunc('second', clock_timestamp())")
    (run,) = call(db, RUN_SCHEDULE, ACCOUNT, REGION, GROUP, "s")
    assert run.error is None
    assert before <= run.scheduled_for <= run.fired_at
    assert run.scheduled_for.microsecond == 0
    ((_, headers),) = received(db, "jobs")
    assert headers["_schedule"] == {
        "name": "s", "scheduled_for": write(run.scheduled_for.astimezone(UTC)), "out_of_band": True,
    }  # fmt: skip
    assert [member["queue_name"] for member in run.message_ids] == ["jobs"]
    row = read(db, "s")
    assert row is not None
    assert (row["next_fire_at"], row["fire_count"], row["status"]) == (at, 1, "paused")
    assert runs(db, "s") == [(run.scheduled_for, True, 1, True, None)]


def test_run_now_to_a_missing_queue_changes_nothing(db: Connection, hour: Hour) -> None:
    put(db, "s", hour(1), target={"queue": "missing", "message": 1})
    (run,) = call(db, RUN_SCHEDULE, ACCOUNT, REGION, GROUP, "s")
    assert (run.error, run.detail) == ("TargetFailed", "Queue 'missing' did not exist")
    assert value(db, "select count(*) from queue.schedule_run") == 0
    (run,) = call(db, RUN_SCHEDULE, ACCOUNT, REGION, GROUP, "unknown")
    assert run.error == "NotFound"


# --- history ---------------------------------------------------------------------------------------------------------
def test_old_runs_are_removed(db: Connection, fire: Fire, hour: Hour) -> None:
    put(db, "s", hour(-3), catchup=True)
    fire()
    db.execute("update queue.schedule_run set recorded_at = now() - interval '1 h' where run_id <= 2")
    assert value(db, "select queue.clean_schedule_runs(1, 3000)") == 1
    assert value(db, "select queue.clean_schedule_runs(10, 3000)") == 1
    assert len(runs(db, "s")) == 2
