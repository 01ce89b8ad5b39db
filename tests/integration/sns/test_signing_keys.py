"""Tests the key that signs SNS messages. All processes share one key, which Penstock encrypts, rotates and removes.

Source: docs/reference/topics.md, "Signatures".
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import boto3
import psycopg
import pytest

from penstock.context import Context
from penstock.effects import Call
from penstock.errors import InternalFailure
from penstock.postgres.statements.access import ADD_SIGNING_KEY, CURRENT_SIGNING_KEY, SigningKeyRow
from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from penstock.sns import signing_keys
from penstock.sns.signatures import SigningKeyCache, build_key
from penstock.sns.signing_keys import KEEP_SECONDS, find_signer
from penstock_web.cli import main
from tests.support import client_setup
from tests.support.database import Database, end_sessions
from tests.support.functions.server import FunctionServer
from tests.support.programs.penstock_service import running_service
from tests.support.sns_signatures import verify
from tests.support.sql.calls import BackgroundCall, call

KEY, OTHER_KEY = (b64encode(bytes([n]) * 32).decode() for n in (1, 2))
PUBLISHERS = 4


def client(service: str, url: str) -> Any:
    return boto3.client(
        service, endpoint_url=url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )


class Topic:
    """Holds a topic with one subscribed queue, on a new database."""

    def __init__(self, url: str) -> None:
        self._sqs, sns = client("sqs", url), client("sns", url)
        self.queue = self._sqs.create_queue(QueueName="q")["QueueUrl"]
        self.arn = sns.create_topic(Name="t")["TopicArn"]
        sns.subscribe(TopicArn=self.arn, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:000000000000:q")

    def publish(self, url: str) -> None:
        client("sns", url).publish(TopicArn=self.arn, Message="m")

    def messages(self, number: int) -> list[dict[str, str]]:
        """Receives and deletes the given number of messages."""
        found: list[dict[str, str]] = []
        while len(found) < number:
            got = self._sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10, WaitTimeSeconds=20)
            for message in got.get("Messages", []):
                found.append(json.loads(message["Body"]))
                self._sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])
        return found


@pytest.fixture
def function(database: Database) -> Iterator[Callable[..., str]]:
    """Yields the address of functions in new execution environments with these settings."""
    with ExitStack() as stack:
        yield (
            lambda **settings: stack.enter_context(FunctionServer(database.pooled_dsn, variables=settings)).endpoint_url
        )


def rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        return connection.execute(query.encode()).fetchall()


def served(url: str, path: str = "/SimpleNotificationService.pem") -> str:
    response = client_setup.get(url + path)
    assert response.status_code == 200
    return response.text


def path_of(message: dict[str, str]) -> str:
    return urlsplit(message["SigningCertURL"]).path


# --- one key ---------------------------------------------------------------------------------------------------------
def test_first_publishers_at_the_same_time_make_one_key(database: Database, function: Callable[..., str]) -> None:
    """Two processes and the functions publish, each with several publishers."""
    with running_service(database.api_dsn) as one, running_service(database.api_dsn) as two:
        deployments = [one.url, two.url, function()]
        topic = Topic(one.url)
        assert [client_setup.get(f"{url}/SimpleNotificationService.pem").status_code for url in deployments] == [
            404
        ] * 3
        start = Barrier(PUBLISHERS * len(deployments))

        def publish(url: str) -> None:
            start.wait()
            topic.publish(url)

        with ThreadPoolExecutor(PUBLISHERS * len(deployments)) as threads:
            list(threads.map(publish, deployments * PUBLISHERS))
        messages = topic.messages(PUBLISHERS * len(deployments))
        assert rows(database, "select count(*) from queue.signing_key") == [(1,)]
        (path,) = {path_of(message) for message in messages}
        (certificate,) = {served(url, name) for url in deployments for name in (path, "/v1/cert")}
        for message in messages:
            verify(message, certificate)


def test_a_second_maker_waits_and_gets_the_first_ones_key(database: Database) -> None:
    first, second = build_key(), build_key()
    store = (ADD_SIGNING_KEY, first.key_id, False, first.private_key, first.certificate, False)
    late = (ADD_SIGNING_KEY, second.key_id, False, second.private_key, second.certificate, False)
    with (
        psycopg.connect(database.api_dsn) as here,
        psycopg.connect(database.api_dsn, autocommit=True) as there,
        psycopg.connect(database.dsn, autocommit=True) as observer,
    ):
        assert call(here, *store) == [(first.key_id, False, first.private_key)]
        background = BackgroundCall(there, lambda connection: call(connection, *late))
        background.wait_until_blocked(observer)
        here.commit()
        assert background.result() == [(first.key_id, False, first.private_key)]
    assert rows(database, "select key_id from queue.signing_key") == [(first.key_id,)]


# --- what a process keeps --------------------------------------------------------------------------------------------
def context(encryption_key: str = "") -> Context:
    """Returns the parts of a request that signing needs."""
    settings = SimpleNamespace(queue_encryption_key=encryption_key)
    cache = SigningKeyCache()
    environment = SimpleNamespace(settings=settings, cache=lambda kind: {SigningKeyCache: cache}[kind])
    return cast("Context", SimpleNamespace(environment=environment))


def asked(operation: Any) -> Any:
    """Returns the statement in an operation's first effect."""
    return next(operation).statement


def ended(operation: Any, response: object) -> Any:
    """Passes the given response to the last effect of an operation. Returns the operation's result."""
    with pytest.raises(StopIteration) as end:
        operation.send(response)
    return end.value.value


def test_first_publishers_of_a_process_offer_the_same_key() -> None:
    """Creating a key takes 50 ms and blocks the process."""
    here = context()
    first, second, third = (find_signer(here) for _ in range(3))
    for operation in (first, second, third):
        assert asked(operation) is CURRENT_SIGNING_KEY
    offers = [cast("Call[SigningKeyRow]", operation.send([])) for operation in (first, second)]
    assert all(offer.statement is ADD_SIGNING_KEY for offer in offers)
    assert len({offer.arguments for offer in offers}) == 1
    key_id, sealed, private_key, _, rotate = offers[0].arguments
    assert not rotate
    row = ADD_SIGNING_KEY.build_row((key_id, sealed, private_key))
    signers = [ended(operation, [row]) for operation in (first, second)]
    # The third operation sent its query before the key existed, and received the response afterwards.
    assert signers[0] is signers[1] is ended(third, [])


def test_a_process_looks_for_a_newer_key_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(signing_keys, "monotonic", lambda: now)
    here, (old, new) = context(), (build_key(), build_key())

    def look(made: Any) -> Any:
        operation = find_signer(here)
        assert asked(operation) is CURRENT_SIGNING_KEY
        return ended(operation, [SigningKeyRow(made.key_id, False, made.private_key)])

    kept = look(old)
    now += KEEP_SECONDS - 1
    with pytest.raises(StopIteration) as end:
        next(find_signer(here))
    assert end.value.value is kept
    now += 1
    assert look(old) is kept  # The process does not read an unchanged key again.
    now += KEEP_SECONDS
    assert look(new).key_id == new.key_id


# --- sealed ----------------------------------------------------------------------------------------------------------
def test_a_private_key_is_sealed(database: Database, function: Callable[..., str]) -> None:
    topic = Topic(function(QUEUE_ENCRYPTION_KEY=KEY))
    for _ in range(2):
        topic.publish(function(QUEUE_ENCRYPTION_KEY=KEY))
    ((sealed, private_key),) = rows(database, "select sealed, private_key from queue.signing_key")
    assert sealed
    assert b"PRIVATE" not in private_key
    for message in topic.messages(2):
        verify(message, served(function()))  # certificates are public


@pytest.mark.parametrize("encryption_key", ["", OTHER_KEY])
def test_a_key_that_was_sealed_with_another_key(encryption_key: str, caplog: pytest.LogCaptureFixture) -> None:
    maker = find_signer(context(KEY))
    next(maker)
    key_id, sealed, private_key, *_ = cast("Call[SigningKeyRow]", maker.send([])).arguments
    operation = find_signer(context(encryption_key))
    next(operation)
    with pytest.raises(InternalFailure):
        operation.send([ADD_SIGNING_KEY.build_row((key_id, sealed, private_key))])
    (record,) = caplog.records
    assert "was not made with this QUEUE_ENCRYPTION_KEY" in record.getMessage()


# --- rotation --------------------------------------------------------------------------------------------------------
@pytest.fixture
def rotate(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], str]:
    """Runs `penstock keys rotate-signing`. Returns the new certificate's address."""
    monkeypatch.setenv("DATABASE_URL", database.api_dsn)

    def run() -> str:
        assert main(["keys", "rotate-signing"]) == 0
        return capsys.readouterr().out.partition(" ")[0]

    return run


def test_a_rotated_key_signs_new_messages(
    database: Database, function: Callable[..., str], rotate: Callable[[], str]
) -> None:
    topic = Topic(function())
    topic.publish(function())
    (old,) = topic.messages(1)
    new_path = rotate()
    topic.publish(function())
    (new,) = topic.messages(1)
    assert path_of(new) == new_path != path_of(old)
    url = function()
    assert served(url) == served(url, new_path)
    for message in (old, new):
        verify(message, served(url, path_of(message)))
    kept = rows(database, "select retired_at is null, private_key <> '' from queue.signing_key order by created_at")
    assert kept == [(False, False), (True, True)]  # No process can sign with the old key any longer.


def test_rotation_makes_the_first_key_too(database: Database, rotate: Callable[[], str]) -> None:
    path = rotate()
    assert rows(database, "select '/SimpleNotificationService-' || key_id || '.pem' from queue.signing_key") == [
        (path,)
    ]


def test_rotation_changes_what_the_key_is_sealed_with(
    database: Database, function: Callable[..., str], rotate: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error helps operators who lost QUEUE_ENCRYPTION_KEY."""
    topic = Topic(function())
    topic.publish(function(QUEUE_ENCRYPTION_KEY=KEY))
    monkeypatch.setenv("QUEUE_ENCRYPTION_KEY", OTHER_KEY)
    path = rotate()
    topic.publish(function(QUEUE_ENCRYPTION_KEY=OTHER_KEY))
    for message in topic.messages(2):
        verify(message, served(function(), path_of(message)))
    assert served(function(), path)


def test_certificates_are_served_for_thirty_days(
    database: Database, function: Callable[..., str], rotate: Callable[[], str]
) -> None:
    paths = [rotate() for _ in range(3)]
    url = function()
    for days, left in ((29, 3), (31, 1)):
        with psycopg.connect(database.api_dsn, autocommit=True) as connection:
            connection.execute(
                "update queue.signing_key set retired_at = clock_timestamp() - make_interval(days => %s)"
                " where retired_at is not null",
                (days,),
            )
            call(connection, MAINTAIN_INSTALLATION, 1000, 30, None)
        found = [client_setup.get(url + path).status_code for path in paths]
        assert found == [404] * (3 - left) + [200] * left


# --- the database is away --------------------------------------------------------------------------------------------
def test_without_a_database_certificates_are_503(database: Database, rotate: Callable[[], str]) -> None:
    """The test does not use PgBouncer, because a function would wait for a server connection until PgBouncer's
    timeout."""
    path = rotate()
    with (
        running_service(database.api_dsn) as service,
        FunctionServer(database.api_dsn) as warm,
        FunctionServer(database.api_dsn) as cold,
        psycopg.connect(database.dsn, autocommit=True, dbname="postgres") as administrator,
    ):
        for url in (service.url, warm.endpoint_url):
            assert served(url, path)
        administrator.execute(f"alter database {database.name} allow_connections false".encode())
        end_sessions(administrator, database.name)
        for url in (service.url, warm.endpoint_url, cold.endpoint_url):
            response = client_setup.get(url + path)
            assert (response.status_code, int(response.headers["retry-after"]) > 0) == (503, True)
        administrator.execute(f"alter database {database.name} allow_connections true".encode())
