"""Tests what needs attention on event buses, and their measurements. Source: docs/reference/verdicts.md."""

import pytest
from psycopg.types.json import Jsonb

from penstock.postgres.statements.event_buses import OBSERVE_EVENT_SUBSCRIBERS, ObservedSubscriberRow
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
from tests.support.sql.calls import Connection, call, create, value


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
    assert {kind: (row.owner, row.name, row.number) for kind, row in found.items()} == {
        "subscriber_lags": ("orders", "slow", 2),
        "subscriber_stopped": ("orders", "stopped", 2),
    }
    assert late(db, 60.0) == []
    other = BUS.replace(ACCOUNT, "111122223333")
    db.execute("update queue.event_bus set account_id = '111122223333', arn = %s", (other,))
    assert {(row.owner, row.name) for row in late(db)} == {(other, "slow"), (other, "stopped")}
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
    assert (row.kind, row.owner, row.name, row.number) == ("subscriber_fails", "orders", "failing", 1)
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
    assert (row.kind, row.owner, row.name) == ("subscriber_drops", "orders", "failing")
    assert (row.error or "").startswith("RESOURCE_NOT_FOUND: ")
    assert fail("3") == [3]
    db.execute("update queue.event_outcome set failed_at = failed_at - interval '15 minutes'")
    assert late(db) == []
    assert fail("4") == [1]


def test_a_failure_queue_keeps_events_so_the_subscriber_drops_none(db: Connection) -> None:
    once = {"MaxRetryAttempts": 0, "MaxEventAgeInSeconds": 300}
    dead = {"Arn": create(db, "dead")}
    missing = f"arn:aws:sqs:{REGION}:{ACCOUNT}:missing"
    subscribe(db, missing, "keeps", RetryPolicy=once, OnFailureConfiguration=dead)
    put(db, BUS, "1")
    EventDeliverer().run_once(SETTINGS, db)
    assert [(row.kind, row.number) for row in late(db)] == [("subscriber_fails", 1)]


@pytest.mark.parametrize("kind", ["UNORDERED", "FIFO"])
def test_events_that_wait_for_a_rate_are_lag(db: Connection, kind: str) -> None:
    """The next turn of the destination is in an hour, so three events of a group are read and wait."""
    head = f"arn:aws:events:{REGION}:{ACCOUNT}"
    fields = Jsonb({"authorization_type": "API_KEY", "parameters": {}})
    call_it = "select queue.create_connection(%s, %s, 'c', %s, %s, '')"
    db.execute(call_it, (ACCOUNT, REGION, f"{head}:connection/c/1", fields))
    fields = Jsonb({
        "connection_arn": f"{head}:connection/c/1", "invocation_endpoint": "https://a.example/", "http_method": "POST",
        "rate_limit": 7,
    })  # fmt: skip
    target = f"{head}:api-destination/d/1"
    call_it = "select queue.create_api_destination(%s, %s, 'd', %s, %s)"
    db.execute(call_it, (ACCOUNT, REGION, target, fields))
    db.execute("update queue.api_destination set next_turn_at = now() + interval '1 hour'")
    arn = subscribe(db, target, "throttled")
    db.execute("update queue.event_subscriber set type = %s", (kind,))
    put(db, BUS, "1", "2", "3", groups=["g", "g", "g"])
    EventDeliverer().run_once(SETTINGS, db)

    def observe() -> ObservedSubscriberRow:
        (row,) = call(db, OBSERVE_EVENT_SUBSCRIBERS, BUS, None, None, None, 10)
        return row

    seen = observe()
    assert (seen.lag_events, seen.waiting, seen.retries, seen.next_retry_at) == (3, 3, 0, None)
    assert seen.lag_since == value(db, "select min(ingested_at) from queue.event")
    assert late(db, 60.0) == []
    db.execute("update queue.event_retry set ingested_at = ingested_at - interval '2 minutes'")
    (row,) = late(db, 60.0)
    assert (row.kind, row.owner, row.name, row.number) == ("subscriber_lags", "orders", "throttled", 3)
    assert row.error == "The rate limit of the API destination is 7 a second"
    put(db, BUS, "4")
    sequence(db)
    assert (observe().lag_events, observe().waiting) == (4, 3)
    db.execute("select queue.measure_installation()")
    read = "select value from queue.reading where name = %s and label = %s"
    assert value(db, read, "subscriber_lag", f"{BUS} {arn}") == 4
    assert value(db, read, "subscriber_lag_seconds", f"{BUS} {arn}") >= 120
    # The target has refused the first event, so the others of its group wait for a retry and not for the rate.
    db.execute("update queue.event_retry set attempts = 1, first_attempt_at = now() where number = ("
               "select min(number) from queue.event_retry)")  # fmt: skip
    assert observe().retries == 1
    assert [row.kind for row in late(db, 60.0)] == ([] if kind == "FIFO" else ["subscriber_lags"])
    change_state(db, arn, "STOPPED")
    assert {row.kind for row in late(db, 60.0)} == (set() if kind == "FIFO" else {"subscriber_stopped"})


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
