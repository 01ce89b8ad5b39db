"""Tests the worker that delivers the events of buses to queues and topics exactly once, in the transaction of the
cursor."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from penstock.environment import build_worker_environment
from penstock.events.delivery import targets
from penstock.events.delivery.settlement import Settlement
from penstock.events.delivery.step import EventStep
from penstock.events.delivery.subscriber import Subscribers
from penstock.workers.events import MIN_ROUND_SECONDS, EventDeliverer
from tests.integration.sql.conftest import Connect
from tests.support.events import (
    BUS,
    SETTINGS,
    add_bus,
    change_state,
    expire_pauses,
    put,
    run,
    sequence,
    subscribe,
    take,
)
from tests.support.sql.calls import Connection, arn_of, create, receive, value
from tests.support.wait import wait_until


@pytest.fixture(autouse=True)
def _bus(db: Connection) -> None:
    add_bus(db)


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


def test_a_step_without_time_ends_after_a_page(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event of a megabyte has a page, so large events with many filters cannot make a transaction long."""
    monkeypatch.setattr("penstock.events.delivery.step.STEP_SECONDS", 0)
    queue = create(db, "large")
    subscribe(db, queue)
    bodies = [f'"{number}{"x" * 1_000_000}"' for number in range(3)]
    put(db, BUS, *bodies)
    sequence(db)
    counts: Counter[str] = Counter()
    step = EventStep(db, build_worker_environment(SETTINGS), Subscribers(), counts)
    bus = value(db, "select bus_id from queue.event_bus")
    for delivered in (1, 2, 3):
        assert step.deliver(bus)
        assert counts["delivered"] == delivered
    assert not step.deliver(bus)
    assert take(db, queue) == bodies


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


def test_a_position_without_a_resumption_skips_nothing(db: Connection) -> None:
    """The call that stops a subscriber, and a call for a running one, ignore ResumePosition."""
    queue = create(db, "q")
    arn = subscribe(db, queue, "waiting")
    put(db, BUS, "1")
    change_state(db, arn, "RUNNING", "LATEST")
    change_state(db, arn, "STOPPED", "LATEST")
    change_state(db, arn, "RUNNING")
    change_state(db, arn, "RUNNING", "LATEST")
    run(db, delivered=1)
    assert take(db, queue) == ["1"]


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
    horizon = {"PointType": "HORIZON"}
    subscribe(
        db,
        replayed,
        "all",
        start_at="2020-01-01T00:00:00Z",
        Transformer={"Type": "WITH_METADATA"},
        PointInTimeConfiguration=horizon,
    )
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


# --- filters ---------------------------------------------------------------------------------------------------------
def filters(**patterns: object) -> dict[str, object]:
    listed = [{"Scope": scope, "Pattern": json.dumps(pattern)} for scope, pattern in patterns.items()]
    return {"Language": "EVENT_BRIDGE_PATTERN", "Filters": listed}


def test_filters_choose_the_events(db: Connection) -> None:
    large, shop, both = create(db, "large"), create(db, "shop"), create(db, "both")
    only_large = {"amount": [{"numeric": [">", 10]}]}
    from_shop = {"aws:Source": ["shop"]}
    subscribe(db, large, "large", FilterConfiguration=filters(DATA=only_large))
    subscribe(db, shop, "shop", FilterConfiguration=filters(SYSTEM_METADATA=from_shop))
    subscribe(db, both, "both", FilterConfiguration=filters(DATA=only_large, SYSTEM_METADATA=from_shop))
    put(db, BUS, '{"amount": 11}', '{"amount": 9}', '{"amount": 12}', sources=[None, "shop", "shop"])
    run(db, delivered=2 + 2 + 1)
    assert take(db, large) == ['{"amount": 11}', '{"amount": 12}']
    assert take(db, shop) == ['{"amount": 12}', '{"amount": 9}']
    assert take(db, both) == ['{"amount": 12}']


def test_a_changed_filter_applies_to_the_events_that_wait(db: Connection) -> None:
    queue = create(db, "q")
    arn = subscribe(db, queue, FilterConfiguration=filters(DATA={"n": [1]}))
    deliverer = EventDeliverer()
    put(db, BUS, '{"n": 1}', '{"n": 2}')
    assert deliverer.run_once(SETTINGS, db)["delivered"] == 1
    put(db, BUS, '{"n": 1}', '{"n": 2}')
    changes = json.dumps({"FilterConfiguration": filters(DATA={"n": [2]})})
    db.execute("select queue.update_event_subscriber(%s, null, %s, null)", [arn, changes])
    assert deliverer.run_once(SETTINGS, db)["delivered"] == 1
    assert take(db, queue) == ['{"n": 1}', '{"n": 2}']


def test_a_filter_can_choose_replayed_events(db: Connection) -> None:
    queue = create(db, "q")
    put(db, BUS, '"old"')
    only = filters(SYSTEM_METADATA={"aws:DeliveryType": ["REPLAY"]})
    point = {"PointType": "HORIZON"}
    subscribe(
        db, queue, start_at="2020-01-01T00:00:00Z", FilterConfiguration=only, PointInTimeConfiguration=point
    )  # fmt: skip
    put(db, BUS, '"new"')
    run(db, delivered=1)
    assert take(db, queue) == ['"old"']


def test_an_event_that_no_filter_can_read_is_not_lost(db: Connection) -> None:
    queue, other = create(db, "q"), create(db, "other")
    subscribe(db, queue, "data", FilterConfiguration=filters(DATA={"n": [1]}))
    subscribe(db, other, "source", FilterConfiguration=filters(SYSTEM_METADATA={"aws:Source": ["shop"]}))
    deep = "[" * 100_000 + "]" * 100_000
    put(db, BUS, deep, '{"n": 1}')
    run(db, delivered=2, unjudged=1)
    assert len(take(db, queue)) == 2
    assert take(db, other) == []


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


def test_many_subscribers_of_large_events_need_several_calls(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call for all payloads of a page could exceed the time limit of calls and the memory of a function."""
    monkeypatch.setattr(targets, "CALL_BYTES", 10)
    queues = [create(db, f"q{n}") for n in range(3)]
    for number, queue in enumerate(queues):
        subscribe(db, queue, f"s{number}")
    subscribe(db, arn_of("missing"), "missing")
    put(db, BUS, *(f'"event {n}"' for n in range(5)))
    run(db, delivered=15)
    assert value(db, "select count(*) from queue.event_retry") == 5
    assert [take(db, queue) for queue in queues] == [[f'"event {n}"' for n in range(5)]] * 3


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


# --- crashes and concurrency -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", ["store_first", "_end"])
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
        patch.setattr(Settlement, part, die)
        with pytest.raises(psycopg.OperationalError):
            run(worker)
    assert take(db, queue) == []
    run(db, delivered=1)
    assert take(db, queue) == ["1"]


def test_a_deletion_waits_for_the_step_that_stores_the_cursor(db: Connection, connect: Connect) -> None:
    """A session that reads the cursor holds up the step. A deletion that does not wait would lock the subscriber, and
    the step and the deletion would wait for each other."""
    arn = subscribe(db, create(db, "q"), start_at="2026-01-01T00:00:00Z")
    put(db, BUS, "1")
    reader, worker, client = connect(), connect(), connect()
    reader.execute("begin")
    reader.execute("select from queue.event_cursor for share")
    delivers = Thread(target=run, args=[worker], kwargs={"delivered": 1})
    deletes = Thread(target=value, args=[client, "select queue.delete_event_subscriber(%s)", arn])
    waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    for number, thread in enumerate((delivers, deletes), 1):
        thread.start()
        wait_until(lambda: value(db, waits) == number)  # noqa: B023 - called before the next number
    reader.execute("commit")
    for thread in (delivers, deletes):
        thread.join()
    assert value(db, "select count(*) from queue.event_subscriber") == 0
    assert value(db, "select count(*) from queue.event_cursor where subscriber_id <> 0") == 0
    assert take(db, "arn:aws:sqs:us-east-1:000000000000:q") == ["1"]


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


@pytest.mark.parametrize("work", ["publication", "replay", "resumption"])
def test_the_worker_is_woken_by_work(db: Connection, connect: Connect, work: str) -> None:
    """The worker registers with its second empty run; an application's open transaction does not take the
    registration from other publishers."""
    arn = subscribe(db, create(db, "q"), state="STOPPED")
    listener, forgotten = connect(), connect()
    listener.execute("listen penstock")
    deliverer = EventDeliverer(watcher := uuid4())
    deliverer.run_once(SETTINGS, db)
    assert value(db, "select watcher from queue.watcher where queue_id = -1") == watcher
    forgotten.execute("begin")
    forgotten.execute("select queue.put_events('orders', '[{\"Data\": 1}]')")
    if work == "publication":
        put(db, BUS, "2")
    elif work == "replay":
        subscribe(db, create(db, "late"), "late", start_at="-infinity")
    else:
        change_state(db, arn, "RUNNING")
    (notice,) = listener.notifies(timeout=20, stop_after=1)
    assert notice.payload == "events"


def test_a_round_with_new_events_ends_with_a_rest(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    deliverer, rests = EventDeliverer(), list[float]()
    monkeypatch.setattr(deliverer._changed, "wait", rests.append)
    put(db, BUS, "1")
    deliverer.run_once(SETTINGS, db)
    (rest,) = rests
    assert 0 <= rest <= MIN_ROUND_SECONDS


def test_without_a_bus_the_worker_registers_nothing(db: Connection) -> None:
    db.execute("delete from queue.event_bus")
    deliverer = EventDeliverer(uuid4())
    deliverer.run_once(SETTINGS, db)
    assert value(db, "select count(*) from queue.watcher") == 0
    assert deliverer.wait_ms is None
