"""Tests backup and restore with the commands in docs/operate/backup.md. Then tests the restored service with earlier
clients.

The tests restore a dump into a new cluster with another major version, whose transaction ids start again, and a base
backup to a point in time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import psycopg
from botocore.config import Config

from penstock.postgres.migrations import migrate
from penstock.settings import Settings
from penstock_web.cli.key_ring import KeyRing
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.database import Database, TestServer, memory_directory, new_cluster
from tests.support.programs.penstock_service import running_service

PAGE = (Path(__file__).parents[3] / "docs/operate/backup.md").read_text()
BLOCKS = re.findall(r"^```(?:sh|ini)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
# The placeholder that the page uses if no variables are set.
DOCUMENTED_BACKUP = "/var/backups/penstock"
SETTINGS = {"QUEUE_ACCESS": "sigv4", "QUEUE_ENCRYPTION_KEY": b64encode(bytes(32)).decode()}
ACCOUNT = SystemAccount.choose()


class Deployment(NamedTuple):
    """Contains a service on one of the databases, a client, and the client's key."""

    sqs: Any
    key: tuple[str, str]


class Sent(NamedTuple):
    """Contains the clients' state: handles by body from receives before and after the restored moment, and a FIFO
    send.
    """

    handles: dict[str, str]
    lost_handles: dict[str, tuple[str, str]]
    step: dict[str, str]
    sequence_number: str


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
        made = ring.create(None, "", False)
        key_id, secret = made.key_id, made.secret
    return key_id, secret


def block(words: str) -> str:
    (found,) = [text for text in BLOCKS if words in text]
    return str(found)


def run_block(words: str, variables: Mapping[str, object], lz4: bool = True) -> str:
    """Runs a block from the page. Returns the output. `lz4` is true if the new server supports lz4."""
    text = block(words) if lz4 else block(words).replace("pg_dump ", "pg_dump --no-toast-compression ")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path} | {name: str(value) for name, value in variables.items()}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def run_block_as_server(words: str, log: Path, variables: Mapping[str, object]) -> None:
    """Runs a block as the server's user instead of root."""
    environment = {name: str(value) for name, value in variables.items()}
    command = ["bash", "-euo", "pipefail", "-c", block(words)]
    done = ACCOUNT.run(command, log=log, environment=environment)
    assert done.returncode == 0, log.read_text()


def receive(sqs: Any, url: str, **options: Any) -> dict[str, str]:
    messages = sqs.receive_message(QueueUrl=url, **options).get("Messages", [])
    return {message["Body"]: message["ReceiptHandle"] for message in messages}


def urls(sqs: Any) -> list[str]:
    return [sqs.get_queue_url(QueueName=name)["QueueUrl"] for name in ("orders", "steps.fifo")]


def before(sqs: Any) -> Sent:
    """Creates messages in all states."""
    url = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
    fifo = sqs.create_queue(QueueName="steps.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    for body in ("handled later", "in flight", "waits"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    sqs.send_message(QueueUrl=url, MessageBody="delayed", DelaySeconds=900)
    handles = receive(sqs, url, MaxNumberOfMessages=2)
    assert len(handles) == 2
    step = {"MessageGroupId": "g", "MessageDeduplicationId": "1", "MessageBody": "first"}
    first = sqs.send_message(QueueUrl=fifo, **step)
    sqs.send_message(QueueUrl=fifo, **{**step, "MessageDeduplicationId": "2", "MessageBody": "second"})
    return Sent(handles, {}, step, first["SequenceNumber"])


def after(sqs: Any, sent: Sent) -> None:
    """Creates messages that the restored database does not contain, and receives them."""
    for number in range(20):
        body = f"sent-later-{number}"
        for url in urls(sqs):
            fifo = {"MessageGroupId": body, "MessageDeduplicationId": body} if url.endswith(".fifo") else {}
            sqs.send_message(QueueUrl=url, MessageBody=body, **fifo)
    for url in urls(sqs):
        for _ in range(3):
            received = receive(sqs, url, MaxNumberOfMessages=10)
            sent.lost_handles.update({f"{url} {body}": (url, handle) for body, handle in received.items()})
    assert len(sent.lost_handles) > 30


def check_restored(sqs: Any, sent: Sent) -> None:
    """Checks that the queue has the restored moment's state, and that other handles do not delete its messages."""
    url, fifo = urls(sqs)
    left = {"handled later", "in flight", "waits"} - set(sent.handles)
    assert set(receive(sqs, url, MaxNumberOfMessages=10)) == left
    (body, handle), (_, other) = sent.handles.items()
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
    assert list(receive(sqs, url, MaxNumberOfMessages=10)) == [body]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=other)
    names = ["ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible"]
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    assert counts == {names[0]: "1", names[1]: "2"}
    again = sqs.send_message(
        QueueUrl=fifo, **sent.step
    )  # The restored database contains the message, so SQS does not store a duplicate.
    assert again["SequenceNumber"] == sent.sequence_number
    third = sqs.send_message(QueueUrl=fifo, **{**sent.step, "MessageDeduplicationId": "3", "MessageBody": "third"})
    assert int(third["SequenceNumber"]) > int(sent.sequence_number)
    assert list(receive(sqs, fifo, MaxNumberOfMessages=10)) == ["first", "second", "third"]

    bodies = [f"new-{number}" for number in range(20)]
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body)
        sqs.send_message(QueueUrl=fifo, MessageBody=body, MessageGroupId=body, MessageDeduplicationId=body)
    for lost_url, handle in sent.lost_handles.values():
        delete_if_it_can(sqs, next(u for u in (url, fifo) if u[-5:] == lost_url[-5:]), handle)
    for each in (url, fifo):
        found: set[str] = set()
        while received := receive(sqs, each, MaxNumberOfMessages=10):
            found |= set(received)
        assert sorted(found & set(bodies)) == sorted(bodies)


def delete_if_it_can(sqs: Any, url: str, handle: str) -> None:
    """Deletes a message. For a missing message, SQS returns success, but a FIFO queue may return an error for an
    invalid handle."""
    try:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)
    except sqs.exceptions.ReceiptHandleIsInvalid:
        assert url.endswith(".fifo")


def test_by_dump_into_another_major_version(tmp_path: Path) -> None:
    """The old cluster's transaction ids are at epoch 3. The new cluster's transaction ids start at about 700."""
    with ExitStack() as stack:
        old = stack.enter_context(new_cluster("system"))
        ACCOUNT.run([old.binaries.path("pg_ctl"), "stop", "-w", "-D", old.data])
        done = ACCOUNT.run([old.binaries.path("pg_resetwal"), "--epoch=3", "-D", old.data])
        assert done.returncode == 0, done.stdout
        ACCOUNT.run(
            [old.binaries.path("pg_ctl"), "start", "-w", "-D", old.data, "-l", old.data / "log"],
            log=old.data.parent / "log",
        )
        migrate(old.service_dsn())
        with service(old.service_dsn()) as deployment:
            sent = before(deployment.sqs)
            new = stack.enter_context(new_cluster("wheel", fsync="on"))
            assert new.binaries.major != old.binaries.major
            path = f"{new.binaries.directory}:{Path(sys.executable).parent}:{os.environ['PATH']}"
            variables = {
                "PATH": path,
                "BACKUP": tmp_path / "backups/penstock",
                "DATABASE_DIRECT_URL": old.service_dsn(),
                "NEW_DATABASE_URL": new.service_dsn(),
            }
            run_block("install -d", variables)
            run_block("pg_dump --format=custom", variables, lz4=False)
            run_block("pg_dumpall --roles-only", variables | {"ADMIN_URL": old.superuser_dsn()})
            after(deployment.sqs, sent)
        output = run_block("penstock doctor --after-restore", variables)
        assert "grants applied" in output
        assert output.endswith("no problem found\n")
        # The restored service uses the same encryption key.
        with service(new.service_dsn(), deployment.key) as restored:
            check_restored(restored.sqs, sent)
        with psycopg.connect(new.service_dsn()) as connection:
            (transaction,) = connection.execute("select pg_current_xact_id()::text").fetchone() or ("",)
        assert int(transaction) < 2**32


def test_to_a_point_in_time() -> None:
    """The test restores a base backup, and replays the archived log up to a moment before the last messages."""
    with ephemeral_state(memory_directory()) as state:
        backup = ACCOUNT.create_private_folder(state / "backups") / "penstock"
        log = ACCOUNT.write(state / "log", "")
        run_block_as_server("install -d", log, {"PATH": "/usr/bin:/bin", "BACKUP": backup})
        lines = dict(re.findall(r"^(\w+) = '?(.*?)'?$", block("archive_command = "), re.MULTILINE))
        settings = {name: value.replace(DOCUMENTED_BACKUP, str(backup)) for name, value in lines.items()}
        with new_cluster("any", fsync="on", **settings) as old:
            variables = {
                "PATH": f"{old.binaries.directory}:/usr/bin:/bin",
                "BACKUP": backup,
                "ADMIN_URL": old.superuser_dsn(),
                "NEW_DATA": state / "restored",
                "NEW_ADMIN_URL": old.superuser_dsn(),
                "NEW_DATABASE_URL": old.service_dsn(),
            }
            migrate(old.service_dsn())
            with service(old.service_dsn()) as deployment:
                for _ in range(3):  # each night
                    run_block_as_server("pg_basebackup", log, variables)
                    run_block_as_server("pg_archivecleanup", log, variables)
                sent = before(deployment.sqs)
                with psycopg.connect(old.superuser_dsn(), autocommit=True) as connection:
                    (moment,) = connection.execute("select clock_timestamp()::text").fetchone() or ("",)
                after(deployment.sqs, sent)
            with psycopg.connect(old.superuser_dsn(), autocommit=True) as connection:
                connection.execute("select pg_switch_wal()")
            stop: list[str | Path] = [old.binaries.path("pg_ctl"), "stop", "-w", "-D"]
            ACCOUNT.run([*stop, old.data])  # A server's stop archives the rest of the log.
            ACCOUNT.create_private_folder(state)
            run_block_as_server("recovery_target_time", log, {**variables, "MOMENT": moment})
            try:
                output = run_block("penstock doctor --after-restore", {"NEW_DATABASE_URL": old.service_dsn()})
                assert output.endswith("no problem found\n")
                with service(old.service_dsn(), deployment.key) as restored:
                    check_restored(restored.sqs, sent)
            finally:
                ACCOUNT.run([*stop, state / "restored", "-m", "fast"])


def test_a_dump_leaves_no_gap_where_new_messages_would_be_lost(
    postgres: TestServer, database: Database, empty_database: Database, tmp_path: Path
) -> None:
    """Cursors, identities and sequences continue after the restored values."""
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        connection.execute("select queue.create('q')")
        for number in range(30):
            connection.execute("select queue.send('q', %s::text::jsonb)", (str(number),))
        received = connection.execute("select msg_id from queue.receive('q', 600, 10)").fetchall()
        assert len(received) == 10
    variables = {
        "PATH": f"{postgres.server.binaries.directory}:{os.environ['PATH']}",
        "BACKUP": tmp_path,
        "DATABASE_DIRECT_URL": database.api_dsn,
        "NEW_DATABASE_URL": empty_database.api_dsn,
    }
    run_block("pg_dump --format=custom", variables)
    migrate(empty_database.api_dsn)
    with psycopg.connect(empty_database.api_dsn, autocommit=True) as connection:
        for number in range(30, 40):
            connection.execute("select queue.send('q', %s::text::jsonb)", (str(number),))
        messages: list[int] = []
        while found := connection.execute("select message from queue.receive('q', 600, 10)").fetchall():
            messages += [row[0] for row in found]
    assert sorted(messages) == list(range(10, 40))


def test_every_variable_of_the_commands_is_explained() -> None:
    used = set(re.findall(r"\$(\w+)", "".join(BLOCKS)))
    assert used == set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert DOCUMENTED_BACKUP in PAGE
