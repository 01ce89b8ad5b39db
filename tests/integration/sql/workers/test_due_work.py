"""Tests which queries an idle process runs for due work and for changes."""

from uuid import UUID, uuid4

import psycopg
import pytest

from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statements.deliveries import NEXT_DELIVERY
from penstock.postgres.statements.installation import COUNT_CHANGES, DUE_WORK, STORE_MEASUREMENTS
from penstock.postgres.statements.long_polls import TAKE_POLL_SLOT
from penstock.settings import Settings
from penstock.workers import maintain, measure
from tests.support.database import Database
from tests.support.delivery.rows import publish
from tests.support.events import sequence
from tests.support.schedules.rows import Hour, put
from tests.support.sql.calls import Connection, call, create, delete, receive, send, value
from tests.support.sql.move_tasks import dead_queue, start

SETTINGS = Settings.read({})
WATCHER = uuid4()


def due(db: Connection) -> list[str]:
    names: list[str] = call(db, DUE_WORK)[0][1]
    return names


# --- what is due -----------------------------------------------------------------------------------------------------
def test_nothing_is_due_in_a_new_installation_nor_before_its_time(db: Connection, hour: Hour) -> None:
    assert due(db) == []
    arn = create(db)
    send(db, arn, "waits")
    send(db, arn, "later", delay=900)
    put(db, "s", hour(1))
    publish(db, "http://127.0.0.1/")
    db.execute("update queue.outgoing_delivery set due_at = now() + interval '1 minute'")
    call(db, STORE_MEASUREMENTS, 100, 1000)
    assert due(db) == []


def test_a_delivery_is_due(db: Connection) -> None:
    publish(db, "http://127.0.0.1/")
    assert due(db) == ["deliveries"]
    db.execute("update queue.outgoing_delivery set waiting = true")  # its endpoint is paused
    assert due(db) == []
    db.execute(
        "insert into queue.delivery_endpoint (endpoint_key, account_id, host, next_at) values ('a', '0', 'a', now())"
    )
    assert due(db) == ["deliveries"]


def test_a_schedule_and_a_retry_are_due(db: Connection, hour: Hour) -> None:
    put(db, "s", hour())
    assert due(db) == ["schedules"]
    put(db, "s", hour(1), mode="patch")
    db.execute("update queue.schedule set status = 'paused', due_at = now()")
    assert due(db) == []


def test_a_move_task_runs(db: Connection) -> None:
    dead, _ = dead_queue(db, "", "orders")
    start(db, dead)
    assert due(db) == ["move-tasks"]


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_the_retention_of_a_message_is_over(db: Connection, suffix: str) -> None:
    """A measurement makes the work due, and each change leads to a measurement."""
    arn = create(db, "orders" + suffix, MessageRetentionPeriod="60")
    send(db, arn, "m", group="g" if suffix else None)
    measure.run_once(SETTINGS, TransactionExecutor(db))
    assert due(db) == []
    assert 50_000 < (call(db, DUE_WORK)[0].expiry_ms or 0) <= 60_000
    db.execute("update queue.measurement set first_sent_at = first_sent_at - interval '61 seconds'")
    assert due(db) == ["maintenance"]
    assert call(db, DUE_WORK)[0].expiry_ms is None


def test_ids_have_yet_to_jump(db: Connection) -> None:
    value(db, "select queue.check_server(true)")
    assert due(db) == ["events", "maintenance"]
    while value(db, "select queue.jump_ids(100)"):
        pass
    assert due(db) == ["events"]  # The numbers over which the sequence has jumped
    sequence(db)
    sequence(db)
    assert due(db) == []


# --- whether something has changed -----------------------------------------------------------------------------------
def changes(database: Database) -> int:
    """Returns the changes for a session that begins now. PostgreSQL counts all changes of a session when the session
    ends."""
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        number: int = call(connection, COUNT_CHANGES)[0][0]
        return number


# Without this call, the server counts the changes when the session's process ends, some time after the client has
# disconnected.
COUNT_AT_ONCE = b"select pg_stat_force_next_flush()"


def by_others(database: Database, query: str) -> None:
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        connection.execute(query.encode())
        connection.execute(COUNT_AT_ONCE)


def test_each_change_changes_the_number(database: Database) -> None:
    numbers = [changes(database)]
    for query in (
        "select queue.create('orders')",
        "select queue.send('orders', '{}')",
        "select queue.receive('orders')",
        "select queue.purge_queue('orders')",
        "select queue.delete_queue('orders')",
    ):
        by_others(database, query)
        numbers.append(changes(database))
    assert len(set(numbers)) == len(numbers)


def test_idle_workers_cause_no_due_work(database: Database) -> None:
    """If idle workers caused due work, each round would lead to another round."""
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        arn = create(connection)
        send(connection, arn, "waits")
        send(connection, arn, "done")
        delete(connection, receive(connection, arn)[:1])
        maintain.run_once(SETTINGS, TransactionExecutor(connection))
        connection.execute(COUNT_AT_ONCE)
    before = changes(database)
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        connection.execute("update queue.worker_position set ran_at = ran_at - interval '1 hour'")
        maintainer = maintain.Maintainer()
        maintainer.run_once(SETTINGS, TransactionExecutor(connection))
        assert maintainer.idle
        assert not maintainer.found_nothing
        assert measure.run_once(SETTINGS, TransactionExecutor(connection))["pages"] == 1
        call(connection, NEXT_DELIVERY, WATCHER, ["http"])
        call(connection, TAKE_POLL_SLOT, "penstock-Gateway", uuid4(), 1, 7.0)
        connection.execute(COUNT_AT_ONCE)
    assert changes(database) == before == maintainer.changes


def test_a_round_that_cleaned_something_is_not_the_last(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "m")
    delete(db, receive(db, arn))
    maintainer = maintain.Maintainer()
    maintainer.run_once(SETTINGS, TransactionExecutor(db))
    assert not maintainer.idle
    maintainer.run_once(SETTINGS, TransactionExecutor(db))  # The pause after a round has not ended.
    assert not maintainer.idle


# --- registered for a notification of webhooks -----------------------------------------------------------------------
def registered_seconds(db: Connection, watcher: UUID = WATCHER) -> int:
    """Makes a call. Returns the remaining time of the longest registration."""
    call(db, NEXT_DELIVERY, watcher, ["http"])
    seconds: int = value(db, "select round(extract(epoch from max(registered_at) - now()))::int + 5 from queue.watcher")
    return seconds


def pass_time(db: Connection, seconds: float) -> None:
    db.execute("update queue.watcher set registered_at = registered_at - %s * interval '1 second'", (seconds,))


def test_registrations_that_no_notification_uses_grow_longer(db: Connection) -> None:
    assert registered_seconds(db) == 5
    pass_time(db, 1)
    assert registered_seconds(db) == 60
    pass_time(db, 1)
    assert registered_seconds(db) == 59
    pass_time(db, 44)
    assert 7000 < registered_seconds(db) <= 7205
    pass_time(db, 2400)
    assert 4000 < registered_seconds(db) < 5000
    pass_time(db, 1200)
    assert 7000 < registered_seconds(db) <= 7205


def test_a_notification_uses_up_every_registration(db: Connection) -> None:
    for seconds in (1, 45, 3600):
        registered_seconds(db)
        pass_time(db, seconds)
    db.execute("select queue.wake_deliveries()")
    assert value(db, "select count(*) from queue.watcher where registered_at > now() - interval '5 seconds'") == 0
