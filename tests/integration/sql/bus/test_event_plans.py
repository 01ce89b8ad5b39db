"""Tests that the calls of the worker that delivers events read about as many rows as they return, in installations with
many events and many subscribers.

PostgreSQL has the statistics of almost empty tables, as after the first ANALYZE of a new installation.
"""

from functools import partial

import psycopg
import pytest

from tests.integration.sql.conftest import Connect
from tests.support.database import Database
from tests.support.events import ACCOUNT, BUS, REGION, add_bus, put, sequence, subscribe
from tests.support.sql.calls import Connection, create, fetched, value

EVENTS = 5_000
SUBSCRIBERS = 3_000
# The measured values are at most 106.
MOST = 300
QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
WORK_ROW = "(queue.next_event_work(null, 20, '{lambda}'))"
WORK = f"select {WORK_ROW}"
LATE = f"select name from queue.read_late_subscribers('{ACCOUNT}', '{REGION}', 0)"
CLAIM = "select count(*) from queue.claim_event_subscribers((select bus_id from queue.event_bus), {}, {})"
VERSION = "(select subscribers_version from queue.event_bus)"
BATCHES = (
    "select count(*) from queue.claim_event_batches('{lambda}', gen_random_uuid(), 90000, '{}', '{}', 10, 50, 67108864)"
)
SETTLE = (
    "select queue.settle_events(s.bus_id, array[s.subscriber_id], array[9], '{}', '{}', '{}', '{}', '{}', '{}', '{}', "
    "'{}', 0) from queue.event_subscriber s where s.arn = %s"
)
READ_ALL = (
    "insert into queue.event_cursor (bus_id, subscriber_id, page) "
    "select p.bus_id, 0, p.page from queue.event_page p order by p.page desc limit 1"
)


@pytest.fixture(autouse=True)
def _bus(db: Connection, database: Database) -> None:
    add_bus(db)
    subscribe(db, create(db, "q"), "all")
    put(db, BUS, "1")
    sequence(db)
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute("vacuum analyze")


def test_gaps_read_no_other_events(db: Connection, connect: Connect) -> None:
    """Open transactions leave gaps between many events. A call looks for the events of the gaps alone."""
    publishers = [connect() for _ in range(4)]
    for publisher in publishers:
        publisher.execute("begin")
        put(publisher, BUS, "late")
        for _ in range(EVENTS // len(publishers) // 1000 + 1):
            put(db, BUS, *["early"] * 1000)
    while sequence(db, 20_000):
        pass
    assert value(db, "select count(*) from queue.event_gap") == len(publishers)
    read = {"no new event": fetched(db, lambda: sequence(db))}
    put(db, BUS, "new")
    read["a new event"] = fetched(db, lambda: sequence(db))
    publishers[1].execute("commit")
    read["a late event"] = fetched(db, lambda: sequence(db))
    assert value(db, "select count(*) from queue.event_gap") == len(publishers) - 1
    assert {name: rows for name, rows in read.items() if rows > MOST} == {}


def subscribe_many(db: Connection, target: str, state: str = "RUNNING") -> None:
    """Adds copies of the subscriber `all` with another target or state."""
    db.execute(
        "insert into queue.event_subscriber (bus_id, bus_arn, account_id, region, name, arn, type, starting_position, "
        "state, target_arn, configuration, first_page, follows) select s.bus_id, s.bus_arn, s.account_id, s.region, "
        "s.name || n, s.arn || n, s.type, s.starting_position, %s, %s, s.configuration, s.first_page, %s "
        "from queue.event_subscriber s, generate_series(1, %s) n",
        (state, target, state == "RUNNING", SUBSCRIBERS),
    )


@pytest.mark.parametrize("target", [QUEUE, FUNCTION], ids=["queue", "function"])
def test_an_idle_worker_reads_no_subscribers(db: Connection, target: str) -> None:
    subscribe_many(db, target)
    calls = {"work": WORK, "batches": BATCHES}
    read = {name: fetched(db, partial(value, db, call)) for name, call in calls.items()}
    assert value(db, f"select cardinality({WORK_ROW}.buses)") == 1
    db.execute(READ_ALL)
    read |= {f"{name} of an idle bus": fetched(db, partial(value, db, call)) for name, call in calls.items()}
    assert value(db, f"select cardinality({WORK_ROW}.buses)") == 0
    assert {name: rows for name, rows in read.items() if rows > MOST} == {}


def test_a_claim_reads_only_followers_that_have_changed(db: Connection, database: Database) -> None:
    """An event of one subscriber waits. PostgreSQL has statistics of a time when events of all subscribers waited."""
    subscribe_many(db, FUNCTION)
    db.execute(
        "insert into queue.event_retry (bus_id, subscriber_id, number, ingested_at, attempts, due_at, carrier) "
        "select s.bus_id, s.subscriber_id, n, now(), 1, now(), s.carrier "
        "from queue.event_subscriber s, generate_series(1, 3) n"
    )
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute("analyze")
    db.execute("delete from queue.event_retry where retry_id > 1")
    assert value(db, CLAIM.format(False, "null")) == SUBSCRIBERS + 2
    assert value(db, CLAIM.format(False, VERSION)) == 1
    read = {"known": fetched(db, partial(value, db, CLAIM.format(False, VERSION)))}
    db.execute(READ_ALL)
    read |= {replays: fetched(db, partial(value, db, CLAIM.format(replays, "null"))) for replays in ("false", "true")}
    assert value(db, CLAIM.format(False, "null")) == 0
    assert {name: rows for name, rows in read.items() if rows > MOST} == {}


def test_each_change_of_a_follower_changes_the_version(db: Connection) -> None:
    """A process that has the followers of a version reads no other."""
    arn = value(db, "select arn from queue.event_subscriber")
    update = "select queue.update_event_subscriber(%s, {}, {}, null)"
    versions = [value(db, f"select {VERSION}")]
    for change in (
        update.format("null", '\'{"Description": "d"}\''),
        update.format("'STOPPED'", "'{}'"),
        update.format("'RUNNING'", "'{}'"),
        SETTLE,
        "select queue.move_event_subscriber(%s, now())",
        f"select queue.revoke_event_resource('{ACCOUNT}', %s)",
        "select queue.delete_event_subscriber(%s)",
    ):
        db.execute(change.encode(), [arn])
        versions.append(value(db, f"select {VERSION}"))
    subscribe(db, QUEUE, "new")
    versions.append(value(db, f"select {VERSION}"))
    assert len(set(versions)) == len(versions)


def test_50_subscribers_that_lag_are_found_without_the_others(db: Connection, database: Database) -> None:
    subscribe_many(db, QUEUE)
    db.execute("update queue.event_subscriber set first_page = 1 where name <> 'all7'")
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute("analyze queue.event_subscriber")
    assert db.execute(LATE).fetchall() == [("all7",)]
    put(db, BUS, "2")
    sequence(db)
    found = [name for (name,) in db.execute(LATE).fetchall()]
    assert (found[0], len(set(found))) == ("all7", 50)
    assert fetched(db, lambda: db.execute(LATE)) <= MOST
    db.execute(READ_ALL)
    assert db.execute(LATE).fetchall() == []
    assert fetched(db, lambda: db.execute(LATE)) <= MOST


def test_50_stopped_subscribers_that_lag_are_found_without_the_others(db: Connection, database: Database) -> None:
    """A move of its position has taken one subscriber behind the others."""
    subscribe_many(db, QUEUE, "STOPPED")
    db.execute(
        "insert into queue.event_cursor (bus_id, subscriber_id, page) select s.bus_id, s.subscriber_id, "
        "(s.name <> 'all7')::int from queue.event_subscriber s where not s.follows"
    )
    db.execute(READ_ALL)
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute("analyze queue.event_subscriber, queue.event_cursor")
    assert db.execute(LATE).fetchall() == [("all7",)]
    put(db, BUS, "2")
    sequence(db)
    found = [name for (name,) in db.execute(LATE).fetchall()]
    assert (found[0], len(set(found))) == ("all7", 50)
    assert fetched(db, lambda: db.execute(LATE)) <= MOST


def test_a_worker_reads_no_stopped_subscribers(db: Connection) -> None:
    subscribe_many(db, QUEUE, "STOPPED")
    db.execute("delete from queue.event_subscriber where follows")
    assert fetched(db, lambda: value(db, WORK)) <= MOST


def test_a_worker_finds_the_functions_for_which_events_wait(db: Connection) -> None:
    """Of many subscribers, events wait for three: one event is due, one is not, and one belongs to a stopped
    subscriber."""
    subscribe_many(db, FUNCTION)
    db.execute("update queue.event_subscriber set state = 'STOPPED' where name = 'all3'")
    db.execute(
        "insert into queue.event_retry (bus_id, subscriber_id, number, ingested_at, attempts, due_at, carrier) "
        "select s.bus_id, s.subscriber_id, n, now(), 1, now() + (s.name = 'all2')::int * interval '1 hour', s.carrier "
        "from queue.event_subscriber s, generate_series(1, 1000) n where s.name in ('all1', 'all2', 'all3')"
    )
    db.execute(READ_ALL)
    assert value(db, f"select {WORK_ROW}.batches") is True
    assert fetched(db, lambda: value(db, WORK)) <= MOST
    found = db.execute(BATCHES.replace("count(*)", "distinct subscriber_id")).fetchall()
    assert found == db.execute("select subscriber_id from queue.event_subscriber where name = 'all1'").fetchall()
    db.execute(
        "delete from queue.event_retry r using queue.event_subscriber s "
        "where s.subscriber_id = r.subscriber_id and s.name = 'all1'"
    )
    assert value(db, f"select {WORK_ROW}.batches") is False
    assert value(db, f"select {WORK_ROW}.wait_ms") in range(3_500_000, 3_600_001)
