"""Runs job queues and workers in Python with the settings in docs/guides/recipes.md."""

from __future__ import annotations

import ast
import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Producer, Queue

from tests.support.clients.service_client import ROOT, Deployment, client, counts, kill, sqs_client, worker
from tests.support.clients.task_results import notes
from tests.support.wait import wait_until

# --- celery ----------------------------------------------------------------------------------------------------------

CELERY_SEND = """
from tests.support.clients.celery_tasks import add, succeed_at_third
for n in range(5):
    add.apply_async((n, 10), queue={queue!r})
succeed_at_third.apply_async(("grüße",), queue={queue!r})
"""
CELERY_SEND_ONE = """
from tests.support.clients.celery_tasks import end_when_started_twice
end_when_started_twice.apply_async(queue={queue!r})
"""


def celery_environment(up: Deployment, results: Path, visibility_seconds: int) -> dict[str, str]:
    results.touch()
    return {
        **os.environ,
        "BROKER_URL": up.address.replace("http://", "sqs://x:x@"),
        "RESULTS": str(results),
        "VISIBILITY_SECONDS": str(visibility_seconds),
    }


def command(queue: str, *options: str) -> list[str]:
    celery = [sys.executable, "-m", "celery", "-A", "tests.support.clients.celery_tasks", "worker"]
    return [*celery, "-Q", queue, "--loglevel", "INFO", *options]


def send_to_celery(code: str, queue: str, variables: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", code.format(queue=queue)], cwd=ROOT, env=variables, check=True)


@pytest.mark.parametrize("queue", ["celery", "celery.fifo"])
def test_every_task_is_done_once_and_retried_when_it_asks(up: Deployment, tmp_path: Path, queue: str) -> None:
    results = tmp_path / "results"
    variables = celery_environment(up, results, 600)
    with worker(command(queue, "--pool", "solo"), variables, tmp_path / "log"):
        send_to_celery(CELERY_SEND, queue, variables)
        wait_until(lambda: len(notes(results)) >= 8)
        wait_until(lambda: counts(up, queue) == ["0", "0", "0"])
    assert sorted(notes(results), key=str) == [
        *(["add", n, 10, n + 10] for n in range(5)),
        *(["attempt", "grüße", retries] for retries in range(3)),
    ]


@pytest.mark.clients
def test_a_task_that_outlives_its_visibility_timeout_comes_again(up: Deployment, tmp_path: Path) -> None:
    queue, results = "celery-outlived", tmp_path / "results"
    variables = celery_environment(up, results, 2)
    with worker(command(queue, "--pool", "threads", "--concurrency", "2"), variables, tmp_path / "log"):
        send_to_celery(CELERY_SEND_ONE, queue, variables)
        wait_until(lambda: notes(results).count(["end"]) >= 2)
        wait_until(lambda: counts(up, queue) == ["0", "0", "0"])
    assert notes(results)[:2] == [["start"], ["start"]]


@pytest.mark.clients
@pytest.mark.parametrize("queue", ["celery-killed", "celery-killed.fifo"])
def test_the_task_of_a_killed_worker_is_done_by_another(up: Deployment, tmp_path: Path, queue: str) -> None:
    results = tmp_path / "results"
    variables = celery_environment(up, results, 2)
    with worker(command(queue, "--pool", "solo"), variables, tmp_path / "killed") as process:
        send_to_celery(CELERY_SEND_ONE, queue, variables)
        wait_until(lambda: notes(results) == [["start"]])
        kill(process)
    with worker(command(queue, "--pool", "solo"), variables, tmp_path / "log"):
        wait_until(lambda: notes(results)[:3] == [["start"], ["start"], ["end"]])
        wait_until(lambda: counts(up, queue) == ["0", "0", "0"])


# --- dramatiq --------------------------------------------------------------------------------------------------------

DRAMATIQ_PYTHON = ROOT / ".tools/clients/clients/bin/python"
COMMAND = [
    str(DRAMATIQ_PYTHON),
    "-m",
    "dramatiq",
    "tests.support.clients.dramatiq_actors",
    "--processes",
    "1",
    "--threads",
    "2",
]
SEND = """
from tests.support.clients.dramatiq_actors import add, never_succeed, succeed_at_third
for n in range(5):
    add.send(n, 10)
succeed_at_third.send("grüße")
never_succeed.send("世界")
"""
SEND_ONE = "from tests.support.clients.dramatiq_actors import end_in_the_second_worker as actor; actor.send()"
NOTHING = ["0", "0", "0"]


def dramatiq_environment(up: Deployment, results: Path, namespace: str, visibility_seconds: int) -> dict[str, str]:
    assert DRAMATIQ_PYTHON.exists(), f"{DRAMATIQ_PYTHON} is missing: run `make clients`"
    results.touch()
    return {
        **os.environ,
        "ADDRESS": up.address,
        "NAMESPACE": namespace,
        "RESULTS": str(results),
        "VISIBILITY_SECONDS": str(visibility_seconds),
    }


def send(code: str, variables: dict[str, str]) -> None:
    subprocess.run([str(DRAMATIQ_PYTHON), "-c", code], cwd=ROOT, env=variables, check=True)


def dead_letter(up: Deployment, queue: str) -> tuple[str, list[str], dict[str, str]]:
    """Returns the actor and the arguments of the only message in a dead-letter queue, and the queue's tags."""
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        (message,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        tags = sqs.list_queue_tags(QueueUrl=url)["Tags"]
    task = json.loads(base64.b64decode(message["Body"]))
    return task["actor_name"], task["args"], tags


@pytest.mark.clients
def test_actors_are_run_retried_after_a_delay_and_put_aside(up: Deployment, tmp_path: Path) -> None:
    results = tmp_path / "results"
    variables = dramatiq_environment(up, results, "dramatiq", 600)
    with worker(COMMAND, variables, tmp_path / "log"):
        send(SEND, variables)
        wait_until(lambda: len(notes(results)) >= 10)
        wait_until(lambda: counts(up, "dramatiq_default") == NOTHING)
    assert sorted(notes(results), key=str) == [
        *(["add", n, 10, n + 10] for n in range(5)),
        *(["attempt", "grüße", retries] for retries in range(3)),
        *[["failure", "世界"]] * 2,
    ]
    expected = "never_succeed", ["世界"], {"of": "dramatiq"}
    assert dead_letter(up, "dramatiq_default_dlq") == expected


@pytest.mark.clients
def test_the_actor_of_a_killed_worker_is_run_by_another(up: Deployment, tmp_path: Path) -> None:
    """The second worker's visibility timeout is so long that its message is not redelivered during the run."""
    results = tmp_path / "results"
    variables = dramatiq_environment(up, results, "killed", 2)
    with worker(COMMAND, variables, tmp_path / "killed") as process:
        send(SEND_ONE, variables)
        wait_until(lambda: bool(notes(results)))
        kill(process)
    with worker(COMMAND, dramatiq_environment(up, results, "killed", 600), tmp_path / "log"):
        wait_until(lambda: notes(results)[-1][0] == "end")
        wait_until(lambda: counts(up, "killed_default") == NOTHING)


# --- kombu -----------------------------------------------------------------------------------------------------------
# Tests kombu without Celery: a producer with SQS options, and a consumer that acknowledges, requeues and rejects.
#
# Source: kombu's documentation of `kombu.transport.SQS`. boto3 then reads the queue's state.


@pytest.fixture
def connection(up: Deployment) -> Iterator[Connection]:
    options = {"region": "us-east-1", "visibility_timeout": 600, "wait_time_seconds": 5}
    with Connection(up.address.replace("http://", "sqs://x:x@"), transport_options=options) as connection:
        yield connection


@pytest.mark.clients
def test_a_message_that_is_given_back_comes_again(up: Deployment, connection: Connection) -> None:
    seen: list[tuple[Any, ...]] = []

    def take(body: Any, message: Any) -> None:
        seen.append((body, message.headers.get("of"), bool(message.delivery_info.get("redelivered"))))
        if body == {"text": "again"} and len([call for call in seen if call[0] == body]) == 1:
            message.requeue()
        elif body == {"text": "refused"}:
            message.reject()
        else:
            message.ack()

    queue = Queue("kombu", routing_key="kombu")
    with connection.channel() as channel:
        producer = Producer(channel)
        for text in ("grüße", "again", "refused"):
            producer.publish({"text": text}, routing_key="kombu", declare=[queue], headers={"of": "kombu"})
        producer.publish({"text": "late"}, routing_key="kombu", DelaySeconds=900)
        assert counts(up, "kombu") == ["3", "0", "1"]
        with Consumer(channel, [queue], callbacks=[take]):
            while len(seen) < 4:
                connection.drain_events(timeout=60)
    assert sorted(body["text"] for body, _, _ in seen) == ["again", "again", "grüße", "refused"]
    assert {of for _, of, _ in seen} == {"kombu"}
    assert counts(up, "kombu") == ["0", "0", "1"]


@pytest.mark.clients
def test_groups_of_a_fifo_queue(up: Deployment, connection: Connection) -> None:
    queue = connection.SimpleQueue("kombu.fifo")
    for group, text in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a1")]:
        queue.put({"text": text}, MessageGroupId=group, MessageDeduplicationId=text)
    messages = [queue.get(timeout=60) for _ in range(3)]
    texts = [message.payload["text"] for message in messages]
    assert sorted(texts) == ["a1", "a2", "b1"]
    assert [text for text in texts if text.startswith("a")] == ["a1", "a2"]
    assert counts(up, "kombu.fifo") == ["0", "3", "0"]
    for message in messages:
        message.ack()
    queue.close()
    assert counts(up, "kombu.fifo") == ["0", "0", "0"]
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName="kombu.fifo")["QueueUrl"]
        assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["FifoQueue"])["Attributes"] == {
            "FifoQueue": "true"
        }


# --- frameworks ------------------------------------------------------------------------------------------------------
# Tests loafer-ng, taskiq-aio-sqs, django-eb-sqs, sqs-extended-client, and Airflow's hooks, operator and sensor.
#
# Each worker receives its messages, retries failed messages, and leaves its queues empty.

PYTHON = ROOT / ".tools/clients/clients-frameworks/bin/python"
PACKAGE = "tests.support.clients.frameworks"


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
    """Runs a Python module as a program. Returns its output."""
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


@pytest.mark.clients
def test_loafer_handles_messages_of_a_queue_and_a_topic(up: Deployment, tmp_path: Path) -> None:
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


@pytest.mark.clients
@pytest.mark.parametrize("queue", ["taskiq", "taskiq.fifo"])
def test_taskiq_runs_tasks(up: Deployment, tmp_path: Path, queue: str) -> None:
    """The worker sends a failed task again. One task in the standard queue has a delay."""
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


@pytest.mark.clients
def test_django_eb_sqs(up: Deployment, tmp_path: Path) -> None:
    """The sender creates the queues. The worker sends a failed task again with a delay."""
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


@pytest.mark.clients
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


@pytest.mark.clients
def test_airflow_sends_and_receives_messages(up: Deployment, tmp_path: Path) -> None:
    """The sensor receives and deletes messages from a queue's hook, a topic's hook and an operator."""
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
