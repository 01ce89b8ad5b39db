"""Tests that hostile settings of a database, a role or libpq's environment change no response.

Each test sets one hostile setting in one place. The container and the functions return the same responses, except for
ids and times. SQL functions return and store the same in a session with the setting. `migrate` creates the same schema,
and refuses a read-only database with one line. tests/integration/jobs tests the metrics job.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import psycopg
import pytest
from botocore.config import Config

from penstock.postgres.migrations import migrate
from penstock.postgres.psycopg_connection import connect
from penstock.postgres.schema_dump import dump_schema
from penstock.settings import DRIVERS
from penstock_web.local.postgres import ROLE, free_port
from tests.support import client_setup
from tests.support.database import Database, TestServer
from tests.support.functions.server import FunctionServer
from tests.support.programs.penstock_service import running_service
from tests.support.programs.penstock_up import COMMAND
from tests.support.sql.hostile_settings import HOSTILE, Place, Setting, give

TEXT = "Grüße 😀 € \\ ' é"
AT = "at(2199-02-03T04:05:06)"
READ_ONLY = "default_transaction_read_only"
_VOLATILE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d[T ][0-9:.]+(?:Z|\+00:00)|\b1[789]\d{8,11}(?:\.\d+)?\b|127\.0\.0\.1:\d+"
)


@pytest.fixture(params=["database", "role", "environment"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.param
    return found


@pytest.fixture(params=HOSTILE, ids=" = ".join)
def setting(request: pytest.FixtureRequest) -> Setting:
    found: Setting = request.param
    return found


def set_hostile(database: Database, place: Place, setting: Setting) -> dict[str, str]:
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        return give(administration, place, setting, database.name, ROLE)


def normalize(responses: Any) -> str:
    """Removes ids, times and receipt handles from the responses' text."""
    text = json.dumps(responses, default=str, sort_keys=True, ensure_ascii=False)
    text = re.sub(r'"ReceiptHandle": "[^"]*"|age_sec\W+\d+', "*", text)
    return _VOLATILE.sub("*", text)


def ask_queues(sqs: Any) -> Iterator[Any]:
    for name in ("q", "q.fifo"):
        fifo = {"FifoQueue": "true"} if name.endswith("fifo") else {}
        queue = sqs.create_queue(QueueName=name, Attributes=fifo)["QueueUrl"]
        group = {"MessageGroupId": TEXT.encode().hex(), "MessageDeduplicationId": "1"} if fifo else {}
        attributes: dict[str, dict[str, Any]]
        attributes = {
            "a": {"DataType": "String", "StringValue": TEXT},
            "b": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
        }
        yield sqs.send_message(QueueUrl=queue, MessageBody=TEXT, MessageAttributes=attributes, **group)
        yield sqs.receive_message(
            QueueUrl=queue, MessageAttributeNames=["All"], AttributeNames=["All"], WaitTimeSeconds=5
        )
        yield sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])


def ask_topics(sns: Any, sqs: Any, queue: str, arn: str) -> Iterator[Any]:
    topic = sns.create_topic(Name="t")["TopicArn"]
    policy = json.dumps({"a": ["ü"], "n": [{"numeric": [">", 1.5]}]})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"FilterPolicy": policy})
    matching = {"a": {"DataType": "String", "StringValue": "ü"}, "n": {"DataType": "Number", "StringValue": "1.75"}}
    sns.publish(TopicArn=topic, Message=TEXT, MessageAttributes=matching)
    (copy,) = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]
    yield json.loads(copy["Body"])["Message"]
    yield sns.list_subscriptions()


def ask_schedules(scheduler: Any, arn: str) -> Iterator[Any]:
    target = {"Arn": arn, "RoleArn": "arn:aws:iam::000000000000:role/r", "Input": TEXT}
    for name, expression in (("at", AT), ("cron", "cron(0 3 ? * 2 *)"), ("rate", "rate(3 days)")):
        scheduler.create_schedule(
            Name=name, ScheduleExpression=expression, ScheduleExpressionTimezone="Europe/Berlin", Target=target,
            FlexibleTimeWindow={"Mode": "OFF"},
        )  # fmt: skip
        yield scheduler.get_schedule(Name=name)


def ask(url: str) -> str:
    """Sends requests with texts and times to the services at the given address. Returns the responses."""

    def client(service: str) -> Any:
        return boto3.client(
            service, endpoint_url=url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x",
            config=Config(retries={"total_max_attempts": 1}),
        )  # fmt: skip

    sqs = client("sqs")
    copies = sqs.create_queue(QueueName="copies")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=copies, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    responses = [
        *ask_queues(sqs),
        *ask_topics(client("sns"), sqs, copies, arn),
        *ask_schedules(client("scheduler"), arn),
    ]
    with client_setup.Client(base_url=url) as http:
        responses += [
            http.get(path).text for path in ("/v1/schedules", "/v1/queues/q", "/v1/queues/q/messages?state=all")
        ]
        responses.append(http.post("/v1/previews", json={"cron": "0 3 * * *", "timezone": "Asia/Tokyo"}).text)
    for response in responses:
        if isinstance(response, dict):
            response.pop("ResponseMetadata")
    return normalize(responses)


def ask_container(database: Database, **variables: str) -> str:
    url = database.api_dsn if "PGOPTIONS" in variables else database.pooled_dsn
    with running_service(url, database.api_dsn, QUEUE_SCHEDULE_ENABLED="false", **variables) as service:
        return ask(service.url)


def ask_functions(driver: str) -> Callable[..., str]:
    def ask_them(database: Database, **variables: str) -> str:
        url = database.api_dsn if "PGOPTIONS" in variables else database.pooled_dsn
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            with FunctionServer(url, variables={"QUEUE_DATABASE_DRIVER": driver}) as deployment:
                return ask(deployment.endpoint_url)

    return ask_them


DEPLOYMENTS = {"container": ask_container, **{f"functions by {driver}": ask_functions(driver) for driver in DRIVERS}}


@pytest.fixture(scope="module")
def usual(postgres: TestServer) -> dict[str, str]:
    """Returns each deployment's responses on a database with default settings."""
    found = {}
    for name, ask_it in DEPLOYMENTS.items():
        with postgres.database() as database:
            found[name] = ask_it(database)
    return found


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_the_responses_are_the_same(
    database: Database, place: Place, setting: Setting, deployment: str, usual: dict[str, str]
) -> None:
    variables = set_hostile(database, place, setting)
    if setting[0] == READ_ONLY:
        command = [*COMMAND, "up", "--no-migrate", "--port", str(free_port())]
        environment = {**os.environ, "DATABASE_URL": database.api_dsn, **variables}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        (line,) = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (1, "")
        assert READ_ONLY in line
        return
    migrate(database.api_dsn)
    assert DEPLOYMENTS[deployment](database, **variables) == usual[deployment]


CALLS = (
    "select queue.create('q')",
    "select queue.create_fifo('q.fifo')",
    r"""select 0 < queue.send('q', $${"a": "\u00fc \ud83d\ude00", "n": 0.1}$$, $${"h": "\u20ac"}$$)""",
    """select count(*) from queue.send_batch('q', array['{"b": 1.50}', '[null]']::jsonb[])""",
    """select 0 < queue.send_fifo('q.fifo', '"x"', 'group', 'once')""",
    "select queue.subscribe('order.*', 'q') > 0",
    """select queue.send_topic('order.made', '{"t": 1e10}')""",
    """select queue.create_schedule('cron', cron => '0 3 * * 1', timezone => 'Europe/Berlin', queue => 'q',
        message => '{"do": "it"}') is not null""",
    """select queue.create_schedule('once', fire_at => timestamptz '2199-02-03 04:05:06+00', queue => 'q',
        message => '1') is not null""",
    "select extract(epoch from f)::bigint from queue.next_fires('0 3 * * *', 'Asia/Tokyo', to_timestamp(1e9)) f",
    "select canonical from queue.preview_schedule(fire_at => '2199-02-03T04:05:06', timezone => 'Europe/Berlin')",
    "select queue.parse_schedule('fire_at', '2199-02-03T04:05:06', 'America/New_York')",
    "select queue.parse_schedule('every', '30m')",
    "select name, fifo, arn from queue.list_queues()",
    "select queue_length, visible from queue.metrics('q')",
)


def call_sql(database: Database, hostile: dict[str, str]) -> list[Any]:
    """Returns the SQL functions' results in a user's session, and their stored rows as a default session reads them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in hostile.items():
            patch.setenv(name, value)
        with psycopg.connect(database.api_dsn, autocommit=True) as user:
            responses: list[Any] = [user.execute(call.encode()).fetchall() for call in CALLS]
    responses = [[tuple(_decode(each) for each in row) for row in rows] for rows in responses]
    with connect(database.api_dsn) as ours:
        for call in (
            (
                "select message::text, headers::text from queue.receive('q', 30, 10)"
                ' order by message::text collate "C"'
            ),
            "select message::text from queue.receive_fifo('q.fifo', 30, 1)",
            "select extract(epoch from next_fire_at)::bigint from queue.schedule order by 1",
        ):
            responses.append(ours.execute(call.encode()).fetchall())
    return responses


def _decode(value: Any) -> Any:
    """Decodes bytes, because a session in SQL_ASCII returns texts as bytes."""
    return value.decode() if isinstance(value, bytes) else value


@pytest.fixture(scope="module")
def usual_sql(postgres: TestServer) -> list[Any]:
    with postgres.database() as database:
        return call_sql(database, {})


def test_a_users_session_gets_and_stores_the_same(
    database: Database, place: Place, setting: Setting, usual_sql: list[Any]
) -> None:
    variables = set_hostile(database, place, setting)
    if setting[0] == READ_ONLY:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            call_sql(database, variables)
        return
    # A session with the hostile isolation level can send, but cannot receive (QU004).
    if setting[0] == "default_transaction_isolation":
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            with psycopg.connect(database.api_dsn, autocommit=True) as user:
                user.execute("select queue.create('r')")
                with pytest.raises(psycopg.Error, match="under READ COMMITTED"):
                    user.execute("select * from queue.receive('r')")
        remove_hostile(database)
    assert call_sql(database, variables) == usual_sql


def remove_hostile(database: Database) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute("select queue.delete_queue('r')")


@pytest.fixture(scope="module")
def usual_schema(postgres: TestServer) -> str:
    with postgres.database() as database:
        return dump_schema(database.api_dsn)


def test_migrate_makes_the_same_schema(
    empty_database: Database, place: Place, setting: Setting, usual_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in set_hostile(empty_database, place, setting).items():
        monkeypatch.setenv(name, value)
    if setting[0] == READ_ONLY:
        command = [*COMMAND, "migrate", "--database", empty_database.api_dsn]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (line,) = done.stderr.splitlines()
        assert (done.returncode, done.stdout, READ_ONLY in line) == (1, "", True)
        return
    migrate(empty_database.api_dsn)
    assert dump_schema(empty_database.api_dsn) == usual_schema
