"""Tests migrations by a superuser, a role with CREATEROLE, and the database's owner, on both PostgreSQL versions.

Roles belong to a whole cluster, so each case starts with a cluster that has no Penstock role.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.postgres.migrations import MigrationError, migrate
from penstock.postgres.roles import ROLES
from penstock.postgres.statements.access import SET_ROLE_ACCOUNT
from penstock.postgres.statements.installation import FIND_PROBLEMS
from penstock.settings import Settings
from penstock_web.cli import main
from penstock_web.local.binaries import Source
from penstock_web.local.postgres import Postgres
from penstock_web.local.up import UpOptions, prepare_database
from tests.support.database import Database, end_sessions, new_cluster
from tests.support.programs.penstock_service import ACCOUNT, running_service
from tests.support.sql.calls import call

# All test processes share one server for each version.

PASSWORD = "long enough"
OWNER, REGION = "111111111111", "eu-west-1"


class MigratedDatabase(NamedTuple):
    """Contains the addresses of an empty database for the superuser, the migrating role and an application."""

    superuser: str
    migrating: str
    application: str


@pytest.fixture(scope="module", params=["system", "wheel"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    source: Source = request.param
    with new_cluster(source) as server:
        yield server


@contextmanager
def empty_database(cluster: Postgres, attributes: str) -> Iterator[MigratedDatabase]:
    """Yields a database whose owner has the given attributes, and an application's login that is not yet in a group."""
    with psycopg.connect(cluster.superuser_dsn(), autocommit=True) as administrator:
        for role in ROLES:
            administrator.execute(f"drop role if exists {role}".encode())
        administrator.execute(f"create role migrating login {attributes} password '{PASSWORD}'".encode())
        administrator.execute(f"create role shop login password '{PASSWORD}'".encode())
        administrator.execute(b"create database moved owner migrating template template0")
        try:
            address = cluster.service_dsn("moved")
            yield MigratedDatabase(
                cluster.superuser_dsn("moved"),
                *(make_conninfo(address, user=role, password=PASSWORD) for role in ("migrating", "shop")),
            )
        finally:
            administrator.execute(b"drop database moved with (force)")
            made = administrator.execute(
                "select rolname from pg_roles where rolname = any (%s)", (["shop", *ROLES, "migrating"],)
            )
            for (role,) in made.fetchall():
                administrator.execute(f"drop owned by {role} cascade; drop role {role}".encode())


def send_and_receive(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("select queue.create('orders')")
        connection.execute("select queue.send('orders', '7')")
        assert connection.execute("select message from queue.receive('orders')").fetchall() == [(7,)]


def check_application(case: MigratedDatabase) -> None:
    """Checks that the SQL interface works for a role in the group. The role has an account and cannot read tables."""
    with psycopg.connect(case.superuser, autocommit=True) as administrator:
        administrator.execute("grant penstock_app to shop")
    with psycopg.connect(case.migrating, autocommit=True) as connection:
        assert [row.problem for row in call(connection, SET_ROLE_ACCOUNT, "shop", OWNER, REGION)] == [None]
        assert call(connection, FIND_PROBLEMS, []) == []
    send_and_receive(case.application)
    with psycopg.connect(case.application, autocommit=True) as connection:
        assert connection.execute("select arn from queue.list_queues()").fetchall() == [
            (f"arn:aws:sqs:{REGION}:{OWNER}:orders",)
        ]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select from queue.access_key")


@pytest.mark.xdist_group("migrating roles")
@pytest.mark.parametrize("attributes", ["superuser", "createrole"])
def test_a_role_that_may_create_roles_creates_them(cluster: Postgres, attributes: str) -> None:
    with empty_database(cluster, attributes) as case:
        applied = migrate(case.migrating)
        assert (applied.functions, applied.missing_roles) == (True, [])
        check_application(case)
        again = migrate(case.migrating)
        assert (again.migrations, again.functions, again.grants, again.missing_roles) == ([], False, False, [])


@pytest.mark.xdist_group("migrating roles")
def test_a_plain_owner_gets_the_commands(cluster: Postgres, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything works except the application roles, which the printed commands add."""
    with empty_database(cluster, "") as case:
        missing = migrate(case.migrating).missing_roles
        assert main(["doctor", "--database", case.migrating]) == 1
        said = capsys.readouterr().out
        assert "roles: the role penstock_app does not exist\n" in said
        assert all(f"`{command};`" in said for command in missing)
        with ExitStack() as stack:
            prepare_database(Settings.read({"DATABASE_URL": case.migrating}), UpOptions("127.0.0.1", 0), stack)
        (line,) = capsys.readouterr().err.splitlines()
        assert f"`{'; '.join(missing)};`. The owner must then run `penstock migrate`" in line
        assert missing[:-1] == [f"create role {role} nologin" for role in ROLES]
        send_and_receive(case.migrating)
        with psycopg.connect(case.superuser, autocommit=True) as administrator:
            for command in missing:
                administrator.execute(command.encode())
        applied = migrate(case.migrating)
        assert (applied.migrations, applied.grants, applied.missing_roles) == ([], True, [])
        check_application(case)


@pytest.mark.xdist_group("migrating roles")
def test_rights_that_were_taken_away_come_back(cluster: Postgres) -> None:
    with empty_database(cluster, "createrole") as case:
        migrate(case.migrating)
        with psycopg.connect(case.migrating, autocommit=True) as connection:
            connection.execute("revoke execute on all functions in schema queue from penstock_app")
            connection.execute("grant select on queue.access_key to penstock_reader, penstock_owner")
            problems = [row.problem for row in call(connection, FIND_PROBLEMS, [])]
            assert [problem for problem in problems if "penstock_app may not call" in problem]
            assert [problem for problem in problems if "penstock_owner may use queue.access_key" in problem]
        assert migrate(case.migrating).grants
        check_application(case)


@pytest.mark.xdist_group("migrating roles")
def test_a_superuser_does_not_own_the_functions(cluster: Postgres) -> None:
    """The functions run with penstock_owner's rights, whichever role migrates. penstock_owner has no login and is not a
    superuser."""
    with empty_database(cluster, "superuser") as case:
        with psycopg.connect(case.superuser, autocommit=True) as administrator:
            administrator.execute("create role penstock_owner superuser nologin")
            with pytest.raises(MigrationError, match="nosuperuser nologin"):
                migrate(case.migrating)
            administrator.execute("alter role penstock_owner nosuperuser login")
            with pytest.raises(MigrationError, match="may log in"):
                migrate(case.migrating)
            administrator.execute("alter role penstock_owner nologin")
        migrate(case.migrating)
        check_application(case)


@pytest.mark.xdist_group("migrating roles")
def test_an_application_moves_over_as_documented(cluster: Postgres) -> None:
    """The application leaves the service's group while its connection stays open."""
    page = (Path(__file__).parents[3] / "docs/operate/upgrade.md").read_text()
    (commands,) = re.findall(r"^```sql\n(begin;\ngrant penstock_app .*?)```", page, re.MULTILINE | re.DOTALL)
    with empty_database(cluster, "createrole") as case:
        migrate(case.migrating)
        with (
            psycopg.connect(case.superuser, autocommit=True) as administrator,
            psycopg.connect(case.migrating, autocommit=True) as service,
            psycopg.connect(case.application, autocommit=True) as application,
        ):
            administrator.execute("grant penstock_api to shop")
            application.execute("select queue.create('orders')")
            application.execute("select queue.send('orders', '7')")
            application.execute("select from queue.access_key")
            (problem,) = [row.problem for row in call(service, FIND_PROBLEMS, [])]
            assert problem.startswith("the role shop may use queue.access_key")
            rows = call(service, SET_ROLE_ACCOUNT, "shop", "000000000000", "us-east-1")
            assert len(rows) == 1
            administrator.execute(commands.encode())
            assert call(service, FIND_PROBLEMS, []) == []
            assert application.execute("select message from queue.receive('orders')").fetchall() == [(7,)]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                application.execute("select from queue.access_key")


# --- password --------------------------------------------------------------------------------------------------------
# Changes a running container's password, which the container reads from a file (docs/operate/rotating.md).

ROLE = "rotating"
SENDS, AT_ONCE = 60, 20
HEADERS = {"x-amz-target": "AmazonSQS.SendMessage", "content-type": "application/x-amz-json-1.0"}
MESSAGE = {"QueueUrl": f"http://x/{ACCOUNT}/orders", "MessageBody": "m"}


def write(file: Path, password: str) -> None:
    file.write_text(f"*:*:*:{ROLE}:{password}\n")
    file.chmod(0o600)


def test_a_password_in_a_file_changes_under_traffic(database: Database, tmp_path: Path) -> None:
    """Sends continue while the password changes. The test then ends all connections, and the next sends need new
    connections.
    """
    file = tmp_path / "password"
    write(file, "first")
    place = {name: value for name, value in conninfo_to_dict(database.api_dsn).items() if name != "password"}
    address = make_conninfo("", **{**place, "user": ROLE, "passfile": str(file)})
    with psycopg.connect(database.dsn, autocommit=True) as administrator:
        administrator.execute(f"create role {ROLE} login password 'first' in role penstock_api".encode())
        with running_service(address) as service, service.http() as http, ThreadPoolExecutor(AT_ONCE) as threads:

            def send(_: int = 0) -> int:
                return http.post("/", headers=HEADERS, json=MESSAGE).status_code

            http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
            for password in ("second", "third", "fourth"):
                statuses = threads.map(send, range(SENDS))
                write(file, password)
                administrator.execute(f"alter role {ROLE} password '{password}'".encode())
                assert set(statuses) == {httpx.codes.OK}
                assert end_sessions(administrator) > 0
                assert set(threads.map(send, range(SENDS))) == {httpx.codes.OK}
            administrator.execute(f"alter role {ROLE} password 'not in the file'".encode())
            end_sessions(administrator)
            assert send() == httpx.codes.SERVICE_UNAVAILABLE
        administrator.execute(f"drop role {ROLE}".encode())
