"""Runs workers and extended clients in Python: loafer-ng, taskiq-aio-sqs, django-eb-sqs, sqs-extended-client, and
the hooks, the operator and the sensor of Airflow.

Each worker takes its messages, retries failed ones, and leaves its queues empty by the service's counts.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.clients.service_client import ROOT, Deployment, client, counts, sqs_client, worker
from tests.support.clients.task_results import notes
from tests.support.wait import wait_until

PYTHON = ROOT / ".tools/clients/clients-frameworks/bin/python"
PACKAGE = "tests.support.clients.frameworks"
NOTHING = ["0", "0", "0"]

pytestmark = pytest.mark.clients


def environment(up: Deployment, results: Path, **variables: str) -> dict[str, str]:
    assert PYTHON.exists(), f"{PYTHON} is missing: run `make clients`"
    results.touch()
    return {
        **os.environ,
        "ADDRESS": up.address,
        "RESULTS": str(results),
        "AWS_ENDPOINT_URL_SQS": up.address,
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        **variables,
    }


def module(name: str, variables: dict[str, str]) -> str:
    """Returns the output of a module that runs as a program."""
    command = [str(PYTHON), "-m", f"{PACKAGE}.{name}"]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def create(up: Deployment, queue: str, **attributes: str) -> tuple[str, str]:
    """Creates a queue. Returns the queue's URL and ARN."""
    with sqs_client(up) as sqs:
        url = sqs.create_queue(QueueName=queue, Attributes=attributes)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return url, arn


def test_loafer(up: Deployment, tmp_path: Path) -> None:
    results = tmp_path / "results"
    url, _ = create(up, "loafer")
    _, topic_queue = create(up, "loafer-topic")
    with client("sns", up) as sns:
        topic = sns.create_topic(Name="loafer")["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=topic_queue)
        with worker([str(PYTHON), "-m", f"{PACKAGE}.loafer_worker"], environment(up, results), tmp_path / "log"):
            with sqs_client(up) as sqs:
                bodies = [json.dumps({"text": text, "fails": text == "grüße"}) for text in ("grüße", "two", "three")]
                entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
                assert "Failed" not in sqs.send_message_batch(QueueUrl=url, Entries=entries)
            sns.publish(TopicArn=topic, Message=json.dumps({"text": "世界"}), Subject="of the topic")
            wait_until(lambda: len(notes(results)) >= 5)
            wait_until(lambda: counts(up, "loafer") == counts(up, "loafer-topic") == NOTHING)
    assert sorted(notes(results)) == [
        ["queue", "grüße", 1],
        ["queue", "grüße", 2],
        ["queue", "three", 1],
        ["queue", "two", 1],
        ["topic", "世界", "of the topic"],
    ]


@pytest.mark.parametrize("queue", ["taskiq", "taskiq.fifo"])
def test_taskiq(up: Deployment, tmp_path: Path, queue: str) -> None:
    """A failed task is sent again. One task of the standard queue has a delay."""
    results = tmp_path / "results"
    fifo = queue.endswith(".fifo")
    create(up, queue, **({"FifoQueue": "true", "ContentBasedDeduplication": "true"} if fifo else {}))
    variables = environment(up, results, QUEUE=queue)
    command = [str(PYTHON), "-m", "taskiq", "worker", f"{PACKAGE}.taskiq_tasks:broker", "--workers", "1"]
    expected = [
        *(["add", n, 10, n + 10] for n in range(5 if fifo else 6)),
        *(["attempt", "grüße", retries] for retries in range(3)),
    ]
    with worker(command, variables, tmp_path / "log"):
        module("taskiq_sender", variables)
        wait_until(lambda: len(notes(results)) >= len(expected))
        wait_until(lambda: counts(up, queue) == NOTHING)
    assert sorted(notes(results), key=str) == expected


def test_django_eb_sqs(up: Deployment, tmp_path: Path) -> None:
    """The sender creates the queues. A failed task is sent again with a delay."""
    results = tmp_path / "results"
    variables = environment(up, results, DJANGO_SETTINGS_MODULE=f"{PACKAGE}.eb_settings")
    module("eb_sender", variables)
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName="eb-default")["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert (attributes["MessageRetentionPeriod"], attributes["VisibilityTimeout"]) == ("1209600", "300")
    assert counts(up, "eb-default") == ["5", "0", "0"]
    command = [str(PYTHON), "-m", "django", "process_queue", "--queues", "eb-default,eb-other"]
    with worker(command, variables, tmp_path / "log"):
        wait_until(lambda: len(notes(results)) >= 8)
        wait_until(lambda: counts(up, "eb-default") == counts(up, "eb-other") == NOTHING)
    assert sorted(notes(results), key=str) == [
        *(["add", n, 10, n + 10] for n in range(5)),
        *(["attempt", "grüße", retries] for retries in range(3)),
    ]


def test_sqs_extended_client(up: Deployment, tmp_path: Path) -> None:
    variables = environment(up, tmp_path / "results")
    command = [str(PYTHON), "-m", f"{PACKAGE}.extended_client", up.address]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == {
        "in S3 when sent": 2,
        "received": [["s", 5], ["ü", 200_000], ["ü", 200_000]],
        "in S3 when one is deleted": 1,
        "failed": [],
    }
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName="extended")["QueueUrl"]
        assert counts(up, "extended") == ["1", "0", "0"]
        (left,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], WaitTimeSeconds=20)["Messages"]
    kind, pointer = json.loads(left["Body"])
    assert kind == "com.amazon.sqs.javamessaging.MessageS3Pointer"
    assert pointer["s3BucketName"] == "long-messages"
    assert left["MessageAttributes"] == {"SQSLargePayloadSize": {"StringValue": "400000", "DataType": "Number"}}


def test_airflow(up: Deployment, tmp_path: Path) -> None:
    """The sensor takes and deletes the messages of a hook, a topic's hook and an operator."""
    python = ROOT / ".tools/clients/clients-airflow/bin/python"
    assert python.exists(), f"{python} is missing: run `make clients`"
    extra = {"region_name": "us-east-1", "endpoint_url": up.address}
    connection = json.dumps({"conn_type": "aws", "login": "x", "password": "x", "extra": extra})
    variables = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "AIRFLOW_CONN_AWS_DEFAULT": connection}
    command = [str(python), "-m", "tests.support.clients.airflow_hooks"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert json.loads(last) == {"bodies": ["by the operator", "by the topic", "grüße"]}
    assert counts(up, "airflow") == NOTHING
