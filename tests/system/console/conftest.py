"""Provides Debian's Chromium, and a service that has data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.database import TestServer
from tests.support.programs.penstock_service import Service, running_service
from tests.support.web.console import hostile_texts

MAPPING = "00000000-0000-4000-8000-000000000000"
HOSTILE = hostile_texts(1_000)
MINUTES = (
    "insert into queue.minute (queue_id, starts_at, sent, received, deleted, visible, in_flight, delayed)"
    " select queue_id, date_trunc('minute', now()) - n * interval '1 minute', 5, 5, 5, n, 0, 0"
    " from queue.queues, generate_series(2, 20) n where name = 'empty' on conflict do nothing"
)
"""Gives a queue measurements of several minutes, so that the page of the queue has charts at once."""
ACCOUNT_MINUTES = (
    "insert into queue.account_minute (account_id, region, starts_at, entered, finished)"
    " select '000000000000', 'us-east-1', date_trunc('minute', now()) - n * interval '1 minute', 5, 5"
    " from generate_series(2, 20) n on conflict do nothing"
)
"""Does the same for the overview, whose chart begins with a full minute."""


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Starts the browser without its sandbox, which root cannot use."""
    path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    return {"executable_path": path, "args": ["--no-sandbox"], "headless": True}


@pytest.fixture(scope="session")
def console(postgres: TestServer) -> Iterator[Service]:
    """Runs a service whose queues, messages, topics and schedules contain hostile texts wherever AWS allows them."""
    with postgres.database() as database, running_service(
        database.api_dsn, QUEUE_CONSOLE="full", QUEUE_METRICS_INTERVAL_MS="500", QUEUE_MAINTAIN_INTERVAL_MS="60000"
    ) as service:  # fmt: skip
        fill(service)
        with psycopg.connect(database.dsn) as connection:
            connection.execute(
                "update queue.event_source_mapping set mapping_id = %s, failing_since = now(), last_result = %s",
                (MAPPING, f"PROBLEM: {HOSTILE[0]}"),
            )
            connection.execute(
                "update queue.subscription set subscription_id = %s, arn = regexp_replace(arn, '[^:]*$', %s)",
                (MAPPING, MAPPING),
            )
            connection.execute(MINUTES)
            connection.execute(ACCOUNT_MINUTES)
        yield service


def send_hostile_texts(sqs: Any, url: str) -> None:
    for start in range(0, len(HOSTILE), 10):
        entries = [
            {
                "Id": str(number), "MessageBody": text, "MessageGroupId": "'\"!()`$&;",
                "MessageAttributes": {"a": {"DataType": "String", "StringValue": text}},
            }
            for number, text in enumerate(HOSTILE[start : start + 10])
        ]  # fmt: skip
        assert not sqs.send_message_batch(QueueUrl=url, Entries=entries).get("Failed")


def count_visible(sqs: Any, url: str) -> int:
    name = "ApproximateNumberOfMessages"
    return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def fill(service: Service) -> None:
    sqs, sns, http = service.sqs(), service.client("sns"), service.http()
    urls = {
        name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("orders", "orders-dead", "hostile", "empty")
    }
    for number in range(60):
        sqs.create_queue(QueueName=f"queue-{number:02}")
    arns = {
        name: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        for name, url in urls.items()
    }
    policy = json.dumps({"deadLetterTargetArn": arns["orders-dead"], "maxReceiveCount": 1})
    sqs.set_queue_attributes(QueueUrl=urls["orders"], Attributes={"RedrivePolicy": policy})
    sqs.tag_queue(
        QueueUrl=urls["hostile"], Tags={f"t{n}": text[:200] for n, text in enumerate(HOSTILE[:40]) if "\n" not in text}
    )
    for number in range(20):
        sqs.send_message(QueueUrl=urls["orders"], MessageBody=json.dumps({"order": number, "total": 19.5}))
    # On a busy machine, a receive may return nothing although messages are visible.
    while count_visible(sqs, urls["orders-dead"]) < 5:
        sqs.receive_message(QueueUrl=urls["orders"], MaxNumberOfMessages=5, VisibilityTimeout=0)
    for text in HOSTILE[:9]:
        sqs.send_message(QueueUrl=urls["orders-dead"], MessageBody=text)
    send_hostile_texts(sqs, urls["hostile"])
    topic = sns.create_topic(Name="news", Attributes={"DisplayName": "<script>alert(1)</script>"[:100]})["TopicArn"]
    subscription = {"FilterPolicy": json.dumps({"a": ["<script>window.pwned=1</script>"]})}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arns["orders"], Attributes=subscription)
    target = {"queue": "orders", "message": {"x": HOSTILE[0]}}
    assert http.post("/v1/schedules", json={"name": "daily", "cron": "0 3 * * *", "target": target}).status_code == 201
    mapping = {
        "queue": "orders", "function": "http://127.0.0.1:1/'\"<b>", "enabled": False,
        "filters": [{"body": HOSTILE[1:3]}], "tags": {"a": HOSTILE[3][:200]},
    }  # fmt: skip
    assert http.post("/v1/mappings", json=mapping).status_code == 201
    hook = {"protocol": "https", "endpoint": "https://127.0.0.1:1/<script>alert(1)</script>".replace("<", "%3C")}
    http.post("/v1/events/a.*/subscriptions", json=hook)
    http.post("/v1/events/a.b", json={"message": HOSTILE[1]})
    http.post("/v1/buses", json={"name": "shop", "description": HOSTILE[1].strip()[:500], "tags": {"a": "<b>"}})
    subscriber = {
        "name": "billing", "target": "none", "type": "FIFO", "tags": {"a": "<b>"},
        "filters": {"DATA": {"detail": {"x": [HOSTILE[2], HOSTILE[0]]}}},
        "configuration": {"OnFailureConfiguration": {"Arn": arns["orders-dead"]}},
    }  # fmt: skip
    assert http.post("/v1/buses/shop/subscribers", json=subscriber).status_code == 201
    stopped = {"name": "stopped", "target": "orders", "stopped": True}
    assert http.post("/v1/buses/shop/subscribers", json=stopped).status_code == 201
    events = [
        {"source": text[:256], "detail_type": text[:128], "detail": {"x": text}, "group_id": text[:128]}
        for text in HOSTILE[:60]
    ]
    assert http.post("/v1/buses/shop/events", json=events).status_code == 201
    for client in (sqs, sns, http):
        client.close()
