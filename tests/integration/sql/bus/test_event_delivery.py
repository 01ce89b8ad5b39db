"""Tests the worker that delivers the events of buses to queues and topics exactly once, in the transaction of the
cursor."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from penstock.events.delivery.step import EventStep
from penstock.settings import Settings
from penstock.workers.events import EventDeliverer
from tests.integration.sql.conftest import Connect
from tests.support.events import BUS, add_bus, change_state, put, sequence, subscribe
from tests.support.sql.calls import Connection, arn_of, bodies, create, receive, value

SETTINGS = Settings.read({})


@pytest.fixture(autouse=True)
def _bus(db: Connection) -> None:
    add_bus(db)


def run(db: Connection, **expected: int) -> None:
    """Runs the worker until no bus has work, and checks what it did."""
    counts = EventDeliverer().run_once(SETTINGS, db)
    assert {name: count for name, count in counts.items() if count and name != "sequenced"} == expected


def take(db: Connection, queue: str) -> list[str]:
    """Receives messages until the queue is empty. Returns their bodies in the order of the texts."""
    found: list[str] = []
    while received := bodies(receive(db, queue, 10)):
        found += received
    return sorted(found)


def expire_pauses(db: Connection) -> None:
    db.execute("update queue.event_retry set due_at = due_at - interval '1 hour'")


# --- who receives what -----------------------------------------------------------------------------------------------
def test_each_subscriber_receives_each_event_once(db: Connection) -> None:
    first, second = create(db, "first"), create(db, "second")
    subscribe(db, first, "one")
    subscribe(db, second, "two")
    put(db, BUS, '{"n":1}', '{"n": 2}')
    run(db, delivered=4)
    put(db, BUS, "[3]")
    run(db, delivered=2)
    run(db)
    assert take(db, first) == take(db, second) == ["[3]", '{"n": 2}', '{"n":1}']


def test_a_subscriber_receives_what_commits_after_its_creation(db: Connection, connect: Connect) -> None:
    """Neither the worker nor the sequencer has run when the subscriber is created."""
    queue = create(db, "late")
    publisher = connect()
    put(db, BUS, '"before"')
    publisher.execute("begin")
    put(publisher, BUS, '"open"')
    subscribe(db, queue)
    put(db, BUS, '"after"')
    run(db, delivered=1)
    publisher.execute("commit")
    run(db, delivered=1)
    assert take(db, queue) == ['"after"', '"open"']


def test_a_forgotten_transaction_delays_no_other_delivery(db: Connection, connect: Connect) -> None:
    queue = create(db, "q")
    subscribe(db, queue)
    forgotten = connect()
    forgotten.execute("begin")
    put(forgotten, BUS, '"forgotten"')
    forgotten.execute("select queue.put_events('orders', '[{\"Data\": 1}]')")
    for n in range(3):
        put(db, BUS, str(n))
        run(db, delivered=1)
    assert take(db, queue) == ["0", "1", "2"]


def test_a_new_subscriber_does_not_repeat_what_others_wait_for(db: Connection) -> None:
    old, new = create(db, "old"), create(db, "new")
    subscribe(db, old, "old")
    put(db, BUS, "1")
    subscribe(db, new, "new")
    put(db, BUS, "2")
    run(db, delivered=3)
    assert (take(db, old), take(db, new)) == (["1", "2"], ["2"])


@pytest.mark.parametrize("resume", [None, "LAST_PROCESSED", "LATEST"])
def test_a_stopped_subscriber_resumes_where_it_asks_to(db: Connection, resume: str | None) -> None:
    queue, other = create(db, "q"), create(db, "other")
    arn = subscribe(db, queue, "stopped")
    subscribe(db, other, "other")
    put(db, BUS, "1")
    run(db, delivered=2)
    change_state(db, arn, "STOPPED")
    put(db, BUS, "2")
    run(db, delivered=1)
    put(db, BUS, "3")  # No worker has seen this event.
    change_state(db, arn, "RUNNING", resume)
    put(db, BUS, "4")
    run(db, delivered=3 if resume == "LATEST" else 5)
    put(db, BUS, "5")
    run(db, delivered=2)
    assert take(db, queue) == (["1", "4", "5"] if resume == "LATEST" else ["1", "2", "3", "4", "5"])
    assert take(db, other) == ["1", "2", "3", "4", "5"]
    assert value(db, "select count(*) from queue.event_subscriber where follows") == 2


def test_a_subscriber_created_stopped_misses_nothing(db: Connection) -> None:
    queue = create(db, "q")
    arn = subscribe(db, queue, state="STOPPED")
    put(db, BUS, "1")
    run(db)
    change_state(db, arn, "RUNNING")
    run(db, delivered=1)
    assert take(db, queue) == ["1"]


def test_a_subscriber_that_starts_in_the_past_catches_up_and_goes_on(db: Connection) -> None:
    live, replayed, some = create(db, "live"), create(db, "replayed"), create(db, "some")
    subscribe(db, live, "live")
    for n in range(1, 4):
        put(db, BUS, f"{n}0", f"{n}1")
        run(db, delivered=2)
    db.execute("update queue.event set ingested_at = ingested_at - interval '1 hour' where data in ('10', '11')")
    db.execute(
        "update queue.event_page set first_at = first_at - interval '1 hour', "
        "sequenced_at = sequenced_at - interval '1 hour' where page = 1"
    )
    start = datetime.now(UTC) - timedelta(minutes=30)
    subscribe(db, replayed, "all", start_at="2020-01-01T00:00:00Z", Transformer={"Type": "WITH_METADATA"})
    subscribe(
        db, some, "some", start_at=start.isoformat(), PointInTimeConfiguration={"StartingPoint": start.timestamp()}
    )
    put(db, BUS, '"new"')
    run(db, delivered=1 + 7 + 5)
    assert take(db, some) == ['"new"', "20", "21", "30", "31"]
    found = [json.loads(body) for body in take(db, replayed)]
    kinds = {str(event["Data"]): event["SystemMetadata"]["aws:DeliveryType"] for event in found}
    assert kinds == {**dict.fromkeys(["10", "11", "20", "21", "30", "31"], "REPLAY"), "new": "LIVE"}
    assert value(db, "select count(*) from queue.event_subscriber where follows") == 3
    assert len(take(db, live)) == 7


def test_a_replay_ends_at_its_end_point(db: Connection) -> None:
    queue = create(db, "q")
    put(db, BUS, "1")
    sequence(db)
    end = datetime.now(UTC)
    put(db, BUS, "2")
    point = {"PointType": "HORIZON", "EndPoint": end.timestamp()}
    subscribe(db, queue, start_at="2020-01-01T00:00:00Z", PointInTimeConfiguration=point)
    put(db, BUS, "3")
    run(db, delivered=1)
    assert take(db, queue) == ["1"]


def test_a_revoked_or_undeliverable_subscriber_receives_nothing(db: Connection) -> None:
    queue = create(db, "q")
    subscribe(db, queue, "revoked")
    subscribe(db, queue, "later")
    db.execute("update queue.event_subscriber set revoked = name = 'revoked', deliverable = name <> 'later'")
    put(db, BUS, "1")
    run(db)
    assert take(db, queue) == []


def test_buses_do_not_mix(db: Connection) -> None:
    other = add_bus(db, "other", BUS.replace("orders", "other"))
    first, second = create(db, "first"), create(db, "second")
    subscribe(db, first, "one")
    subscribe(db, second, "two", other)
    put(db, BUS, "1")
    put(db, other, "2")
    run(db, delivered=2)
    assert (take(db, first), take(db, second)) == (["1"], ["2"])


def test_a_deleted_subscriber_leaves_nothing_behind(db: Connection) -> None:
    subscribe(db, arn_of("missing"))
    put(db, BUS, "1")
    run(db)
    assert value(db, "select count(*) from queue.event_retry") == 1
    assert (
        value(db, "select deleted from queue.delete_event_subscriber((select arn from queue.event_subscriber))") is True
    )
    expire_pauses(db)
    run(db)
    db.execute("select queue.maintain_events(100)")
    assert value(db, "select count(*) from queue.event_retry") == 0
    assert value(db, "select count(*) from queue.event_cursor where subscriber_id <> 0") == 0


# --- texts -----------------------------------------------------------------------------------------------------------
PAYLOAD = '{ "b":1.0,"a" : 12345678901234567890, "a":2, "ü":"\\u0000\\ud800" }'


def test_a_payload_arrives_byte_for_byte(db: Connection) -> None:
    queue = create(db, "q")
    subscribe(db, queue)
    put(db, BUS, PAYLOAD)
    run(db, delivered=1)
    assert take(db, queue) == [PAYLOAD]


def test_metadata_comes_with_the_payload(db: Connection) -> None:
    queue = create(db, "q")
    subscribe(db, queue, Transformer={"Type": "WITH_METADATA"})
    ((event_id, number, _),) = put(
        db, BUS, PAYLOAD, metadata=['{"k": "v"}'], groups=["g"], deduplication_ids=["d"],
        sources=["shop"], detail_types=["Order"],
    )  # fmt: skip
    put(db, BUS, "null")
    run(db, delivered=2)
    texts = take(db, queue)
    (text,) = [text for text in texts if PAYLOAD in text]
    system = json.loads(text)["SystemMetadata"]
    assert text.startswith(f'{{"Data":{PAYLOAD},"Metadata":{{"k":"v"}},"SystemMetadata":{{')
    at = value(db, "select ingested_at from queue.event where number = %s", number).astimezone(UTC)
    assert system == {
        "ContentType": "application/json",
        "DeduplicationId": "d",
        "EventGroupId": "g",
        "aws:DeliveryType": "LIVE",
        "aws:EventId": str(event_id),
        "aws:IngestionTime": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
        "aws:SequenceNumber": str(10**19 + number),
        "aws:Source": "shop",
        "aws:DetailType": "Order",
    }
    (plain,) = [json.loads(text) for text in texts if PAYLOAD not in text]
    assert plain["Data"] is None
    assert plain["Metadata"] == {}
    ids = {plain["SystemMetadata"][name] for name in ("DeduplicationId", "EventGroupId", "aws:EventId")}
    assert len(ids) == 1  # An event without a group is the only one of its group.
    assert "aws:Source" not in plain["SystemMetadata"]


def test_a_binary_payload_arrives_as_base64(db: Connection) -> None:
    queue = create(db, "q")
    subscribe(db, queue)
    db.execute(
        "select queue.put_bus_events(%s, '000000000000', array[gen_random_uuid()], '{2}', array['\\x00ff0a'::bytea])",
        [BUS],
    )
    run(db, delivered=1)
    assert take(db, queue) == ["AP8K"]


# --- queues and topics -----------------------------------------------------------------------------------------------
def test_parameters_become_members_of_the_message(db: Connection) -> None:
    plain, fifo = create(db, "plain"), create(db, "q.fifo")
    attributes = {"kind": {"DataType": "String", "StringValue": "order"}}
    subscribe(db, plain, "plain", parameters={"MessageAttributes": attributes, "DelaySeconds": "0"})
    subscribe(db, fifo, "fifo", parameters={"MessageGroupId": "g", "MessageDeduplicationId": "same"})
    put(db, BUS, "1", "2")
    run(db, delivered=4)  # SQS accepts a duplicate and stores one message.
    (first, _) = receive(db, plain, 10)
    assert json.loads(first.attributes or "{}") == attributes
    (only,) = receive(db, fifo, 10)
    assert (only.body, json.loads(only.system or "{}")["MessageGroupId"]) == ("1", "g")


def test_a_topic_receives_events_in_batches(db: Connection) -> None:
    topic = "arn:aws:sns:us-east-1:000000000000:news"
    queue = create(db, "q")
    db.execute("select queue.create_topic('000000000000', 'us-east-1', 'news', '{}', '{}')")
    db.execute(
        "insert into queue.subscription (subscription_id, topic_id, arn, owner, protocol, endpoint, attributes, "
        "confirmed) "
        "select gen_random_uuid(), topic_id, arn || ':1', '000000000000', 'sqs', %s, "
        '\'{"RawMessageDelivery": "true"}\', true from queue.topic',
        [queue],
    )
    subscribe(db, topic)
    put(db, BUS, *map(str, range(23)))
    run(db, delivered=23)
    assert take(db, queue) == sorted(map(str, range(23)))


# --- failures --------------------------------------------------------------------------------------------------------
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
        "errorMessage": "QueueDoesNotExist",
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


# --- crashes and concurrency -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", ["_settle", "_end"])
def test_a_step_that_dies_delivers_nothing(
    db: Connection, connect: Connect, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The connection is lost after the messages are in the queue's table."""
    queue = create(db, "q")
    subscribe(db, queue)
    put(db, BUS, "1")
    worker = connect()

    def die(*_: Any) -> None:
        db.execute("select pg_terminate_backend(%s)", [worker.info.backend_pid])
        worker.execute("select 1")

    with monkeypatch.context() as patch:
        patch.setattr(EventStep, part, die)
        with pytest.raises(psycopg.OperationalError):
            run(worker)
    assert take(db, queue) == []
    run(db, delivered=1)
    assert take(db, queue) == ["1"]


def test_two_workers_do_not_deliver_a_bus_at_once(db: Connection, connect: Connect) -> None:
    queue = create(db, "q")
    subscribe(db, queue)
    put(db, BUS, "1")
    other = connect()
    with other.transaction():
        other.execute("select pg_advisory_xact_lock(queue.event_delivery_key(bus_id)) from queue.event_bus")
        run(db)
    run(db, delivered=1)
    assert take(db, queue) == ["1"]


def test_the_worker_is_woken_by_a_publication(db: Connection, connect: Connect) -> None:
    """The worker registers with its second empty run; an application's open transaction does not take the
    registration from other publishers."""
    listener, forgotten = connect(), connect()
    listener.execute("listen penstock")
    deliverer = EventDeliverer(watcher := uuid4())
    deliverer.run_once(SETTINGS, db)
    assert value(db, "select watcher from queue.watcher where queue_id = -1") == watcher
    forgotten.execute("begin")
    forgotten.execute("select queue.put_events('orders', '[{\"Data\": 1}]')")
    put(db, BUS, "2")
    (notice,) = listener.notifies(timeout=20, stop_after=1)
    assert notice.payload == "events"


def test_without_a_bus_the_worker_registers_nothing(db: Connection) -> None:
    db.execute("delete from queue.event_bus")
    deliverer = EventDeliverer(uuid4())
    deliverer.run_once(SETTINGS, db)
    assert value(db, "select count(*) from queue.watcher") == 0
    assert deliverer.wait_ms is None
