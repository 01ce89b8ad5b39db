"""What is counted of mappings: metrics by queue, and what the REST API says of each mapping.

Meanings: "Event source mapping metrics" (Types of metrics for Lambda functions, AWS Lambda Developer Guide),
https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import psycopg

from tests.support.wait import wait_until
from tests.support.web.prometheus_text import scrape

from .conftest import World

COUNTERS = {
    "invocations": 3,
    "failed_invocations": 1,
    "polled_messages": 4,
    "filtered_messages": 1,
    "invoked_messages": 3,
    "failed_messages": 1,
    "deleted_messages": 2,
}


def shown(world: World, mapping: str) -> dict[str, Any]:
    """The mapping of the REST API. A change of any mapping makes the poller store its counts."""
    httpx.patch(
        f"{world.service.url}/v1/mappings/{world.map_of_nothing()}", json={"enabled": False}
    ).raise_for_status()
    found: dict[str, Any] = httpx.get(f"{world.service.url}/v1/mappings/{mapping}").json()
    return found


def until_result(world: World, mapping: str, result: str) -> None:
    wait_until(lambda: shown(world, mapping)["last_result"] == result)


def test_messages_and_invocations(world: World) -> None:
    """Three messages: one is handled, one fails once, and a filter leaves one out."""
    url, arn = world.queue()
    failures = iter([ValueError("once")])

    def code(event: dict[str, Any]) -> None:
        (record,) = event["Records"]
        if record["body"] == '{"n": "bad"}' and (error := next(failures, None)) is not None:
            world.show_again(record)
            raise error

    name = world.function(code)
    pattern = json.dumps({"body": {"n": [{"exists": True}]}})
    mapping = world.map(arn, name, BatchSize=1, FilterCriteria={"Filters": [{"Pattern": pattern}]})
    for body in ('{"n": "bad"}', '{"n": "good"}', "other"):
        world.sqs.send_message(QueueUrl=url, MessageBody=body)
    world.until_empty(url)
    queue = arn.rpartition(":")[2]

    def counted() -> dict[str, float]:
        page = scrape(world.service.url)
        return {name: page.value(f"penstock_mapping_{name}_total", queue=queue) for name in COUNTERS}

    wait_until(lambda: counted() == COUNTERS)  # counted after the message was deleted
    found = scrape(world.service.url)
    for name in ("invocation_duration_seconds", "oldest_message_age_seconds"):
        assert found.value(f"penstock_mapping_{name}_count", queue=queue) == 3
    wait_until(lambda: shown(world, mapping)["invocations"] == 3)
    now = shown(world, mapping)
    assert (now["failed_invocations"], now["failing_since"], now["last_result"]) == (1, None, "OK")


def test_since_when_it_fails(world: World) -> None:
    """From the first failure on, whatever the later ones are, until a success."""
    url, arn = world.queue()
    answers: list[Any] = [b"{", {"batchItemFailures": 1}, None]
    name = world.function(lambda _: answers.pop(0))
    mapping = world.map(arn, name, FunctionResponseTypes=["ReportBatchItemFailures"])
    assert shown(world, mapping)["failing_since"] is None
    world.sqs.send_message(QueueUrl=url, MessageBody="m")
    seen = []
    for result in ("PROBLEM: the answer is not JSON", "PROBLEM: batchItemFailures is not a list"):
        until_result(world, mapping, result)
        seen.append(shown(world, mapping)["failing_since"])
        world.show_again(world.invocations(name)[-1].event["Records"][0])
    assert seen[0] is not None
    assert seen[1] == seen[0]
    world.until_empty(url)
    wait_until(lambda: shown(world, mapping)["failing_since"] is None)
    wait_until(lambda: shown(world, mapping)["invocations"] == 3)
    assert shown(world, mapping)["failed_invocations"] == 2


def test_a_function_that_cannot_be_reached_is_in_the_verdict(world: World) -> None:
    """Once no invocation has succeeded for five minutes (docs/verdicts.md)."""
    url, arn = world.queue()
    mapping = world.map(arn, "http://127.0.0.1:1/")
    world.sqs.send_message(QueueUrl=url, MessageBody="m")
    wait_until(lambda: shown(world, mapping)["failing_since"] is not None)
    with psycopg.connect(world.dsn, autocommit=True) as connection:
        earlier = "update queue.event_source_mapping set failing_since = failing_since - interval '5 minutes'"
        connection.execute(f"{earlier} where mapping_id = %s".encode(), (mapping,))

    def verdict() -> dict[str, Any]:
        scrape(world.service.url)  # which measures the queues
        lag = httpx.get(f"{world.service.url}/v1/metrics/lag").json()["queues"]
        found: dict[str, Any] = next(one["verdict"] for one in lag if one["name"] == arn.rpartition(":")[2])
        return found

    wait_until(lambda: verdict()["cause"] == "function_fails")
    text = "A function that the queue triggers fails. The target cannot be reached."
    assert (verdict()["kind"], verdict()["cause_text"]) == ("poisoned", text)
