"""Tests a changing password and the secret of a function. The function reads the secret from a Secrets Manager of the
tests.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import botocore.session
import psycopg
import pytest
from botocore.credentials import Credentials
from psycopg import sql

from penstock.errors import ServiceUnavailable
from penstock.lambda_runtime import secret as secret_module
from penstock.lambda_runtime.environment import ExecutionEnvironment
from penstock.lambda_runtime.secret import SecretError, fetch_secret, find_endpoint, find_region
from penstock.settings import DRIVERS, SettingError
from tests.support.database import Database, end_sessions
from tests.support.functions.invocations import call, invoke, json_request
from tests.support.functions.secrets_manager import KEY_ID, SECRET, TOKEN, SecretsManager, secrets_manager
from tests.support.functions.server import FUNCTIONS, Functions, load_handler

NAME = "penstock"
KEY = "A" * 43 + "="


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretsManager]:
    """Runs a Secrets Manager. The functions find it by the SDKs' variables."""
    with secrets_manager(NAME) as found:
        for name, value in found.variables.items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def role(database: Database) -> Iterator[str]:
    """Creates a login role whose password the tests change."""
    name = f"rotated_{database.name}"
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        owner = connection.execute("select nspowner::regrole::text from pg_namespace where nspname = 'queue'")
        ((group,),) = owner.fetchall()
        connection.execute(sql.SQL("create role {} login in role {}").format(*map(sql.Identifier, (name, group))))
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


def functions(**more: str) -> Functions:
    return Functions("", {"QUEUE_SECRET": NAME, **more})


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_rotated_password(
    database: Database, manager: SecretsManager, role: str, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All requests succeed, in connected environments and in environments that have to connect again."""
    monkeypatch.setattr(secret_module, "SECONDS_BETWEEN_READS", -1.0)
    manager.store(DATABASE_URL=address(database, role, "first"))
    with functions(QUEUE_DATABASE_DRIVER=driver) as deployed:
        url = call(deployed, "CreateQueue", QueueName="orders")["QueueUrl"]
        call(deployed, "SendMessage", QueueUrl=url, MessageBody="with the first password")
        set_password(database, role, "second")
        manager.store(DATABASE_URL=address(database, role, "second"))
        call(deployed, "SendMessage", QueueUrl=url, MessageBody="connected as before")
        with psycopg.connect(database.dsn, autocommit=True) as administrator:
            end_sessions(administrator)
        call(deployed, "SendMessage", QueueUrl=url, MessageBody="on a new connection")
        received = call(deployed, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert len(received) == 3


def test_a_database_that_is_down_is_not_asked_for_with_each_request(
    database: Database, manager: SecretsManager, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = secret_module.Secret.read

    def counted(secret: secret_module.Secret) -> dict[str, str]:
        reads.append(secret)
        return read(secret)

    monkeypatch.setattr(secret_module.Secret, "read", counted)
    manager.store(DATABASE_URL=address(database, role, "wrong"))
    with functions() as deployed:
        for _ in range(5):
            assert invoke(deployed, json_request("ListQueues")).status == 503
    assert len(reads) == 1


def test_the_encryption_key_comes_from_the_secret(database: Database, manager: SecretsManager) -> None:
    manager.store(DATABASE_URL=database.api_dsn, QUEUE_ENCRYPTION_KEY=KEY, QUEUE_REGION="eu-west-1")
    environment = ExecutionEnvironment({"QUEUE_SECRET": NAME, "QUEUE_REGION": "us-east-1"})
    assert environment.settings.queue_encryption_key == KEY
    assert environment.settings.queue_region == "eu-west-1"  # the secret overrides the template's variables
    environment.close()


def test_an_address_of_the_environment_wins(database: Database, manager: SecretsManager) -> None:
    """`sam local` on this machine has no Secrets Manager."""
    environment = ExecutionEnvironment({"QUEUE_SECRET": "no-such-secret", "DATABASE_URL": database.api_dsn})
    assert environment.settings.database_url == database.api_dsn


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not JSON, but a password", "must name a secret that is a JSON object with texts"),
        ('{"DATABASE_URL": 5}', "must name a secret that is a JSON object with texts"),
        ('{"password": "hunter2"}', "has password, which are not settings"),
        ('{"QUEUE_REGION": "eu-west-1"}', "DATABASE_URL is not set"),
    ],
)
def test_a_secret_that_cannot_be_used(manager: SecretsManager, text: str, said: str) -> None:
    manager.text = text
    with pytest.raises(SettingError, match=said) as refused:
        ExecutionEnvironment({"QUEUE_SECRET": NAME}).settings  # noqa: B018 - reads it
    assert "hunter2" not in str(refused.value)


def test_a_secret_that_cannot_be_read(manager: SecretsManager) -> None:
    """The answer is 503, and the next request reads the secret again. The test creates the secret a moment later."""
    environment = ExecutionEnvironment({"QUEUE_SECRET": NAME})
    with pytest.raises(ServiceUnavailable):
        environment.settings  # noqa: B018
    manager.store(DATABASE_URL="postgresql://localhost/db")
    assert environment.settings.database_url == "postgresql://localhost/db"


NAMES = sorted(".".join(each.relative_to(FUNCTIONS).with_suffix("").parts) for each in FUNCTIONS.rglob("*.py"))


def test_a_function_reads_its_secret_when_it_is_imported(
    manager: SecretsManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lambda imports the module in the init phase, before the first invocation."""
    manager.store(DATABASE_URL="postgresql://localhost/db")
    monkeypatch.setenv("QUEUE_SECRET", NAME)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    for number, name in enumerate(NAMES, 1):
        handler = load_handler(name.replace(".", "/"), {})
        assert handler.environment.settings.database_url == "postgresql://localhost/db"
        assert manager.calls == number, name


@pytest.mark.parametrize("text", [None, "not JSON", '{"DATABASE_URL": ""}'])
def test_an_import_does_not_fail_without_the_secret(
    manager: SecretsManager, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    manager.text = text
    monkeypatch.setenv("QUEUE_SECRET", NAME)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    handler = load_handler("sqs/send_message", {"QUEUE_SECRET": NAME})
    manager.store(DATABASE_URL="postgresql://localhost/db")
    assert handler.environment.settings.database_url == "postgresql://localhost/db"


def test_the_secret_is_read_without_boto3(manager: SecretsManager) -> None:
    """boto3's imports took more CPU than all other imports of a function together."""
    manager.store(DATABASE_URL="postgresql://localhost/db")
    script = "import sys, sqs.send_message as f; print(f.handler.environment.settings.database_url, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={
            **manager.variables,
            "QUEUE_SECRET": NAME,
            "PYTHONPATH": f"{FUNCTIONS}:{Path(FUNCTIONS).parent / 'layers/core'}",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    address_read, *modules = done.stdout.split()
    assert address_read == "postgresql://localhost/db"
    heavy = {"boto3", "botocore", "aws_lambda_powertools", "urllib3"}
    assert not heavy & {module.partition(".")[0] for module in modules}


@pytest.mark.parametrize(
    ("refusals", "calls", "said"),
    [
        ([(500, "InternalServiceError")], 2, None),
        ([(400, "ThrottlingException")], 2, None),
        ([(503, "ServiceUnavailable")] * 2, 2, "answers 503 ServiceUnavailable"),
        ([(400, "AccessDeniedException")], 1, "answers 400 AccessDeniedException"),
    ],
)
def test_a_refused_request_is_repeated_if_that_may_help(
    manager: SecretsManager, refusals: list[tuple[int, str]], calls: int, said: str | None
) -> None:
    manager.store(DATABASE_URL="x")
    manager.refusals = refusals
    if said is None:
        assert fetch_secret(NAME, manager.variables) == '{"DATABASE_URL": "x"}'
    else:
        with pytest.raises(SecretError, match=said):
            fetch_secret(NAME, manager.variables)
    assert manager.calls == calls


def test_credentials_that_are_not_in_the_environment(manager: SecretsManager, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function with SnapStart gets the credentials from an endpoint of its container, and botocore reads them
    there.
    """
    manager.store(DATABASE_URL="x")
    variables = {name: text for name, text in manager.variables.items() if name != "AWS_ACCESS_KEY_ID"}
    found: list[Credentials | None] = [Credentials(KEY_ID, SECRET, TOKEN), None]
    monkeypatch.setattr(botocore.session.Session, "get_credentials", lambda _: found.pop(0))
    assert fetch_secret(NAME, variables)
    with pytest.raises(SecretError, match="no AWS credentials"):
        fetch_secret(NAME, variables)


@pytest.mark.parametrize(
    ("name", "region", "endpoint"),
    [
        ("penstock", "eu-west-1", "https://secretsmanager.eu-west-1.amazonaws.com"),
        ("arn:aws:secretsmanager:us-west-2:1:secret:p-a1", "us-west-2", "https://secretsmanager.us-west-2.amazonaws.com"),
        ("arn:aws-cn:secretsmanager:cn-north-1:1:secret:p", "cn-north-1", "https://secretsmanager.cn-north-1.amazonaws.com.cn"),
    ],
)  # fmt: skip
def test_the_secret_is_in_the_region_of_its_arn(name: str, region: str, endpoint: str) -> None:
    variables = {"AWS_REGION": "eu-west-1"}
    assert (find_region(name, variables), find_endpoint(region, variables)) == (region, endpoint)
    assert find_endpoint(region, {"AWS_ENDPOINT_URL": "https://vpce.test"}) == "https://vpce.test"
