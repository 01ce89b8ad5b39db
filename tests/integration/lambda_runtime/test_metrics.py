"""Tests function metrics. The CloudWatch User Guide, "Specification: Embedded metric format", and the Amazon SQS
Developer Guide, "Available CloudWatch metrics for Amazon SQS" define the names, the units, and the only dimension
QueueName."""

import json
from typing import Any

import pytest

from penstock.lambda_runtime.metrics import Metrics, QueueUsage, Value
from penstock.postgres.statements.installation import QueueCountsRow
from penstock.settings import Settings
from penstock.workers import measure
from tests.support.functions.invocations import QUEUE_URL, call, invoke, json_request
from tests.support.functions.server import Functions

GAUGES = {
    "ApproximateNumberOfMessagesVisible": "Count",
    "ApproximateNumberOfMessagesNotVisible": "Count",
    "ApproximateNumberOfMessagesDelayed": "Count",
    "ApproximateAgeOfOldestMessage": "Seconds",
}


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Returns the lines written since the last call, except log records."""
    read = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in read if "_aws" in line]


def measured(line: dict[str, Any]) -> tuple[dict[str, str], dict[str, float]]:
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    ((*names,),) = directive["Dimensions"]
    values = {metric["Name"]: line[metric["Name"]] for metric in directive["Metrics"]}
    return {name: line[name] for name in names}, {n: v[0] if isinstance(v, list) else v for n, v in values.items()}


def collected(functions: Functions, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, float]]:
    """Returns gauges by queue."""
    capsys.readouterr()
    functions.invoke("measure", {})
    found = [measured(line) for line in lines(capsys)]
    return {dimensions["QueueName"]: values for dimensions, values in found if "QueueName" in dimensions}


@pytest.mark.parametrize("driver", ["psycopg", "pg8000"])
def test_gauges_of_queues(database: Any, capsys: pytest.CaptureFixture[str], driver: str) -> None:
    with Functions(database.pooled_dsn, {"QUEUE_DATABASE_DRIVER": driver}) as functions:
        call(functions, "CreateQueue", QueueName="empty")
        for name, more in (("orders", {}), ("invoices.fifo", {"MessageGroupId": "g", "MessageDeduplicationId": "d"})):
            attributes = {"FifoQueue": "true"} if more else {}
            call(functions, "CreateQueue", QueueName=name, Attributes=attributes)
            url = QUEUE_URL.replace("orders", name)
            for number in range(3 if not more else 1):
                call(functions, "SendMessage", QueueUrl=url, MessageBody=str(number), **more)
        call(functions, "SendMessage", QueueUrl=QUEUE_URL, MessageBody="later", DelaySeconds=900)
        call(functions, "ReceiveMessage", QueueUrl=QUEUE_URL)
        found = collected(functions, capsys)
    ages = {name: values.pop("ApproximateAgeOfOldestMessage") for name, values in found.items()}
    names = list(GAUGES)[:3]
    assert found == {
        "empty": dict(zip(names, (0, 0, 0), strict=True)),
        "orders": dict(zip(names, (2, 1, 1), strict=True)),
        "invoices.fifo": dict(zip(names, (1, 0, 0), strict=True)),
    }
    assert ages["empty"] == 0
    assert all(0 <= age < 600 for age in ages.values())


def test_the_form_of_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    Metrics("000000000000", "us-east-1").put_depth(QueueCountsRow("000000000000", "us-east-1", "orders", 1, 2, 3, 4))
    (line,) = lines(capsys)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Penstock"
    assert directive["Dimensions"] == [["QueueName"]]
    assert {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]} == GAUGES
    assert isinstance(line["_aws"]["Timestamp"], int)
    assert measured(line)[1] == dict(zip(GAUGES, (1, 2, 3, 4), strict=True))


def test_queues_of_other_accounts_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    Metrics("000000000000", "us-east-1").put_depth(QueueCountsRow("111111111111", "eu-west-1", "orders", 0, 0, 0, 0))
    dimensions, _ = measured(lines(capsys)[0])
    assert dimensions == {"QueueName": "orders", "AccountId": "111111111111", "Region": "eu-west-1"}


def test_a_run_that_is_cut_short_goes_on(functions: Functions, database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock ends the run after each page of two queues, so three runs measure each of five queues once."""
    from penstock.postgres.database import Database

    for number in range(5):
        call(functions, "CreateQueue", QueueName=f"q{number}")
    clock = iter(range(0, 10_000, 3))
    monkeypatch.setattr(measure, "monotonic", lambda: next(clock))
    monkeypatch.setattr(measure, "QUEUES_PER_PAGE", 2)
    kept, seen, settings = Database(database.api_dsn), [], Settings.read({})
    runs = [measure.report_once(settings, kept, lambda depth: seen.append(depth.name)) for _ in range(3)]
    kept.close()
    assert seen == [f"q{number}" for number in range(5)]
    assert [run["queues"] for run in runs] == [2, 2, 1]


def test_workers_count_what_they_did(functions: Functions, capsys: pytest.CaptureFixture[str]) -> None:
    call(functions, "CreateQueue", QueueName="orders")
    capsys.readouterr()
    functions.invoke("maintain", {})
    functions.invoke("move", {})  # without a task, the function writes no metrics line
    assert [measured(line) for line in lines(capsys)] == [({"Worker": "maintain"}, {"Queues": 1})]


def test_only_what_is_ours_is_counted(functions: Functions, database: Any, capsys: pytest.CaptureFixture[str]) -> None:
    missing = json_request("SendMessage", QueueUrl=QUEUE_URL, MessageBody="b")
    assert invoke(functions, missing).status == 400
    assert lines(capsys) == []
    with Functions("postgresql://nobody:secret@127.0.0.1:9/nothing") as away:
        assert invoke(away, missing).status == 503
    (line,) = lines(capsys)
    assert measured(line) == ({"Service": "sqs", "Action": "SendMessage"}, {"Throttles": 1})


USED = {"QUEUE_USAGE_METRICS": "true"}


def used(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Returns the only metrics line since the last call, without the dimension."""
    (line,) = lines(capsys)
    assert measured(line)[0] == {"QueueName": "orders"}
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    return {metric["Name"]: (metric["Unit"], line[metric["Name"]]) for metric in directive["Metrics"]}


def test_requests_count_as_sqs_counts_them(database: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The line counts sent, received and deleted messages, receive calls "that did not return a message", and bytes
    (Developer Guide).
    """
    with Functions(database.pooled_dsn, USED) as functions:
        call(functions, "CreateQueue", QueueName="orders")
        assert not lines(capsys)
        entries = [{"Id": str(n), "MessageBody": "é" * n} for n in (1, 2)]
        call(functions, "SendMessageBatch", QueueUrl=QUEUE_URL, Entries=entries)
        assert used(capsys) == {"NumberOfMessagesSent": ("Count", [2]), "SentMessageSize": ("Bytes", [2, 4])}
        messages = call(functions, "ReceiveMessage", QueueUrl=QUEUE_URL, MaxNumberOfMessages=10)["Messages"]
        assert used(capsys) == {"NumberOfMessagesReceived": ("Count", [2])}
        call(functions, "ReceiveMessage", QueueUrl=QUEUE_URL)
        assert used(capsys) == {"NumberOfEmptyReceives": ("Count", [1])}
        call(functions, "DeleteMessage", QueueUrl=QUEUE_URL, ReceiptHandle=messages[0]["ReceiptHandle"])
        assert used(capsys) == {"NumberOfMessagesDeleted": ("Count", [1])}


def test_without_the_setting_a_request_writes_no_metrics(database: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with Functions(database.pooled_dsn) as functions:
        call(functions, "CreateQueue", QueueName="orders")
        call(functions, "SendMessage", QueueUrl=QUEUE_URL, MessageBody="1")
        assert not lines(capsys)


def test_a_line_is_what_powertools_would_write(capsys: pytest.CaptureFixture[str]) -> None:
    """Except for the time, the lines have the same keys and values. Powertools writes all numbers as floats."""
    metrics = Metrics("000000000000", "us-east-1")
    metrics.put({"QueueName": "orders"}, [Value("NumberOfMessagesSent", "Count", 2)])
    arn = "arn:aws:sqs:us-east-1:000000000000:orders"
    metrics.count_usage({arn: QueueUsage(sizes=[1, 1])})
    theirs, ours = lines(capsys)
    (directive,) = ours["_aws"]["CloudWatchMetrics"]
    assert directive["Metrics"].pop() == {"Name": "SentMessageSize", "Unit": "Bytes"}
    assert ours.pop("SentMessageSize") == [1, 1]
    for line in (theirs, ours):
        del line["_aws"]["Timestamp"]
        for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]:
            metric.pop("StorageResolution", None)  # the default is 60
    assert ours == theirs
