"""Defines the scenario of event buses, and runs it with boto3. The program for Rust runs the same steps with its
argument `events` (tests/support/clients/rust/src/events.rs).

The scenario creates a queue, two buses, and a subscriber with a filter and WITH_METADATA. PutEvents publishes an event
that the filter refuses, and one that matches it. PutRawEvents publishes bytes, their duplicate, and an entry with a
wrong content type. The scenario lists the buses in pages of one, and deletes everything.

Sources: "Publishing events", "Filter events", "Event structure" and "Deduplication" of the custom event bus (Amazon
EventBridge User Guide, https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html); botocore's model
`eventbridgev2`. docs/reference/event_bus.md: bytes arrive in base64, and a deletion is complete at the response.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.clients.service_client import Deployment, client, sqs_client

_PATTERN = '{"EventGroupId":["large"]}'
_DETAIL = {"text": "grüße, 世界 <&>"}
_TIME = datetime(2026, 8, 1, 1, 1, 1, tzinfo=UTC)

EVENT_BUS: dict[str, Any] = {
    "pages": [["-1"], ["-2"]],
    "retention": 7,
    "subscriber": {
        "target": True,
        "filters": [["SYSTEM_METADATA", _PATTERN]],
        "transformer": "WITH_METADATA",
        "type": "UNORDERED",
        "state": "RUNNING",
        "created in the last hour": True,
    },
    "events": [0, ["PUBLISHED", "PUBLISHED"]],
    "raw events": [1, ["PUBLISHED", "DEDUPLICATED", "VALIDATION_ERROR"]],
    "received": 2,
    "event": ["shop", "order", "2026-08-01T01:01:01Z", ["arn:aws:s3:::orders"], _DETAIL],
    "raw event": ["AID/", {"Team": "tëxt"}],
    "unknown": "ResourceNotFoundException",
    "left": [],
}


def run_event_bus(up: Deployment, name: str) -> dict[str, Any]:
    """Runs the scenario with boto3. The result must equal EVENT_BUS."""
    with client("eventbridgev2", up) as events, sqs_client(up) as sqs:
        url = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
        queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        storage = {"RetentionPeriodInDays": 7}
        buses = [
            events.create_event_bus(Name=f"{name}-{number}", StorageConfiguration=storage)["EventBusArn"]
            for number in (1, 2)
        ]
        facts: dict[str, Any] = {"pages": _list_pages(events, name)}
        shown = events.describe_event_bus(EventBusArn=buses[0])
        facts["retention"] = shown["StorageConfiguration"]["RetentionPeriodInDays"]
        subscriber = events.create_subscriber(
            Name=name,
            EventBusArn=buses[0],
            InvokeConfiguration={"TargetArn": queue, "RoleArn": f"arn:aws:iam::{queue.split(':')[4]}:role/bus"},
            FilterConfiguration={"Filters": [{"Scope": "SYSTEM_METADATA", "Pattern": _PATTERN}]},
            Transformer={"Type": "WITH_METADATA"},
        )["SubscriberArn"]
        facts["subscriber"] = _describe(events.describe_subscriber(SubscriberArn=subscriber), queue)
        published = events.put_events(EventBusArn=buses[0], Entries=[_event("small"), _event("large")])
        kinds = ("application/octet-stream", "application/octet-stream", "application/xml")
        raw_published = events.put_raw_events(EventBusArn=buses[0], Entries=[_raw_event(kind) for kind in kinds])
        facts |= {"events": _read_codes(published), "raw events": _read_codes(raw_published)}

        bodies = _receive(sqs, url, 2)
        facts["received"] = len(bodies)
        by_id = {body["SystemMetadata"]["aws:EventId"]: body for body in bodies}
        event = by_id[published["Entries"][1]["EventId"]]["Data"]
        raw_event = by_id[raw_published["Entries"][0]["EventId"]]
        facts["event"] = [event[member] for member in ("source", "detail-type", "time", "resources", "detail")]
        facts["raw event"] = [raw_event["Data"], raw_event["Metadata"]]

        events.delete_subscriber(SubscriberArn=subscriber)
        for bus in buses:
            events.delete_event_bus(EventBusArn=bus)
        sqs.delete_queue(QueueUrl=url)
        try:
            events.describe_event_bus(EventBusArn=buses[0])
        except events.exceptions.ResourceNotFoundException as error:
            facts["unknown"] = error.response["Error"]["Code"]
        facts["left"] = _list_pages(events, name)
    return facts


def _list_pages(events: Any, name: str) -> list[list[str]]:
    """Returns the ends of the names of the buses, one list for each page that has buses."""
    pages = events.get_paginator("list_event_buses").paginate(NamePrefix=name, PaginationConfig={"PageSize": 1})
    names = ([bus["Name"].removeprefix(name) for bus in page["EventBuses"]] for page in pages)
    return sorted(page for page in names if page)


def _describe(shown: dict[str, Any], queue: str) -> dict[str, Any]:
    return {
        "target": shown["InvokeConfiguration"]["TargetArn"] == queue,
        "filters": [[each["Scope"], each["Pattern"]] for each in shown["FilterConfiguration"]["Filters"]],
        "transformer": shown["Transformer"]["Type"],
        "type": shown["Type"],
        "state": shown["State"],
        "created in the last hour": abs(datetime.now(UTC) - shown["CreationTime"]) < timedelta(hours=1),
    }


def _event(group: str) -> dict[str, Any]:
    return {
        "Source": "shop",
        "DetailType": "order",
        "Detail": json.dumps(_DETAIL, ensure_ascii=False),
        "Resources": ["arn:aws:s3:::orders"],
        "Time": _TIME,
        "SystemMetadata": {"EventGroupId": group},
    }


def _raw_event(content_type: str) -> dict[str, Any]:
    system = {"ContentType": content_type, "EventGroupId": "large", "DeduplicationId": "once"}
    return {"Data": b"\x00\x80\xff", "Metadata": {"Team": "tëxt"}, "SystemMetadata": system}


def _read_codes(published: dict[str, Any]) -> list[Any]:
    codes = [entry.get("ErrorCode") or entry["SuccessCode"] for entry in published["Entries"]]
    return [published["FailedEntryCount"], codes]


def _receive(sqs: Any, url: str, count: int) -> list[dict[str, Any]]:
    """Receives messages with several calls, because a receive may return only some of them."""
    found: list[dict[str, Any]] = []
    for _ in range(10):
        if len(found) < count:
            response = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=20)
            found += [json.loads(message["Body"]) for message in response.get("Messages", [])]
    return found
