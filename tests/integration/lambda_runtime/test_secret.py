"""Tests the secret of a function, which boto3 reads from moto's Secrets Manager, and a changing password."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import psycopg
import pytest
from moto import mock_aws
from psycopg import sql

from penstock.errors import ServiceUnavailable
from penstock.lambda_runtime import secret as secret_module
from penstock.lambda_runtime.environment import ExecutionEnvironment
from penstock.settings import DRIVERS, SettingError
from tests.support.database import Database, end_sessions
from tests.support.functions.invocations import call, invoke, json_request
from tests.support.functions.server import Functions

NAME = "penstock"
KEY = "A" * 43 + "="


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs Secrets Manager, which the functions find as on AWS."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield boto3.client("secretsmanager")


@pytest.fixture
def role(database: Database) -> Iterator[str]:
    """Creates a login role whose password the tests change."""
    name = f"rotated_{database.name}"
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        owner = connection.execute("select nspowner::regrole::text from pg_namespace where nspname = 'queue'")
        ((group,),) = owner.fetchall()
        connection.execute(
            sql.SQL("create role {} login in role {}").format(*map(sql.Identifier, (name, group)))
        )
    set_password(database, name, "first")
    yield name
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        end_sessions(connection)
        connection.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


def set_password(database: Database, role: str, password: str) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        change = sql.SQL("alter role {} password {}")
        connection.execute(change.format(sql.Identifier(role), sql.Literal(password)))


def address(database: Database, role: str, password: str) -> str:
    with psycopg.connect(database.api_dsn) as connection:
        info = connection.info
        return f"postgresql://{role}:{password}@127.0.0.1:{info.port}/{info.dbname}"


def store(manager: Any, **members: object) -> None:
    manager.create_secret(Name=NAME, SecretString=json.dumps(members))


def functions(**more: str) -> Functions:
    return Functions("", {"QUEUE_SECRET": NAME, **more})


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_rotated_password(
    database: Database, manager: Any, role: str, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request fails, neither in a connected environment nor in one that has to connect again."""
    monkeypatch.setattr(secret_module, "SECONDS_BETWEEN_READS", -1.0)
    store(manager, DATABASE_URL=address(database, role, "first"))
    with functions(QUEUE_DATABASE_DRIVER=driver) as deployed:
        url = call(deployed, "CreateQueue", QueueName="orders")["QueueUrl"]
        call(deployed, "SendMessage", QueueUrl=url, MessageBody="with the first password")
        set_password(database, role, "second")
        manager.put_secret_value(
            SecretId=NAME, SecretString=json.dumps({"DATABASE_URL": address(database, role, "second")})
        )
        call(deployed, "SendMessage", QueueUrl=url, MessageBody="connected as before")
        with psycopg.connect(database.dsn, autocommit=True) as administrator:
            end_sessions(administrator)
        call(deployed, "SendMessage", QueueUrl=url, MessageBody="on a new connection")
        received = call(deployed, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert len(received) == 3


def test_a_database_that_is_down_is_not_asked_for_with_each_request(
    database: Database, manager: Any, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = secret_module.Secret.read

    def counted(secret: secret_module.Secret) -> dict[str, str]:
        reads.append(secret)
        return read(secret)

    monkeypatch.setattr(secret_module.Secret, "read", counted)
    store(manager, DATABASE_URL=address(database, role, "wrong"))
    with functions() as deployed:
        for _ in range(5):
            assert invoke(deployed, json_request("ListQueues")).status == 503
    assert len(reads) == 1


def test_the_encryption_key_comes_from_the_secret(database: Database, manager: Any) -> None:
    store(manager, DATABASE_URL=database.api_dsn, QUEUE_ENCRYPTION_KEY=KEY, QUEUE_REGION="eu-west-1")
    environment = ExecutionEnvironment({"QUEUE_SECRET": NAME, "QUEUE_REGION": "us-east-1"})
    assert environment.settings.queue_encryption_key == KEY
    assert environment.settings.queue_region == "eu-west-1"  # the secret overrides the template's variables
    environment.close()


def test_an_address_of_the_environment_wins(database: Database, manager: Any) -> None:
    """`sam local` on this machine has no Secrets Manager."""
    environment = ExecutionEnvironment({"QUEUE_SECRET": "no-such-secret", "DATABASE_URL": database.api_dsn})
    assert environment.settings.database_url == database.api_dsn


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not JSON, but a password", "must name a secret that is a JSON object with texts"),
        ('{"DATABASE_URL": 5}', "must name a secret that is a JSON object with texts"),
        ('{"password": "hunter2"}', "has password, which are no settings"),
        ('{"QUEUE_REGION": "eu-west-1"}', "DATABASE_URL is not set"),
    ],
)
def test_a_secret_that_cannot_be_used(manager: Any, text: str, said: str) -> None:
    manager.create_secret(Name=NAME, SecretString=text)
    with pytest.raises(SettingError, match=said) as refused:
        ExecutionEnvironment({"QUEUE_SECRET": NAME}).settings  # noqa: B018 - reads it
    assert "hunter2" not in str(refused.value)


def test_a_secret_that_cannot_be_read(manager: Any) -> None:
    """The answer is 503, and the next request reads the secret again. The test creates the secret a moment later."""
    environment = ExecutionEnvironment({"QUEUE_SECRET": NAME})
    with pytest.raises(ServiceUnavailable):
        environment.settings  # noqa: B018
    store(manager, DATABASE_URL="postgresql://localhost/db")
    assert environment.settings.database_url == "postgresql://localhost/db"
