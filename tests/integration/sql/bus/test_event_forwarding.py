"""Tests the delivery of events to other buses, in the transaction of the cursor.

Source: "Targets" of the custom event bus (Amazon EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html).
"""

import json
from typing import Any

import pytest

from tests.support.events import BUS, add_bus, expire_pauses, put, run, subscribe, take
from tests.support.sql.calls import Connection, create, value

SECOND, THIRD = BUS.replace("orders", "second"), BUS.replace("orders", "third")
WITH_METADATA = {"Type": "WITH_METADATA"}


@pytest.fixture(autouse=True)
def _buses(db: Connection) -> None:
    for arn in (BUS, SECOND, THIRD):
        add_bus(db, arn.split("/")[1], arn)


def read_events(db: Connection, queue: str) -> list[dict[str, Any]]:
    return [json.loads(body) for body in take(db, queue)]


def test_a_forwarded_event_keeps_its_payload_group_and_origin(db: Connection) -> None:
    queue = create(db, "q")
    subscribe(db, SECOND, "forward")
    subscribe(db, queue, "queue", SECOND, Transformer=WITH_METADATA)
    ((event_id, number, _),) = put(
        db, BUS, '{ "n":1.0 }', groups=["g"], deduplication_ids=["d"], sources=["shop"], detail_types=["Order"],
        metadata=['{"k": "v"}'],
    )  # fmt: skip
    run(db, delivered=2)
    (message,) = take(db, queue)
    assert '"Data":{ "n":1.0 }' in message
    event = json.loads(message)
    assert event["Metadata"] == {"k": "v"}
    system = event["SystemMetadata"]
    assert {name: system[name] for name in ("ContentType", "EventGroupId", "aws:Source", "aws:DetailType")} == {
        "ContentType": "application/json",
        "EventGroupId": "g",
        "aws:Source": "shop",
        "aws:DetailType": "Order",
    }
    assert system["aws:EventId"] != str(event_id)
    assert int(system["aws:SequenceNumber"]) > 10**19 + number
    run(db)


def test_parameters_name_the_group_and_the_metadata(db: Connection) -> None:
    queue = create(db, "q")
    parameters: dict[str, object] = {
        "Metadata": {"from": "orders"},
        "SystemMetadata": {"EventGroupId": "other", "DeduplicationId": "once"},
    }
    subscribe(db, SECOND, "forward", parameters=parameters, Transformer=WITH_METADATA)
    subscribe(db, queue, "queue", SECOND, Transformer=WITH_METADATA)
    put(db, BUS, "1", "2", sources=["shop", "shop"])
    run(db, delivered=3)  # The second event is a duplicate of the first.
    (event,) = read_events(db, queue)
    assert event["Data"]["Data"] == 1
    assert event["Metadata"] == {"from": "orders"}
    assert (event["SystemMetadata"]["EventGroupId"], event["SystemMetadata"]["DeduplicationId"]) == ("other", "once")
    assert "aws:Source" not in event["SystemMetadata"]  # only RAW keeps it


def test_equal_contents_are_duplicates_if_the_parameters_say_so(db: Connection) -> None:
    queue = create(db, "q")
    content: dict[str, object] = {"DeduplicationConfiguration": {"DeduplicationType": "CONTENT_BASED"}}
    subscribe(db, SECOND, "forward", parameters=content)
    subscribe(db, queue, "queue", SECOND)
    put(db, BUS, "1", "1", "2")
    run(db, delivered=5)
    assert take(db, queue) == ["1", "2"]


def test_the_order_of_a_group_reaches_the_last_bus(db: Connection) -> None:
    queue = create(db, "q")
    subscribe(db, SECOND, "one")
    subscribe(db, THIRD, "two", SECOND)
    subscribe(db, queue, "queue", THIRD)
    db.execute("update queue.event_subscriber set type = 'FIFO'")
    for n in range(20):
        put(db, BUS, str(n), groups=["g"])
    run(db, delivered=60)
    found = [int(body) for (body,) in db.execute("select body from queue.log order by id").fetchall()]
    assert found == list(range(20))


def test_buses_that_forward_to_each_other_send_an_event_once(db: Connection) -> None:
    queue, failures = create(db, "q"), create(db, "failures")
    subscribe(db, SECOND, "there")
    subscribe(db, BUS, "back", SECOND, OnFailureConfiguration={"Arn": failures})
    subscribe(db, queue, "queue", BUS)
    put(db, BUS, "1")
    run(db, delivered=2, failed=1)
    assert take(db, queue) == ["1"]
    (record,) = [json.loads(body) for body in take(db, failures)]
    assert record["errorCode"] == "LOOP_DETECTED"
    assert value(db, "select count(*) from queue.event_retry") == 0


def test_a_missing_bus_is_tried_again(db: Connection) -> None:
    queue = create(db, "q")
    missing = BUS.replace("orders", "missing")
    subscribe(db, missing, "forward")
    subscribe(db, queue, "queue")
    put(db, BUS, "1", groups=["g"])
    run(db, delivered=1)
    assert value(db, "select error_code from queue.event_retry") == "RESOURCE_NOT_FOUND"
    add_bus(db, "missing", missing)
    subscribe(db, queue, "last", missing)
    expire_pauses(db)
    run(db, delivered=2)
    assert take(db, queue) == ["1", "1"]
    assert value(db, "select account_id is null from queue.event where passed = %s", BUS) is True  # the bus's owner


def test_an_event_that_is_too_large_with_its_metadata_is_refused(db: Connection) -> None:
    subscribe(db, SECOND, "forward", Transformer=WITH_METADATA, RetryPolicy={"MaxRetryAttempts": 0})
    put(db, BUS, json.dumps("x" * (1 << 20)), "1")
    run(db, delivered=1, failed=1, dropped=1)
