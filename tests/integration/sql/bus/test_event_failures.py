"""Tests what happens to events that a target refuses: retries, the failure queue, and the other subscribers."""

import json
from datetime import UTC
from uuid import uuid4

import pytest

from penstock.workers.events import EventDeliverer
from tests.support.events import (
    BUS,
    SETTINGS,
    add_bus,
    change_state,
    expire_pauses,
    put,
    run,
    subscribe,
    take,
)
from tests.support.sql.calls import Connection, arn_of, create, receive, value

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"


@pytest.fixture(autouse=True)
def _bus(db: Connection) -> None:
    add_bus(db)


def test_a_missing_queue_does_not_stop_the_others_and_gets_its_events_later(db: Connection) -> None:
    good = create(db, "good")
    subscribe(db, arn_of("missing"), "missing")
    subscribe(db, good, "good")
    put(db, BUS, "1", "2")
    run(db, delivered=2)
    put(db, BUS, "3")
    run(db, delivered=1)
    assert take(db, good) == ["1", "2", "3"]
    missing = create(db, "missing")
    run(db)  # The retries are not due.
    expire_pauses(db)
    run(db, delivered=3)
    assert take(db, missing) == ["1", "2", "3"]
    assert value(db, "select count(*) from queue.event_retry") == 0


def test_an_event_ends_in_the_failure_queue_after_its_attempts(db: Connection) -> None:
    dead = create(db, "dead")
    retry = {"MaxRetryAttempts": 2, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"}
    arn = subscribe(db, arn_of("missing"), RetryPolicy=retry, OnFailureConfiguration={"Arn": dead})
    ((event_id, number, _),) = put(db, BUS, '"payload"', groups=["g"])
    run(db)
    expire_pauses(db)
    run(db)
    expire_pauses(db)
    run(db, failed=1)
    (message,) = receive(db, dead, 10)
    at = value(db, "select ingested_at from queue.event where number = %s", number).astimezone(UTC)
    assert json.loads(message.body) == {
        "version": "1.0",
        "busArn": BUS,
        "subscriberArn": arn,
        "targetArn": arn_of("missing"),
        "errorCode": "RESOURCE_NOT_FOUND",
        "errorMessage": "The queue does not exist.",
        "exhaustedRetryCondition": "MaximumRetryAttempts",
        "retryAttempts": 2,
        "failedMessages": [
            {
                "eventId": str(event_id),
                "eventGroupId": "g",
                "deduplicationId": None,
                "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
                "targetRequestId": None,
            }
        ],
    }
    attributes = json.loads(message.attributes or "{}")
    assert attributes["ERROR_CODE"] == {"DataType": "String", "StringValue": "RESOURCE_NOT_FOUND"}
    assert attributes["RETRY_ATTEMPTS"] == {"DataType": "Number", "StringValue": "2"}
    assert "payload" not in message.body
    assert value(db, "select count(*) from queue.event_retry") == 0


def test_an_event_ends_by_its_age_since_the_first_attempt(db: Connection) -> None:
    dead = create(db, "dead.fifo")
    retry = {"MaxRetryAttempts": 185, "MaxEventAgeInSeconds": 60, "RetryStrategy": "ALL"}
    subscribe(db, arn_of("missing"), RetryPolicy=retry, OnFailureConfiguration={"Arn": dead})
    put(db, BUS, "1")
    run(db)
    db.execute("update queue.event_retry set first_attempt_at = first_attempt_at - interval '61 seconds'")
    expire_pauses(db)
    run(db, failed=1)
    (message,) = receive(db, dead, 10)
    assert json.loads(message.body)["exhaustedRetryCondition"] == "MaximumEventAgeInSeconds"


def test_without_retries_and_failure_queue_an_event_is_dropped(db: Connection) -> None:
    retry = {"MaxRetryAttempts": 0, "MaxEventAgeInSeconds": 60, "RetryStrategy": "ALL"}
    subscribe(db, arn_of("missing"), RetryPolicy=retry)
    put(db, BUS, "1")
    run(db, failed=1, dropped=1)
    assert value(db, "select count(*) from queue.event_retry") == 0


@pytest.mark.parametrize(
    ("name", "parameters", "code"),
    [
        ("q", {"DelaySeconds": "soon"}, "CUSTOMER_VALIDATION"),
        ("q", {"DelaySeconds": "901"}, "CUSTOMER_VALIDATION"),
        ("q.fifo", {}, "CUSTOMER_VALIDATION"),
        ("q", {"MessageAttributes": {"a b": {"DataType": "String", "StringValue": "v"}}}, "CUSTOMER_VALIDATION"),
    ],
)
def test_a_message_that_the_queue_refuses_is_a_refusal_of_the_event(
    db: Connection, name: str, parameters: dict[str, object], code: str
) -> None:
    subscribe(db, create(db, name), parameters=parameters)
    put(db, BUS, "1")
    run(db)
    assert value(db, "select error_code from queue.event_retry") == code


def test_a_queue_refuses_a_long_event(db: Connection) -> None:
    subscribe(db, create(db, "q", MaximumMessageSize="1024"))
    put(db, BUS, f'"{"x" * 2000}"', '"short"')
    run(db, delivered=1)
    assert value(db, "select error_code from queue.event_retry") == "REQUEST_TOO_LARGE"


def test_characters_that_sqs_refuses_fail_only_their_event(db: Connection) -> None:
    queue = create(db, "q")
    subscribe(db, queue)
    put(db, BUS, '"\uffff"', '"fine"')
    run(db, delivered=1)
    assert take(db, queue) == ['"fine"']


def test_an_error_of_the_database_stops_one_subscriber_only(db: Connection) -> None:
    good, bad = create(db, "good"), create(db, "bad")
    subscribe(db, bad, "bad")
    subscribe(db, good, "good")
    db.execute(
        "create function pg_temp.refuse() returns trigger language plpgsql as "
        "$$ begin raise exception 'disk\u0301 full'; end $$"
    )
    number = value(db, "select queue_id from queue.queues where arn = %s", bad)
    db.execute(
        f"create trigger refuse before insert on queue.log for each row when (new.queue_id = {number}) "
        "execute function pg_temp.refuse()".encode()
    )
    put(db, BUS, "1")
    run(db, delivered=1)
    for _ in range(8):  # A fault of the service ends no delivery.
        expire_pauses(db)
        run(db)
    db.execute("drop trigger refuse on queue.log")
    expire_pauses(db)
    run(db, delivered=1)
    assert (take(db, good), take(db, bad)) == (["1"], ["1"])


def test_an_event_beyond_its_retention_is_dropped_from_its_retries(db: Connection) -> None:
    subscribe(db, arn_of("missing"), OnFailureConfiguration={"Arn": create(db, "dead")})
    put(db, BUS, "1")
    run(db)
    db.execute("delete from queue.event")
    expire_pauses(db)
    run(db, dropped=1)
    assert value(db, "select count(*) from queue.event_retry") == 0


def test_the_retries_of_a_stopped_subscriber_do_not_keep_the_worker_awake(db: Connection) -> None:
    """Otherwise the worker would poll for ever, and no publication would wake it."""
    arns = [subscribe(db, target, target[-3:]) for target in (arn_of("one"), FUNCTION)]
    put(db, BUS, "1")
    run(db)
    expire_pauses(db)
    for arn in arns:
        change_state(db, arn, "STOPPED")
    worker = EventDeliverer(uuid4())
    worker.run_once(SETTINGS, db)
    assert worker.wait_ms is None
    assert value(db, "select count(*) from queue.watcher") == 1
    assert value(db, "select (queue.due_work()).due") == []
    for arn in arns:
        change_state(db, arn, "RUNNING")
    assert value(db, "select (queue.due_work()).due") == ["events"]
    create(db, "one")
    run(db, delivered=1)
