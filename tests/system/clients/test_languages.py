"""Runs SDKs and consumers in Go, Java, Rust, PHP and Ruby, and the metrics job with the JDBC driver.

docs/guides/recipes.md lists the settings.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.clients.event_bus_scenario import EVENT_BUS
from tests.support.clients.scenario import FIFO, STANDARD, RefusedError, fifo, run_scenario, standard
from tests.support.clients.sdk_scenario import (
    FACTS,
    JAVA_PROGRAMS,
    LEFT,
    build_go_program,
    check_what_is_left,
    java_command,
    printed,
)
from tests.support.clients.service_client import ROOT, Deployment, client, counts, sqs_client
from tests.support.database import TestServer
from tests.support.jobs import history_generator
from tests.support.jobs.history_generator import Mixture
from tests.support.jobs.reference import CHANGING_CLOCKS, check_against_sql
from tests.support.sql.hostile_settings import give_all
from tests.support.wait import wait_until

# --- go --------------------------------------------------------------------------------------------------------------
# Tests versions 1 and 2 of the SDK for Go, each with JSON and with Query, the protocol before November 2023.
#
# In tests/support/clients/go, go.mod lists current versions, which use JSON, and query.mod lists older versions, which
# use Query. pubsub.mod lists gocloud.dev, which needs Go 1.26. The first build downloads the modules to
# .tools/clients/go.


class GoProgram:
    """Represents a running program that reads calls and prints one response a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self._input: IO[str] = process.stdin
        self._output: IO[str] = process.stdout

    def call(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Raises RefusedError with the SDK's error code."""
        action = "".join(part.capitalize() for part in method.split("_"))
        asked = json.dumps({"Action": action, "Input": arguments}, default=_base64)
        self._input.write(asked + "\n")
        self._input.flush()
        response = json.loads(self._output.readline(), object_hook=_present)
        if "Code" in response:
            raise RefusedError(response["Code"])
        return dict(response["Output"])

    def call_one_by_one(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Does not use batches: until 1.34.6, version 2 omitted a timeout of 0 from batches (issue 2250), which SQS
        refuses."""
        if method != "change_message_visibility_batch":
            return self.call(method, arguments)
        for entry in arguments["Entries"]:
            change = {name: entry[name] for name in ("ReceiptHandle", "VisibilityTimeout")}
            self.call("change_message_visibility", {"QueueUrl": arguments["QueueUrl"], **change})
        return {}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _present(value: dict[str, Any]) -> dict[str, Any]:
    """Removes members that the response did not contain, because Go prints them as null. Decodes base64 to bytes."""
    present = {name: member for name, member in value.items() if member is not None}
    if "BinaryValue" in present:
        present["BinaryValue"] = base64.b64decode(present["BinaryValue"])
    return present


@pytest.mark.clients
@pytest.mark.parametrize("versions", ["go.mod", "query.mod"])
@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_go_sdk(up: Deployment, tmp_path: Path, generation: str, versions: str) -> None:
    name = f"go-{generation}-{Path(versions).stem}"
    with subprocess.Popen(
        [str(build_go_program(generation, versions, tmp_path)), up.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        client = GoProgram(process)
        call = client.call_one_by_one if (generation, versions) == ("v2", "query.mod") else client.call
        told = run_scenario(standard(name), call), run_scenario(fifo(f"{name}.fifo"), call)
    assert process.returncode == 0
    assert told == (STANDARD, FIFO)


@pytest.mark.clients
def test_pubsub_of_go_uses_queues_and_topics(up: Deployment, tmp_path: Path) -> None:
    """Tests gocloud.dev/pubsub over SQS and SNS. gocloud.dev encodes the bodies, because they are not UTF-8."""
    with client("sns", up) as sns, sqs_client(up) as sqs:
        direct, subscribed = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("go-pubsub", "go-subscribed"))
        topic = sns.create_topic(Name="go-pubsub")["TopicArn"]
        queue = "arn:aws:sqs:us-east-1:000000000000:go-subscribed"
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)
    program = build_go_program("pubsub", "pubsub.mod", tmp_path)
    exchanged = {
        "first": base64.b64encode("grüße ".encode() + b"\xff 0").decode(),
        "messages": 25, "returned": True, "text": "x y",
    }  # fmt: skip
    assert printed([str(program), up.address, direct, subscribed, topic]) == {"sqs": exchanged, "sns": exchanged}
    assert counts(up, "go-pubsub") == counts(up, "go-subscribed") == ["0", "0", "0"]


# --- keda ------------------------------------------------------------------------------------------------------------
# Calls KEDA's scaler for SQS (tests/support/clients/keda, built by `make clients`) like KEDA's operator.
#
# Source: KEDA's page "AWS SQS Queue". The queue length is ApproximateNumberOfMessages. By default, KEDA adds in-flight
# messages. KEDA also adds delayed messages if its configuration requests them. The scaler scales from zero when the
# length exceeds activationQueueLength.

KEDA = ROOT / ".tools/clients/keda/scaler"


def seen(length: int, *, active: bool = True) -> dict[str, object]:
    return {"Length": length, "Active": active, "Target": 2}


@pytest.mark.clients
def test_the_scaler_of_keda_counts_messages(up: Deployment) -> None:
    assert KEDA.exists(), f"{KEDA} is missing: run `make clients`"
    with sqs_client(up) as sqs:
        url = sqs.create_queue(QueueName="keda", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
        entries = [{"Id": str(n), "MessageBody": "m", "DelaySeconds": 900 if n < 3 else 0} for n in range(9)]
        assert "Failed" not in sqs.send_message_batch(QueueUrl=url, Entries=entries)
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=2, WaitTimeSeconds=20)["Messages"]
    flying = len(received)
    assert printed([str(KEDA), up.address, "us-east-1", url]) == {
        "default": seen(6),
        "not flying": seen(6 - flying),
        "delayed too": seen(9),
        "activation": seen(6, active=False),
    }


# --- jvm -------------------------------------------------------------------------------------------------------------
# Runs JVM programs: the SDK for Java 2 (blocking, asynchronous, batching), JMS, temporary queues, Spring Cloud AWS and
# Camel.
#
# `make clients` compiles the programs to .tools/clients/java (tests/support/clients/java/install.sh).


@pytest.mark.clients
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_java_sdk(up: Deployment, kind: str) -> None:
    name = f"java-{kind}"
    assert printed(java_command("sdk", "Sdk", up.address, name, kind)) == FACTS
    check_what_is_left(up, name)


@pytest.mark.clients
def test_batch_manager(up: Deployment) -> None:
    """Sends 100 messages through SqsAsyncBatchManager. One message stays in flight."""
    assert printed(java_command("sdk", "Sdk", up.address, "java-batch", "batch")) == {"sent": 100, "received": 100}
    assert counts(up, "java-batch") == ["0", "1", "0"]


def create(up: Deployment, *queues: str, **attributes: str) -> None:
    with sqs_client(up) as sqs:
        for queue in queues:
            fifo = {"FifoQueue": "true"} if queue.endswith(".fifo") else {}
            sqs.create_queue(QueueName=queue, Attributes={**fifo, **attributes})


def arn(queue: str) -> str:
    return f"arn:aws:sqs:us-east-1:000000000000:{queue}"


def subscribed_topic(up: Deployment, name: str, queue: str, **attributes: str) -> None:
    with client("sns", up) as sns:
        topic = sns.create_topic(Name=name)["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn(queue), Attributes=attributes)


def received(up: Deployment, queue: str) -> dict[str, Any]:
    """Returns the only message in a queue."""
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        names = {"AttributeNames": ["All"], "MessageAttributeNames": ["All"]}
        (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, **names)["Messages"]
    return dict(message)


@pytest.mark.clients
def test_temporary_queues(up: Deployment) -> None:
    """Twenty requests receive their responses through virtual queues, which temporary-queues-client maps to one real
    queue.
    """
    create(up, "java-requests")
    assert printed(java_command("temporary", "Temporary", up.address, queue_url(up, "java-requests"))) == {"right": 20}
    assert counts(up, "java-requests") == ["0", "0", "0"]


def queue_url(up: Deployment, queue: str) -> str:
    with sqs_client(up) as sqs:
        return str(sqs.get_queue_url(QueueName=queue)["QueueUrl"])


@pytest.mark.clients
def test_jms_receives_messages_again(up: Deployment) -> None:
    """Tests a listener that fails once, bytes, recover(), and the redelivery of messages after a session closes."""
    create(up, "jms", "jms.fifo", VisibilityTimeout="600")
    text = ["grüße, 世界", "jms", 7, True]
    assert printed(java_command("jms", "Jms", up.address)) == {
        "exists": True,
        "listener": [["0080ff"], [*text, 1], [*text, 2]],
        "fifo": {"received": ["a1 a", "a2 a"]},
    }
    assert counts(up, "jms") == counts(up, "jms.fifo") == ["1", "0", "0"]
    left = received(up, "jms")
    assert (left["Body"], left["MessageAttributes"]) == (
        "left",
        {"JMS_SQSMessageType": {"DataType": "String", "StringValue": "text"}},
    )


@pytest.mark.clients
def test_spring_cloud_aws(up: Deployment) -> None:
    """Tests templates and listeners. The listener sets a rejected message's visibility timeout to 0, and SQS redelivers
    it."""
    create(up, "spring", "spring.fifo", "spring-topic", "spring-left", VisibilityTimeout="600")
    subscribed_topic(up, "spring", "spring-topic")
    aws = "--spring.cloud.aws"
    options = [
        f"{aws}.endpoint={up.address}",
        f"{aws}.region.static=us-east-1",
        f"{aws}.credentials.access-key=x",
        f"{aws}.credentials.secret-key=x",
        f"{aws}.sqs.listener.poll-timeout=2s",
        "--spring.main.banner-mode=off",
        "--logging.level.root=off",
    ]
    assert printed(java_command("spring", "Spring", *options)) == {
        "seen": [
            ["grüße, 世界", 3, "spring", "1"],
            ["grüße, 世界", 3, "spring", "2"],
            ["one", 1, "batch", "1"],
            ["topic", 4, "of the topic"],
            ["two", 2, "batch", "1"],
        ],
        "template": "received",
        "fifo": [["a1", "a"], ["a2", "a"]],
    }
    for queue in ("spring", "spring.fifo", "spring-topic"):
        assert counts(up, queue) == ["0", "0", "0"]
    left = received(up, "spring-left")
    assert left["Body"] == "left"
    assert left["MessageAttributes"]["JavaType"]["StringValue"] == "java.lang.String"


@pytest.mark.clients
def test_camel_routes_messages_between_queues(up: Deployment) -> None:
    """Tests routes between queues. SQS moves a message that a route rejected once to the dead-letter queue."""
    create(up, "camel-dead")
    redrive = json.dumps({"deadLetterTargetArn": arn("camel-dead"), "maxReceiveCount": 1})
    create(up, "camel", RedrivePolicy=redrive, VisibilityTimeout="5")
    create(up, "camel-topic")
    create(up, "camel.fifo", ContentBasedDeduplication="true")
    subscribed_topic(up, "camel", "camel-topic", RawMessageDelivery="true")
    assert printed(java_command("camel", "CamelRoutes", up.address)) == {
        "seen": ["grüße of camel", "of the topic", "refused", "three", "two"],
        "fifo": ["a1", "a2"],
    }
    assert counts(up, "camel-done") == ["3", "0", "0"]
    assert counts(up, "camel.fifo") == counts(up, "camel-topic") == ["0", "0", "0"]
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName="camel")["QueueUrl"]
        wait_until(
            lambda: "Messages" not in sqs.receive_message(QueueUrl=url) and counts(up, "camel-dead") == ["1", "0", "0"]
        )
    assert received(up, "camel-dead")["Body"] == "refused"


@pytest.mark.clients
def test_metrics_over_jdbc_with_hostile_settings(postgres: TestServer) -> None:
    """Sets all hostile settings at the same time, in the database and in libpq's environment. Plain SQL computes the
    expected metrics.
    """
    with postgres.database() as database, psycopg.connect(database.dsn, autocommit=True) as connection:
        history_generator.write(connection, CHANGING_CLOCKS, Mixture(1000, queues=3, groups=50))
        (jar,) = (JAVA_PROGRAMS / "jdbc/lib").glob("*.jar")
        parts = conninfo_to_dict(database.api_dsn)
        address = f"postgresql://{parts['user']}:{parts['password']}@{parts['host']}:{parts['port']}/{database.name}"
        role = str(parts["user"])
        give_all(connection, "database", database.name, role)
        variables = give_all(connection, "environment", database.name, role)
        span = ["--from", CHANGING_CLOCKS.from_at.isoformat(), "--to", CHANGING_CLOCKS.to_at.isoformat()]
        options = ["--jdbc-jar", str(jar), "--zone", CHANGING_CLOCKS.timezone, *span]
        environment = {**os.environ, **variables, "DATABASE_URL": address, "DATABASE_DIRECT_URL": address}
        subprocess.run([sys.executable, "-m", "penstock_metrics", *options], check=True, env=environment)
        check_against_sql(connection, CHANGING_CLOCKS)


# --- rust ------------------------------------------------------------------------------------------------------------
# Runs the SDK for Rust: aws-sdk-sqs, aws-sdk-sns and aws-sdk-eventbridgev2 (tests/support/clients/rust, built by
# `make clients`).

RUST = ROOT / ".tools/clients/rust/target/debug/penstock-client"


@pytest.mark.clients
def test_rust_sdk(up: Deployment) -> None:
    assert RUST.exists(), f"{RUST} is missing: run `make clients`"
    assert printed([str(RUST), up.address, "rust"]) == FACTS
    check_what_is_left(up, "rust")


@pytest.mark.clients
def test_rust_uses_event_buses(up: Deployment) -> None:
    assert RUST.exists(), f"{RUST} is missing: run `make clients`"
    assert printed([str(RUST), up.address, "rust-events", "events"]) == EVENT_BUS


# --- php and ruby ----------------------------------------------------------------------------------------------------
# Runs Debian's packages of async-aws, Symfony Messenger with its SQS transport, and the SDK for Ruby.

SCRIPTS = ROOT / "tests/support/clients"


def command(script: str, *arguments: str) -> list[str]:
    assert shutil.which("php"), "php is missing: see infra/local/install_debian_clients.sh"
    return ["php", str(SCRIPTS / script), *arguments]


@pytest.mark.clients
def test_async_aws(up: Deployment) -> None:
    """Version 1 uses Query. Version 1 has error codes, but no error classes for SQS."""
    seen = printed(command("php/sdk.php", up.address, "php"))
    assert seen == {**FACTS, "unknown": "AWS.SimpleQueueService.NonExistentQueue"}
    check_what_is_left(up, "php")


@pytest.mark.clients
def test_symfony_messenger(up: Deployment) -> None:
    """The transport creates its queues. A worker receives from both queues, and releases messages that it fetched but
    did not handle."""
    assert printed(command("php/messenger.php", up.address)) == {
        "waiting": 2,
        "standard": ["grüße", "late", "three", "two"],
        "fifo": ["a1", "a2"],
    }
    assert counts(up, "messenger") == ["1", "0", "0"]
    assert counts(up, "messenger.fifo") == ["0", "0", "0"]


@pytest.mark.clients
def test_ruby_uses_version_1_of_its_sdk(up: Deployment) -> None:
    """Version 1 uses Query, does not support FIFO queues, and sends a Host header without the port."""
    assert shutil.which("ruby"), "ruby is missing: see infra/local/install_debian_clients.sh"
    seen = printed(["ruby", str(SCRIPTS / "ruby/sdk.rb"), up.address, "ruby"])
    assert seen == {
        **{name: FACTS[name] for name in ("awaited", "failed", "received", "attributes")},
        "again": ["two", 2],
        "unknown": "AWS.SimpleQueueService.NonExistentQueue",
        "topic": {"body": "grüße, 世界 <&>", "subject": "of the topic", "topic": "ruby"},
    }
    assert counts(up, "ruby") == ["1", "0", "0"]
    assert counts(up, "ruby-topic") == ["0", "0", "0"]
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName="ruby")["QueueUrl"]
        (left,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], WaitTimeSeconds=20)["Messages"]
        assert (left["Body"], left["MessageAttributes"]) == ("left", LEFT)
        url = sqs.get_queue_url(QueueName="ruby-topic")["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    (statement,) = json.loads(attributes["Policy"])["Statement"]
    assert statement["Effect"] == "Allow"
