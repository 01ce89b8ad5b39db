"""Delivers events to queues by the worker of the container, from the publication by an SDK to the receive.

Source: "Event structure" of the custom event bus (Amazon EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.events import Events
from tests.support.wait import wait_until

pytestmark = pytest.mark.parametrize("events", ["container"], indirect=True)


def receive(events: Events, url: str, number: int) -> list[str]:
    """Waits until the queue has returned this number of messages."""
    found: list[str] = []

    def is_complete() -> bool:
        answer = events.sqs.client.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        found.extend(message["Body"] for message in answer.get("Messages", []))
        return len(found) >= number

    wait_until(is_complete)
    return found


def add_queue(events: Events) -> tuple[str, str]:
    client: Any = events.sqs.client
    url = client.create_queue(QueueName=events.name().replace(".", "-"))["QueueUrl"]
    attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    return str(url), str(attributes["QueueArn"])


def subscribe(events: Events, bus: str, target: str, **members: Any) -> str:
    given = events.given(bus, **{"InvokeConfiguration": {"TargetArn": target, "RoleArn": role()}, **members})
    return str(events.client.create_subscriber(**given)["SubscriberArn"])


def role() -> str:
    return "arn:aws:iam::000000000000:role/bus"


def test_an_event_reaches_the_queues_of_its_subscribers(events: Events) -> None:
    bus = events.bus()
    (all_url, all_arn), (some_url, some_arn) = add_queue(events), add_queue(events)
    subscribe(events, bus, all_arn)
    filters = [{"Scope": "DATA", "Pattern": json.dumps({"detail": {"amount": [{"numeric": [">", 10]}]}})}]
    subscribe(
        events,
        bus,
        some_arn,
        FilterConfiguration={"Filters": filters},
        Transformer={"Type": "WITH_METADATA"},
        Type="FIFO",
    )
    entries = [
        {"Source": "shop", "DetailType": "order", "Detail": json.dumps({"amount": amount})} for amount in (5, 20)
    ]
    answer = events.client.put_events(EventBusArn=bus, Entries=entries)
    ids = [entry["EventId"] for entry in answer["Entries"]]
    plain = [json.loads(body) for body in receive(events, all_url, 2)]
    assert sorted((event["id"], event["detail"]["amount"]) for event in plain) == sorted(zip(ids, (5, 20), strict=True))
    (text,) = receive(events, some_url, 1)
    event = json.loads(text)
    assert event["Data"]["detail"] == {"amount": 20}
    assert event["SystemMetadata"]["aws:EventId"] == ids[1]
    assert event["SystemMetadata"]["aws:SequenceNumber"] == answer["Entries"][1]["SequenceNumber"]
    assert event["SystemMetadata"]["aws:DeliveryType"] == "LIVE"


def test_an_expression_builds_the_message(events: Events) -> None:
    bus = events.bus()
    url, arn = add_queue(events)
    expression = "{% { 'total': $sum($events.Data.detail.items.(price * quantity)) } %}"
    arn = subscribe(
        events, bus, arn, Transformer={"Type": "JSONATA", "JsonataConfiguration": {"Expression": expression}}
    )
    detail = {"items": [{"price": 2.5, "quantity": 4}, {"price": 1, "quantity": 3}]}
    entry = {"Source": "shop", "DetailType": "order", "Detail": json.dumps(detail)}
    events.client.put_events(EventBusArn=bus, Entries=[entry])
    assert receive(events, url, 1) == ['{"total":13}']
    changed = {"Type": "JSONATA", "JsonataConfiguration": {"Expression": "{% 'order from ' & $events.Data.source %}"}}
    events.client.update_subscriber(SubscriberArn=arn, Transformer=changed)
    events.client.put_events(EventBusArn=bus, Entries=[entry])
    assert receive(events, url, 1) == ["order from shop"]


def test_a_subscriber_replays_what_was_published_before_it(events: Events) -> None:
    bus = events.bus()
    entry = {"Data": b'{"n":1}', "SystemMetadata": {"ContentType": "application/json"}}
    events.client.put_raw_events(EventBusArn=bus, Entries=[entry])
    url, arn = add_queue(events)
    subscribe(events, bus, arn, StartingPosition="POINT_IN_TIME", PointInTimeConfiguration={"PointType": "HORIZON"})
    assert receive(events, url, 1) == ['{"n":1}']
