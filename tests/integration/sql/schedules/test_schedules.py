"""Tests the storage of schedules (docs/reference/schedules.md), and EventBridge Scheduler's groups."""

import json
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from penstock.postgres.statements.schedules import (
    DROP_SCHEDULE,
    DROP_SCHEDULE_ONCE,
    LIST_PRUNABLE_SCHEDULES,
    LIST_SCHEDULE_GROUPS,
    LIST_SCHEDULES,
    PUT_SCHEDULE,
    PUT_SCHEDULE_GROUP,
    READ_SCHEDULE,
    READ_SCHEDULE_GROUP,
    SYNC_SCHEDULES,
    TAG_SCHEDULE_GROUP,
    UNTAG_SCHEDULE_GROUP,
)
from tests.integration.sql.conftest import Connect
from tests.support.schedules.rows import ACCOUNT, GROUP, HOURLY, REGION, Hour, call, now, put, read, value
from tests.support.sql.calls import Connection

DAILY = {"canonical": "0 0 * * *", "expression": "0 0 * * *"}


def names(db: Connection, **wanted: Any) -> list[str]:
    """Returns the names on one page of list_schedule_page."""
    order = ("group", "name_prefix", "status", "target_kind", "api", "after_group", "after_name")
    values = [wanted.get(name) for name in order]
    rows = call(db, LIST_SCHEDULES, ACCOUNT, REGION, *values, wanted.get("limit", 100))
    return [f"{row.schedule['group_name']}/{row.schedule['name']}" for row in rows]


# --- writing ---------------------------------------------------------------------------------------------------------
def test_a_name_is_created_once(db: Connection, hour: Hour) -> None:
    at = hour(1)
    row, created, error = put(db, "s", at)
    assert (created, error, row["status"], row["fire_count"]) == (True, None, "active", 0)
    row, created, error = put(db, "s", hour(5), description="another")
    assert (created, error, row["description"]) == (False, "ScheduleExists", None)


def test_a_client_token_makes_creating_idempotent(db: Connection, hour: Hour) -> None:
    first, *_ = put(db, "s", hour(1), client_token="a")
    again, created, error = put(db, "s", hour(2), client_token="a")
    assert (again, created, error) == (first, False, None)
    assert put(db, "s", hour(2), client_token="b")[2] == "ScheduleExists"
    assert put(db, "s", hour(2))[2] == "ScheduleExists"


@pytest.mark.parametrize("mode", ["update", "patch"])
def test_a_missing_schedule_cannot_be_changed(db: Connection, mode: str, hour: Hour) -> None:
    assert put(db, "s", hour(1), mode)[2] == "ScheduleNotFound"
    assert read(db, "s") is None


def test_replacing_keeps_counts_and_the_next_time(db: Connection, hour: Hour) -> None:
    at = hour(1)
    put(db, "s", at, catchup=True, description="old")
    db.execute("update queue.schedule set fire_count = 7, consecutive_failures = 2, last_error = 'e'")
    row, created, _ = put(db, "s", hour(3), "replace")
    assert not created
    assert (row["fire_count"], row["consecutive_failures"], row["last_error"]) == (7, 0, None)
    assert (row["catchup"], row["description"]) == (False, None)
    assert datetime.fromisoformat(row["next_fire_at"]) == at


def test_a_replacement_that_changes_nothing_is_not_written(db: Connection, hour: Hour) -> None:
    put(db, "s", hour(1), "replace", description="same")
    before = read(db, "s")
    row, created, error = put(db, "s", hour(3), "replace", description="same")
    assert (created, error, read(db, "s")) == (False, None, before)
    row, *_ = put(db, "s", hour(3), "replace", description="other")
    assert before is not None
    assert row["updated_at"] != before["updated_at"]
    # UpdateSchedule of EventBridge Scheduler always counts as a change.
    before = read(db, "s")
    put(db, "s", hour(3), "update", description="other")
    assert read(db, "s") != before


@pytest.mark.parametrize(
    "change",
    [DAILY, {"timezone": "Europe/Paris"}, {"start_at": "2030-01-01T00:00:00Z"}, {"end_at": "2030-01-01T00:00:00Z"}],
)
def test_another_expression_zone_start_or_end_has_another_next_time(
    db: Connection, change: dict[str, str], hour: Hour
) -> None:
    put(db, "s", hour(1))
    row, *_ = put(db, "s", hour(3), "replace", **change)
    assert datetime.fromisoformat(row["next_fire_at"]) == hour(3)


def test_the_same_time_in_other_words_is_no_change(db: Connection, hour: Hour) -> None:
    at = hour(1)
    put(db, "s", at)
    row, *_ = put(db, "s", hour(3), "replace", expression="0  *  * * *")
    assert (row["expression"], datetime.fromisoformat(row["next_fire_at"])) == ("0  *  * * *", at)


def test_a_patch_changes_only_what_is_given(db: Connection, hour: Hour) -> None:
    put(db, "s", hour(1), status="paused", catchup=True)
    before = read(db, "s")
    put(db, "s", hour(3), "patch", description="new")
    after = read(db, "s")
    assert before is not None
    assert after is not None
    assert {name for name in before if before[name] != after[name]} == {"description", "updated_at"}


def test_a_pause_that_ends_does_not_fire_what_passed(db: Connection, hour: Hour) -> None:
    """The caller passes the next time from now on, both for recurring and for one-time schedules. The passed time
    applies if the stored time is in the past."""
    for name, stored, expected in (("old", hour(-3), hour(3)), ("new", hour(2), hour(2))):
        put(db, name, stored, status="paused")
        db.execute("update queue.schedule set consecutive_failures = 3, last_error = 'e' where name = %s", (name,))
        row, *_ = put(db, name, hour(3), "patch", status="active")
        assert datetime.fromisoformat(row["next_fire_at"]) == expected
        assert (row["consecutive_failures"], row["last_error"]) == (0, None)


def test_a_schedule_of_rest_without_a_future_is_paused(db: Connection) -> None:
    row, *_ = put(db, "s", None)
    assert (row["status"], row["last_error"]) == ("paused", "no future occurrence")
    row, *_ = put(db, "t", None, api="aws", target={"Arn": "arn:aws:sqs:us-east-1:000000000000:jobs"})
    assert (row["status"], row["last_error"]) == ("active", None)


def test_identity_and_counts_cannot_be_written(db: Connection, hour: Hour) -> None:
    put(db, "s", hour(1))
    fields = {"name": "t", "account_id": "1" * 12, "fire_count": 9, "schedule_id": 77, "due_at": "2020-01-01T00:00:00Z"}
    call(db, PUT_SCHEDULE, ACCOUNT, REGION, GROUP, "s", "patch", fields, hour(1))
    row = read(db, "s")
    assert row is not None
    assert (row["account_id"], row["fire_count"], row["due_at"]) == (ACCOUNT, 0, hour(1))
    assert read(db, "t") is None


def test_two_that_create_one_name_at_once(connect: Connect, hour: Hour) -> None:
    one, other = connect(), connect()
    at = hour(1)
    with one.transaction():
        put(one, "s", at)
        other.execute("set lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            put(other, "s", at)
    assert put(other, "s", at)[2] == "ScheduleExists"


# --- reading, listing, deleting --------------------------------------------------------------------------------------
def test_reading_tells_the_time_of_the_database(db: Connection) -> None:
    (row,) = call(db, READ_SCHEDULE, ACCOUNT, REGION, GROUP, "s")
    assert row.schedule is None
    assert abs(row.now - now(db)) < timedelta(minutes=5)


def test_the_list_has_filters_and_pages(db: Connection, hour: Hour) -> None:
    call(db, PUT_SCHEDULE_GROUP, ACCOUNT, REGION, "alpha", {}, None)
    at = hour(1)
    topic = {"topic": "a.b", "message": 1}
    aws = {"Arn": "arn:aws:sns:us-east-1:000000000000:news"}
    put(db, "ab", at)
    put(db, "b_c", at, status="paused")
    put(db, "b-c", at, target=topic)
    put(db, "z", at, group="alpha", api="aws", target=aws)
    everything = ["alpha/z", "default/ab", "default/b-c", "default/b_c"]
    assert sorted(names(db)) == everything
    assert names(db, status="paused") == ["default/b_c"]
    assert sorted(names(db, target_kind="topic")) == ["alpha/z", "default/b-c"]
    assert names(db, target_kind="queue", name_prefix="a") == ["default/ab"]
    assert names(db, name_prefix="b_") == ["default/b_c"]
    assert names(db, api="aws") == names(db, group="alpha") == ["alpha/z"]
    paged = names(db, limit=1)
    while len(paged) < 4:
        group, name = paged[-1].split("/")
        paged += names(db, limit=1, after_group=group, after_name=name)
    assert paged == names(db)


def test_only_the_first_deletion_finds_the_schedule(db: Connection, hour: Hour) -> None:
    put(db, "s", hour(1))
    for expected in (True, False):
        assert call(db, DROP_SCHEDULE, ACCOUNT, REGION, GROUP, "s") == [(expected,)]


def test_synchronising_prunes_schedules_of_rest_only(db: Connection, hour: Hour) -> None:
    at = hour(1)
    for name in ("keep", "go"):
        put(db, name, at)
    put(db, "theirs", at, api="aws", target={"Arn": "arn:aws:sqs:us-east-1:000000000000:jobs"})
    put(db, "waits", at, target={"queue": "orders", "message": 1, "system": {}})
    prunable = [call(db, LIST_PRUNABLE_SCHEDULES, ACCOUNT, REGION, after, 1) for after in ("", "go", "keep")]
    assert prunable == [[("go",)], [("keep",)], []]
    fields = [json.dumps(HOURLY)] * 2
    rows = call(db, SYNC_SCHEDULES, ACCOUNT, REGION, ["new", "keep"], fields, [at, at], True)
    assert sorted((row.schedule["name"], row.n, row.created) for row in rows) == [
        ("go", None, False), ("keep", 2, False), ("new", 1, True),
    ]  # fmt: skip
    assert sorted(names(db)) == ["default/keep", "default/new", "default/theirs", "default/waits"]
    call(db, SYNC_SCHEDULES, ACCOUNT, REGION, ["more"], fields[:1], [at], False)
    assert len(names(db)) == 5


# --- groups ----------------------------------------------------------------------------------------------------------
def test_a_group_is_made_once_and_tells_its_tags(db: Connection) -> None:
    ((group, created, error),) = call(db, PUT_SCHEDULE_GROUP, ACCOUNT, REGION, "g", {"a": "b"}, "token")
    assert group is not None
    assert (group["tags"], group["state"], created, error) == ({"a": "b"}, "ACTIVE", True, None)
    ((_, created, error),) = call(db, PUT_SCHEDULE_GROUP, ACCOUNT, REGION, "g", {}, "token")
    assert (created, error) == (False, None)
    for token in (None, "other"):
        ((_, _, error),) = call(db, PUT_SCHEDULE_GROUP, ACCOUNT, REGION, "g", {}, token)
        assert error == "GroupExists"
    ((_, _, error),) = call(db, PUT_SCHEDULE_GROUP, ACCOUNT, REGION, "default", {}, "token")
    assert error == "GroupExists"


def test_a_schedule_needs_its_group(db: Connection, hour: Hour) -> None:
    assert put(db, "s", hour(1), group="unknown")[2] == "GroupNotFound"


def place(name: str) -> tuple[str, str, str, str, None]:
    """Returns the statement that deletes the group without a ClientToken."""
    return ACCOUNT, REGION, name, "", None


def test_deleting_a_group_deletes_its_schedules(db: Connection, hour: Hour) -> None:
    call(db, PUT_SCHEDULE_GROUP, ACCOUNT, REGION, "g", {}, None)
    for name in ("a", "b"):
        put(db, name, hour(1), group="g")
    put(db, "a", hour(1))
    assert call(db, DROP_SCHEDULE_ONCE, *place("g")) == [(True,)]
    assert names(db) == ["default/a"]
    for name in ("g", "default"):
        assert call(db, DROP_SCHEDULE_ONCE, *place(name)) == [(False,)]


def test_a_group_that_is_deleted_takes_no_schedule(connect: Connect, hour: Hour) -> None:
    one, other = connect(), connect()
    call(one, PUT_SCHEDULE_GROUP, ACCOUNT, REGION, "g", {}, None)
    with one.transaction():
        call(one, DROP_SCHEDULE_ONCE, *place("g"))
        other.execute("set lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            put(other, "s", hour(1), group="g")
    assert put(other, "s", hour(1), group="g")[2] == "GroupNotFound"


def test_the_default_group_is_always_there(db: Connection) -> None:
    ((group,),) = call(db, READ_SCHEDULE_GROUP, ACCOUNT, REGION, "default")
    assert (group["name"], group["state"]) == ("default", "ACTIVE")
    assert call(db, READ_SCHEDULE_GROUP, ACCOUNT, REGION, "unknown") == []
    call(db, PUT_SCHEDULE_GROUP, ACCOUNT, REGION, "alpha", {}, None)
    pages = ((None, None, ["alpha", "default"]), ("d", None, ["default"]), (None, "alpha", ["default"]))
    for prefix, after, expected in pages:
        rows = call(db, LIST_SCHEDULE_GROUPS, ACCOUNT, REGION, prefix, after, 10)
        assert [row["name"] for (row,) in rows] == expected


def test_tags_of_groups(db: Connection) -> None:
    def tag(name: str, tags: dict[str, str], limit: int = 3) -> str | None:
        ((error,),) = call(db, TAG_SCHEDULE_GROUP, ACCOUNT, REGION, name, tags, limit)
        assert error is None or isinstance(error, str)
        return error

    assert tag("default", {"a": "1", "b": "2"}) is None
    assert tag("default", {"a": "3", "c": "4"}) is None
    assert tag("default", {"d": "5"}) == "TagLimitExceeded"
    assert tag("unknown", {"d": "5"}) == "GroupNotFound"
    assert call(db, UNTAG_SCHEDULE_GROUP, ACCOUNT, REGION, "default", ["b", "x"]) == [(None,)]
    assert call(db, UNTAG_SCHEDULE_GROUP, ACCOUNT, REGION, "unknown", ["b"]) == [("GroupNotFound",)]
    ((group,),) = call(db, READ_SCHEDULE_GROUP, ACCOUNT, REGION, "default")
    assert group["tags"] == {"a": "3", "c": "4"}


# --- waking ----------------------------------------------------------------------------------------------------------
def test_only_what_is_due_first_wakes_the_workers(connect: Connect, hour: Hour) -> None:
    db, listener = connect(), connect()
    listener.execute("listen penstock")

    def wakes(name: str, at: datetime, mode: str = "create", **fields: Any) -> bool:
        put(db, name, at, mode, **fields)
        return [found.payload for found in listener.notifies(timeout=0.2, stop_after=1)] == ["schedules"]

    assert wakes("later", hour(5))
    assert wakes("sooner", hour(3))
    assert not wakes("between", hour(4))
    assert not wakes("paused", hour(1), status="paused")
    assert wakes("paused", hour(1), "patch", status="active")


# --- the SQL interface -----------------------------------------------------------------------------------------------
def create(db: Connection, **arguments: Any) -> datetime:
    given = ", ".join(f"{name} => %({name})s" for name in arguments)
    found: datetime = value_of(db, f"select queue.create_schedule({given})", arguments)
    return found


def value_of(db: Connection, query: str, values: dict[str, Any]) -> Any:
    row = db.execute(query.encode(), values).fetchone()
    return row[0] if row else None


def test_an_application_makes_a_schedule_in_its_own_transaction(connect: Connect) -> None:
    db, other = connect(), connect()
    before = now(db)
    with db.transaction(force_rollback=True):
        create(db, name="s", every="1h", queue="jobs", message='{"a": 1}')
        assert read(other, "s") is None
    assert read(db, "s") is None
    with db.transaction():
        at = create(db, name="s", every="1h", queue="jobs", message='{"a": 1}', options='{"jitter_seconds": 5}')
    row = read(other, "s")
    assert row is not None
    assert row["target"] == {"queue": "jobs", "message": {"a": 1}}
    assert (row["expression_kind"], row["expression"], row["canonical"]) == ("every", "1h", "0 * * * *")
    assert row["next_fire_at"] == at == at.replace(minute=0, second=0, microsecond=0)
    assert before < at <= now(db) + timedelta(hours=1)
    assert row["jitter_seconds"] == 5
    assert value(db, "select queue.delete_schedule('s')") is True
    assert value(db, "select queue.delete_schedule('s')") is False


def test_one_shots_and_topics_in_sql(db: Connection) -> None:
    at = now(db).replace(microsecond=1) + timedelta(minutes=5)
    create(db, name="once", fire_at=at, topic="a.b", message="null", headers='{"h": 1}')
    row = read(db, "once")
    assert row is not None
    assert row["next_fire_at"] == at.replace(microsecond=0) + timedelta(seconds=1)
    assert row["target"] == {"topic": "a.b", "message": None, "headers": {"h": 1}}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"name": "Big"}, "QU003"),
        ({"name": "taken"}, "QU002"),
        ({"cron": "* * * * *"}, "QU003"),
        ({"every": None}, "QU003"),
        ({"every": "7m"}, "QU003"),
        ({"timezone": "Mars/Base"}, "QU003"),
        ({"topic": "a"}, "QU003"),
        ({"queue": None}, "QU003"),
        ({"queue": None, "topic": "a..b"}, "QU003"),
        ({"message": None}, "QU003"),
        ({"headers": '{"_schedule": 1}'}, "QU003"),
        ({"headers": "[]"}, "QU003"),
        ({"options": '{"unknown": 1}'}, "QU003"),
        ({"options": '{"overlap": "wait"}'}, "QU003"),
        ({"options": '{"catchup_limit": 0}'}, "QU003"),
        ({"options": '{"end_at": "2020-01-01T00:00:00Z"}'}, "QU003"),
        ({"every": None, "cron": "0 0 30 2 *"}, "QU003"),
    ],
)
def test_sql_refuses_an_invalid_schedule(db: Connection, change: dict[str, Any], state: str) -> None:
    good = {"every": "1h", "queue": "jobs", "message": "1"}
    arguments = {"name": "s"} | good | change
    with db.transaction(force_rollback=True):
        create(db, name="taken", **good)
        with pytest.raises(psycopg.Error) as refusal:
            create(db, **arguments)
    assert refusal.value.sqlstate == state
