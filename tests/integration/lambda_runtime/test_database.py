"""Tests a connection that a function reuses, with both drivers: the errors that the driver repairs, retries, or only
reports.

Appendix A of PostgreSQL's documentation lists the SQLSTATEs. A server that was the primary until a failover reports
25006.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import botocore.session
import psycopg
import pytest
from botocore.credentials import Credentials
from psycopg import sql

from penstock.errors import InternalFailure, ServiceUnavailable
from penstock.lambda_runtime import secret as secret_module
from penstock.lambda_runtime.environment import ExecutionEnvironment
from penstock.lambda_runtime.secret import SecretError, fetch_secret, find_endpoint, find_region
from penstock.postgres.database import Database as Kept
from penstock.postgres.database import DriverError
from penstock.postgres.statement import Statement
from penstock.settings import DRIVERS, SettingError
from penstock_web.local.pgbouncer import running_pgbouncer
from penstock_web.local.postgres import running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.database import Database, end_sessions, memory_directory
from tests.support.functions.invocations import call, invoke, json_request
from tests.support.functions.secrets_manager import KEY_ID, SECRET, TOKEN, SecretsManager, secrets_manager
from tests.support.functions.server import FUNCTIONS, Functions, load_handler


class NumberRow(NamedTuple):
    number: int


class KindsRow(NamedTuple):
    """Holds the row that the SQL function `test_kinds` returns. The columns `c` and `h` contain JSON."""

    a: list[str | None] | None
    b: list[UUID | None] | None
    c: str | None
    d: list[datetime | None] | None
    e: list[int] | None
    f: bytes | None
    g: bool | None
    h: str | None


RECORD = Statement("public.test_record", ("text",), NumberRow)
ENDING = Statement("public.test_ending", ("text",), NumberRow)
KINDS = Statement(
    "public.test_kinds", ("text[]", "uuid[]", "jsonb[]", "timestamptz[]", "int8[]", "bytea", "bool", "jsonb"), KindsRow
)
RAISING = """
create table test_log (number int generated always as identity, note text);
create function test_record(p_note text) returns bigint language sql as
    'insert into public.test_log (note) values (p_note) returning number::bigint';
create function test_ending(p_note text) returns void language plpgsql as $$
begin
    insert into public.test_log (note) values (p_note);
    perform pg_terminate_backend(pg_backend_pid());
end $$;
create function test_kinds(p_text text[], p_uuid uuid[], p_jsonb jsonb[], p_at timestamptz[], p_int bigint[],
    p_bytes bytea, p_bool boolean, p_document jsonb)
returns table (a text[], b uuid[], c text, d timestamptz[], e bigint[], f bytea, g boolean, h text) language sql as
    'select p_text, p_uuid, array_to_json(p_jsonb)::text, p_at, p_int, p_bytes, p_bool, p_document::text';
"""


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def owner(database: Database) -> Iterator[psycopg.Connection[Any]]:
    """Yields a session of a superuser that has created the functions for these tests."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute(RAISING.encode())
        connection.execute("grant all on test_log to public")
        yield connection


@pytest.fixture
def kept(database: Database, owner: psycopg.Connection[Any], driver: str) -> Iterator[Kept]:
    """Yields a function's connection directly to PostgreSQL."""
    kept = Kept(database.api_dsn, driver)
    yield kept
    kept.close()


def notes(owner: psycopg.Connection[Any]) -> list[str]:
    return [note for (note,) in owner.execute("select note from test_log order by number")]


# --- values ----------------------------------------------------------------------------------------------------------
def test_values_arrive_and_come_back(kept: Kept) -> None:
    at = datetime(2026, 11, 21, 12, 30, 0, 123456, tzinfo=UTC)
    one = UUID("00000000-0000-4000-8000-000000000001")
    texts = ['a "quoted" \\ text', "NULL", "", None, "{},", "grüße €\n"]
    given = [texts, [one.bytes, None], ['{"a": "b\\"c"}'], [at, None], [2**63 - 1, -1], b"\0\xff", True, '{"k": [1]}']
    (row,) = kept.call(KINDS, given)
    assert row == (texts, [one, None], '[{"a": "b\\"c"}]', [at, None], [2**63 - 1, -1], b"\0\xff", True, '{"k": [1]}')


def test_empty_and_absent_arrays(kept: Kept) -> None:
    """Both drivers pass an array of nulls as null, as Penstock's SQL functions expect."""
    (row,) = kept.call(KINDS, [[], [None, None], None, [], [], None, None, None])
    assert row == ([], None, None, [], [], None, None, None)


# --- what is repaired ------------------------------------------------------------------------------------------------
def test_a_session_that_was_ended_is_replaced(kept: Kept, owner: psycopg.Connection[Any]) -> None:
    kept.call(RECORD, ["before"])
    end_sessions(owner)
    kept.call(RECORD, ["after"])
    assert notes(owner) == ["before", "after"]


def test_a_process_with_many_open_files(kept: Kept, owner: psycopg.Connection[Any]) -> None:
    """`select` refuses file descriptors above 1,023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4_096)), hard))
    with ExitStack() as files:
        for _ in range(1_024):
            files.enter_context(Path(os.devnull).open("rb"))
        kept.call(RECORD, ["before"])
        kept.call(RECORD, ["after"])
    assert notes(owner) == ["before", "after"]


def test_after_a_failover_a_new_connection_is_made(
    kept: Kept, owner: psycopg.Connection[Any], database: Database
) -> None:
    """The session's server became read-only. A new session finds the primary."""
    owner.execute(f"alter database {database.name} set default_transaction_read_only = on".encode())
    connection = kept.connection()
    owner.execute(f"alter database {database.name} reset default_transaction_read_only".encode())
    kept.call(RECORD, ["once"])
    assert kept.connection() is not connection
    assert notes(owner) == ["once"]


def test_while_there_is_no_primary_it_is_said(kept: Kept, owner: psycopg.Connection[Any], database: Database) -> None:
    owner.execute(f"alter database {database.name} set default_transaction_read_only = on".encode())
    with pytest.raises(ServiceUnavailable) as raised:
        kept.call(RECORD, ["never"])
    assert isinstance(raised.value.__cause__, DriverError)
    assert raised.value.__cause__.sqlstate == "25006"
    owner.execute(f"alter database {database.name} reset default_transaction_read_only".encode())
    kept.call(RECORD, ["now"])
    assert notes(owner) == ["now"]


def test_a_deadlock_is_tried_again(kept: Kept, owner: psycopg.Connection[Any]) -> None:
    """A class 40 error means that the database rolled the call back. After a class 40 error, the function retries the
    call once on the same connection."""
    owner.execute(
        "create sequence test_tries; grant all on test_tries to public;"
        "create function test_deadlock(p_fails int) returns bigint language plpgsql as $$ begin"
        " if nextval('public.test_tries') <= p_fails then raise exception 'x' using errcode = '40P01'; end if;"
        " return public.test_record('done'); end $$"
    )
    statement = Statement("public.test_deadlock", ("int4",), NumberRow)
    connection = kept.connection()
    kept.call(statement, [1])
    assert kept.connection() is connection
    with pytest.raises(ServiceUnavailable):
        kept.call(statement, [99])
    assert owner.execute("select last_value from test_tries").fetchone() == (4,)
    assert notes(owner) == ["done"]


# --- what is only told -----------------------------------------------------------------------------------------------
def test_a_session_that_ends_during_a_call(kept: Kept, owner: psycopg.Connection[Any], driver: str) -> None:
    """After 57P01, psycopg cannot detect whether the server committed the call, and does not retry the call. The next
    call succeeds."""
    with pytest.raises(ServiceUnavailable):
        kept.call(ENDING, ["lost"])
    kept.call(RECORD, ["next"])
    assert notes(owner) == ["next"]
    # Each attempt consumes a sequence number. The connection broke before pg8000 sent COMMIT, so pg8000 made two
    # attempts.
    assert owner.execute("select max(number) from test_log").fetchone() == (2 if driver == "psycopg" else 3,)


def test_a_wrong_call_is_our_fault(kept: Kept) -> None:
    connection = kept.connection()
    with pytest.raises(InternalFailure):
        kept.call(Statement("public.test_nothing", (), NumberRow), [])
    assert kept.connection() is connection
    assert kept.call(RECORD, ["still"])


def test_an_address_without_a_server_is_unavailable(driver: str) -> None:
    with pytest.raises(ServiceUnavailable):
        Kept("postgresql://nobody:secret@127.0.0.1:9/nothing", driver).call(RECORD, ["x"])


# --- through PgBouncer -----------------------------------------------------------------------------------------------
def test_a_pooler_that_was_restarted(driver: str) -> None:
    """The new pooler has the same address as the old pooler, as after an upgrade. The next call connects to the new
    pooler, and no caller receives an error."""
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()) as server:
        echo = Statement("pg_catalog.generate_series", ("int4", "int4"), NumberRow)
        with running_pgbouncer(state, server) as pooler:
            kept = Kept(pooler.dsn(), driver)
            assert kept.call(echo, [1, 2]) == [(1,), (2,)]
        with pytest.raises(ServiceUnavailable):
            kept.call(echo, [1, 2])
        with running_pgbouncer(state, server, port=pooler.port):
            assert kept.call(echo, [1, 2]) == [(1,), (2,)]
            kept.close()


def test_no_call_is_lost_through_a_pooler(database: Database, owner: psycopg.Connection[Any], driver: str) -> None:
    """40 functions make 20 calls each, over at most 20 server connections. The database records 800 calls and returns
    the number of each call."""

    def calls(client: int) -> list[tuple[int, str]]:
        kept = Kept(database.pooled_dsn, driver)
        try:
            return [(kept.call(RECORD, [f"{client} {number}"])[0].number, f"{client} {number}") for number in range(20)]
        finally:
            kept.close()

    with ThreadPoolExecutor(40) as threads:
        answered = [pair for pairs in threads.map(calls, range(40)) for pair in pairs]
    assert len(answered) == 800
    assert sorted(answered) == owner.execute("select number, note from test_log order by number").fetchall()


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_connection_that_is_handed_out_again_and_again_is_asked_once(
    database: Database, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A polling worker reuses its connection. Without the reuse, each poll after the first minute would check the
    connection."""
    times, asked = [1000.0], list[float]()
    monkeypatch.setattr("penstock.postgres.database.time", lambda: times[-1])
    kept = Kept(database.api_dsn, driver)
    first = kept.connection()

    def responses(_: float) -> bool:
        asked.append(times[-1])
        return True

    monkeypatch.setattr(first, "responses", responses)
    for now in (1061.0, 1062.0, 1063.0, 1124.0):
        times.append(now)
        assert kept.connection() is first
    kept.close()
    assert asked == [1061.0, 1124.0]


# --- secret ----------------------------------------------------------------------------------------------------------
# Tests a function whose password changes, and its secret. The function reads the secret from the tests' Secrets
# Manager.

NAME = "penstock"
KEY = "A" * 43 + "="


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretsManager]:
    """Runs a Secrets Manager. The functions find the Secrets Manager through the SDKs' variables."""
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
    """All requests succeed, both in connected environments and in environments that must reconnect."""
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
    """With `sam local`, no Secrets Manager exists."""
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
    """The response is 503, and the next request reads the secret again. The test creates the secret between the two
    requests."""
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
    """boto3's imports took more CPU time than all of a function's other imports together."""
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
        ([(503, "ServiceUnavailable")] * 2, 2, "responds with 503 ServiceUnavailable"),
        ([(400, "AccessDeniedException")], 1, "responds with 400 AccessDeniedException"),
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
    """With SnapStart, the endpoint of the function's container provides the credentials, and botocore reads them
    there."""
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
