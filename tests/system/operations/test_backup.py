"""Backup and restore as docs/operations.md says: pg_dump of the schema, into a new database, then the service there."""

from __future__ import annotations

import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import psycopg
import pytest
from botocore.config import Config

from penstock.postgres.migrations import migrate
from penstock.settings import Settings
from penstock_web.cli.key_ring import KeyRing
from tests.support.database import Database, TestServer
from tests.support.programs.penstock_service import running_service

SETTINGS = {"QUEUE_ACCESS": "sigv4", "QUEUE_ENCRYPTION_KEY": b64encode(bytes(32)).decode()}


class Deployment(NamedTuple):
    """A service on one of the databases: a client of its own key, and the key."""

    sqs: Any
    key: tuple[str, str]


@contextmanager
def service(dsn: str, key: tuple[str, str] | None = None) -> Iterator[Deployment]:
    key = key or new_key(dsn)
    with running_service(dsn, **SETTINGS) as running:
        client = boto3.client(
            "sqs",
            endpoint_url=running.url,
            region_name="us-east-1",
            aws_access_key_id=key[0],
            aws_secret_access_key=key[1],
            config=Config(retries={"total_max_attempts": 1}),
        )
        yield Deployment(client, key)
        client.close()


def new_key(dsn: str) -> tuple[str, str]:
    with KeyRing.open(Settings.read({**SETTINGS, "DATABASE_URL": dsn})) as ring:
        key_id, secret, *_ = (line.partition("=")[2] for line in ring.create(None, "", False))
    return key_id, secret


def dump_and_restore(server: TestServer, source: Database, target: Database, file: Path) -> None:
    """The commands of the page, as the role that owns both databases."""
    programs = server.server.binaries
    run = [str(programs.path("pg_dump")), "--format=custom", "--schema=queue", "--no-owner"]
    subprocess.run([*run, f"--dbname={source.api_dsn}", f"--file={file}"], check=True)
    run = [str(programs.path("pg_restore")), "--exit-on-error", "--no-owner"]
    subprocess.run([*run, f"--dbname={target.api_dsn}", str(file)], check=True)
    applied = migrate(target.api_dsn)
    assert (applied.migrations, applied.functions) == ([], False)


@pytest.fixture
def old(database: Database) -> Iterator[Deployment]:
    with service(database.api_dsn) as deployment:
        yield deployment


def receive(sqs: Any, url: str, **options: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = sqs.receive_message(QueueUrl=url, **options).get("Messages", [])
    return messages


def test_a_restored_queue_is_the_queue_of_that_moment(
    postgres: TestServer, database: Database, empty_database: Database, old: Deployment, tmp_path: Path
) -> None:
    sqs = old.sqs
    url = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
    for body in ("handled later", "in flight", "waits"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    sqs.send_message(QueueUrl=url, MessageBody="delayed", DelaySeconds=900)
    taken = {m["Body"]: m["ReceiptHandle"] for m in receive(sqs, url, MaxNumberOfMessages=2)}
    fifo = sqs.create_queue(QueueName="steps.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    step = {"QueueUrl": fifo, "MessageGroupId": "g", "MessageDeduplicationId": "1", "MessageBody": "first"}
    first = sqs.send_message(**step)
    sqs.send_message(**{**step, "MessageDeduplicationId": "2", "MessageBody": "second"})

    dump_and_restore(postgres, database, empty_database, tmp_path / "queue.dump")
    sqs.send_message(QueueUrl=url, MessageBody="sent after the backup")

    with service(empty_database.api_dsn, old.key) as new:  # the key of before, under the same encryption key
        url = new.sqs.get_queue_url(QueueName="orders")["QueueUrl"]
        fifo = new.sqs.get_queue_url(QueueName="steps.fifo")["QueueUrl"]
        left = {"handled later", "in flight", "waits"} - set(taken)
        assert {m["Body"] for m in receive(new.sqs, url, MaxNumberOfMessages=10)} == left
        body, handle = taken.popitem()
        new.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
        assert [m["Body"] for m in receive(new.sqs, url, MaxNumberOfMessages=10)] == [body]
        _, handle = taken.popitem()
        new.sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)
        names = ["ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible"]
        counts = new.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        assert counts == {names[0]: "1", names[1]: "2"}
        again = new.sqs.send_message(**{**step, "QueueUrl": fifo})  # known: not stored a second time
        assert again["SequenceNumber"] == first["SequenceNumber"]
        third = new.sqs.send_message(**{**step, "QueueUrl": fifo, "MessageDeduplicationId": "3"})
        assert int(third["SequenceNumber"]) > int(first["SequenceNumber"])
        bodies = [m["Body"] for m in receive(new.sqs, fifo, MaxNumberOfMessages=10)]
        assert bodies == ["first", "second", "first"]


def test_a_dump_leaves_no_gap_where_new_messages_would_be_lost(
    postgres: TestServer, database: Database, empty_database: Database, tmp_path: Path
) -> None:
    """Cursors, identities and sequences go on behind what was restored."""
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        connection.execute("select queue.create('q')")
        for number in range(30):
            connection.execute("select queue.send('q', %s::text::jsonb)", (str(number),))
        received = connection.execute("select msg_id from queue.receive('q', 600, 10)").fetchall()
        assert len(received) == 10
    dump_and_restore(postgres, database, empty_database, tmp_path / "queue.dump")
    with psycopg.connect(empty_database.api_dsn, autocommit=True) as connection:
        for number in range(30, 40):
            connection.execute("select queue.send('q', %s::text::jsonb)", (str(number),))
        messages: list[int] = []
        while found := connection.execute("select message from queue.receive('q', 600, 10)").fetchall():
            messages += [row[0] for row in found]
    assert sorted(messages) == list(range(10, 40))
