"""The counts of mappings: metrics by queue, and what the REST API says of each mapping.

Meanings: "Event source mapping metrics" (Types of metrics for Lambda functions, AWS Lambda Developer Guide),
https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import psycopg

from tests.support.mappings.harness import Harness
from tests.support.wait import wait_until
from tests.support.web.prometheus_text import scrape

COUNTERS = {
    "invocations": 3,
    "failed_invocations": 1,
    "polled_messages": 4,
    "filtered_messages": 1,
    "invoked_messages": 3,
    "failed_messages": 1,
    "deleted_messages": 2,
}


def shown(harness: Harness, mapping: str) -> dict[str, Any]:
    """The mapping of the REST API. A change of any mapping makes the poller store its counts."""
    httpx.patch(
        f"{harness.service.url}/v1/mappings/{harness.map_of_nothing()}", json={"enabled": False}
    ).raise_for_status()
    found: dict[str, Any] = httpx.get(f"{harness.service.url}/v1/mappings/{mapping}").json()
    return found


def until_result(harness: Harness, mapping: str, result: str) -> None:
    wait_until(lambda: shown(harness, mapping)["last_result"] == result)


def test_messages_and_invocations(harness: Harness) -> None:
    """Three messages: one is handled, one fails once, and a filter leaves one out."""
    url, arn = harness.queue()
    failures = iter([ValueError("once")])

    def code(event: dict[str, Any]) -> None:
        (record,) = event["Records"]
        if record["body"] == '{"n": "bad"}' and (error := next(failures, None)) is not None:
            harness.show_again(record)
            raise error

    name = harness.function(code)
    pattern = json.dumps({"body": {"n": [{"exists": True}]}})
    mapping = harness.map(arn, name, BatchSize=1, FilterCriteria={"Filters": [{"Pattern": pattern}]})
    for body in ('{"n": "bad"}', '{"n": "good"}', "other"):
        harness.sqs.send_message(QueueUrl=url, MessageBody=body)
    harness.until_empty(url)
    queue = arn.rpartition(":")[2]

    def counted() -> dict[str, float]:
        page = scrape(harness.service.url)
        return {name: page.value(f"penstock_mapping_{name}_total", queue=queue) for name in COUNTERS}

    wait_until(lambda: counted() == COUNTERS)  # counted after the message was deleted
    found = scrape(harness.service.url)
    for name in ("invocation_duration_seconds", "oldest_message_age_seconds"):
        assert found.value(f"penstock_mapping_{name}_count", queue=queue) == 3
    wait_until(lambda: shown(harness, mapping)["invocations"] == 3)
    now = shown(harness, mapping)
    assert (now["failed_invocations"], now["failing_since"], now["last_result"]) == (1, None, "OK")


def test_since_when_it_fails(harness: Harness) -> None:
    """From the first failure on, whatever the later ones are, until a success."""
    url, arn = harness.queue()
    answers: list[Any] = [b"{", {"batchItemFailures": 1}, None]
    name = harness.function(lambda _: answers.pop(0))
    mapping = harness.map(arn, name, FunctionResponseTypes=["ReportBatchItemFailures"])
    assert shown(harness, mapping)["failing_since"] is None
    harness.sqs.send_message(QueueUrl=url, MessageBody="m")
    seen = []
    for result in ("PROBLEM: the answer is not JSON", "PROBLEM: batchItemFailures is not a list"):
        until_result(harness, mapping, result)
        seen.append(shown(harness, mapping)["failing_since"])
        harness.show_again(harness.invocations(name)[-1].event["Records"][0])
    assert seen[0] is not None
    assert seen[1] == seen[0]
    harness.until_empty(url)
    wait_until(lambda: shown(harness, mapping)["failing_since"] is None)
    wait_until(lambda: shown(harness, mapping)["invocations"] == 3)
    assert shown(harness, mapping)["failed_invocations"] == 2


def test_a_function_that_cannot_be_reached_is_in_the_verdict(harness: Harness) -> None:
    """Once no invocation has succeeded for five minutes (docs/verdicts.md)."""
    url, arn = harness.queue()
    mapping = harness.map(arn, "http://127.0.0.1:1/")
    harness.sqs.send_message(QueueUrl=url, MessageBody="m")
    wait_until(lambda: shown(harness, mapping)["failing_since"] is not None)
    with psycopg.connect(harness.dsn, autocommit=True) as connection:
        earlier = "update queue.event_source_mapping set failing_since = failing_since - interval '5 minutes'"
        connection.execute(f"{earlier} where mapping_id = %s".encode(), (mapping,))

    def verdict() -> dict[str, Any]:
        scrape(harness.service.url)  # which measures the queues
        lag = httpx.get(f"{harness.service.url}/v1/metrics/lag").json()["queues"]
        found: dict[str, Any] = next(one["verdict"] for one in lag if one["name"] == arn.rpartition(":")[2])
        return found

    wait_until(lambda: verdict()["cause"] == "function_fails")
    text = "A function that the queue triggers fails. The target cannot be reached."
    assert (verdict()["kind"], verdict()["cause_text"]) == ("poisoned", text)
