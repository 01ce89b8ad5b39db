"""Tests what needs attention on event buses, and their measurements. Source: docs/reference/verdicts.md."""

import pytest

from penstock.postgres.statements.metrics import READ_LATE_WORK, LateWorkRow
from penstock.workers.events import EventDeliverer
from tests.support.events import (
    ACCOUNT,
    BUS,
    REGION,
    SETTINGS,
    add_bus,
    change_state,
    put,
    sequence,
    subscribe,
)
from tests.support.sql.calls import Connection, call, create


@pytest.fixture(autouse=True)
def _bus(db: Connection) -> None:
    add_bus(db)


def late(db: Connection, seconds: float = 0.0) -> list[LateWorkRow]:
    return call(db, READ_LATE_WORK, ACCOUNT, REGION, 10_000, seconds, 600.0, 10_000_000)


def test_a_subscriber_that_does_not_read_lags(db: Connection) -> None:
    subscribe(db, create(db, "q"), "slow")
    subscribe(db, create(db, "r"), "stopped", state="STOPPED")
    assert late(db) == []
    put(db, BUS, "1", "2")
    sequence(db)
    found = {row.kind: row for row in late(db)}
    assert {kind: (row.name, row.number) for kind, row in found.items()} == {
        "subscriber_lags": ("orders/slow", 2),
        "subscriber_stopped": ("orders/stopped", 2),
    }
    assert late(db, 60.0) == []
    other = BUS.replace(ACCOUNT, "111122223333")
    db.execute("update queue.event_bus set account_id = '111122223333', arn = %s", (other,))
    assert {row.name for row in late(db)} == {f"{other}/slow", f"{other}/stopped"}
    db.execute("update queue.event_bus set account_id = %s, arn = %s", (ACCOUNT, BUS))
    EventDeliverer().run_once(SETTINGS, db)
    assert [row.kind for row in late(db)] == ["subscriber_stopped"]


def test_a_subscriber_fails_after_two_minutes_of_refusals(db: Connection) -> None:
    arn = subscribe(db, f"arn:aws:sqs:{REGION}:{ACCOUNT}:missing", "failing")
    put(db, BUS, "1")
    EventDeliverer().run_once(SETTINGS, db)
    assert late(db) == []
    db.execute("update queue.event_retry set first_attempt_at = first_attempt_at - interval '3 minutes'")
    (row,) = late(db)
    assert (row.kind, row.name, row.number) == ("subscriber_fails", "orders/failing", 1)
    assert (row.error or "").startswith("RESOURCE_NOT_FOUND: ")
    change_state(db, arn, "STOPPED")
    assert late(db) == []


def test_a_subscriber_fails_while_deliveries_end_without_success(db: Connection) -> None:
    """Without retries, no event waits. The concern ends 15 minutes after the last failure, and then counts anew."""
    once = {"MaxRetryAttempts": 0, "MaxEventAgeInSeconds": 300}
    subscribe(db, f"arn:aws:sqs:{REGION}:{ACCOUNT}:missing", "failing", RetryPolicy=once)

    def fail(*bodies: str) -> list[int]:
        put(db, BUS, *bodies)
        EventDeliverer().run_once(SETTINGS, db)
        return [row.number for row in late(db)]

    assert fail("1", "2") == [2]
    (row,) = late(db)
    assert (row.kind, row.name) == ("subscriber_fails", "orders/failing")
    assert (row.error or "").startswith("RESOURCE_NOT_FOUND: ")
    assert fail("3") == [3]
    db.execute("update queue.event_outcome set failed_at = failed_at - interval '15 minutes'")
    assert late(db) == []
    assert fail("4") == [1]


def test_measurements_of_buses_end_with_the_bus(db: Connection) -> None:
    arn = subscribe(db, create(db, "q"))
    put(db, BUS, "1", "22")
    EventDeliverer().run_once(SETTINGS, db)
    put(db, BUS, "3")
    sequence(db)
    db.execute("select queue.measure_installation()")
    read = "select name, label, value from queue.reading where name like 'bus%%' or name like 'subscriber%%'"
    found = {(name, label): value for name, label, value in db.execute(read).fetchall()}
    assert found[("bus_published", BUS)] == found[("bus_events", BUS)] == 3
    assert found[("bus_bytes", BUS)] == 4
    assert found[("subscriber_delivered", f"{BUS} {arn}")] == 2
    assert found[("subscriber_lag", f"{BUS} {arn}")] == 1
    assert found[("subscriber_lag_seconds", f"{BUS} {arn}")] > 0
    db.execute("delete from queue.event_subscriber")
    db.execute("delete from queue.event_bus")
    db.execute("select queue.measure_installation()")
    assert db.execute(read).fetchall() == []
