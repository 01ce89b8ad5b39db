"""Tests the migration function in a real awslambdaric process, on a cluster that has no Penstock role.

The module then runs the action functions with a login whose only group is penstock_api.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock.lambda_runtime.environment import ExecutionEnvironment
from penstock.lambda_runtime.migration import migrate
from penstock.postgres.migrations import RELEASE, read_migrations
from penstock.postgres.session_settings import POOLED_SETTINGS, SESSION_SETTINGS
from penstock.settings import DRIVERS
from penstock_web.local.postgres import Postgres
from tests.support.database import new_cluster
from tests.support.functions.invocations import call
from tests.support.functions.migrate import NAME, error_of, invokable, migrate_function
from tests.support.functions.server import ROOT, Functions

pytestmark = pytest.mark.xdist_group("migrate function")

PASSWORD = "long enough"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Postgres]:
    """Yields a cluster with the documented setup's three logins, and an empty database that the migrating login
    owns."""
    with new_cluster("any") as server:
        with psycopg.connect(server.superuser_dsn(), autocommit=True) as administrator:
            for role, more in (("migrating", "createrole"), ("serving", ""), ("stranger", "")):
                administrator.execute(f"create role {role} login {more} password '{PASSWORD}'".encode())
            administrator.execute(b"create database empty owner migrating template template0")
        yield server


def address(cluster: Postgres, role: str, database: str = "empty") -> str:
    return make_conninfo(cluster.service_dsn(database), user=role, password=PASSWORD)


async def test_the_function_migrates_once(cluster: Postgres, tmp_path: Path) -> None:
    names = [script.name for script in read_migrations(ROOT / "sql")]
    function = migrate_function(tmp_path, DATABASE_URL=address(cluster, "migrating"))
    assert (function.timeout_seconds, function.reserved_concurrency) == (900, 1)
    async with invokable(function) as (fleet, _):
        first = json.loads(await fleet.invoke(NAME, {}))
        with psycopg.connect(address(cluster, "migrating"), autocommit=True) as owner:
            owner.execute("grant penstock_api to serving")
        second = json.loads(await fleet.invoke(NAME, {}))
    assert (first["release"], first["migrations"], first["functions"]) == (RELEASE, names, True)
    assert (first["missing_roles"], first["warning"]) == ([], "")
    assert first["report"] == [*(f"applied {name}" for name in names), "functions and grants applied"]
    assert (second["migrations"], second["functions"], second["grants"]) == ([], False, False)
    assert second["report"] == ["functions and grants unchanged"]
    for driver in DRIVERS:
        with Functions(address(cluster, "serving"), {"QUEUE_DATABASE_DRIVER": driver}) as functions:
            url = call(functions, "CreateQueue", QueueName=driver)["QueueUrl"]
            call(functions, "SendMessage", QueueUrl=url, MessageBody="hello")
            (message,) = call(functions, "ReceiveMessage", QueueUrl=url)["Messages"]
            call(functions, "DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    with psycopg.connect(address(cluster, "serving")) as connection:
        (rights,) = connection.execute(
            "select array_agg(r.rolname::text) from pg_auth_members m join pg_roles r on r.oid = m.roleid"
            " where m.member = 'serving'::regrole"
        ).fetchall()
    assert rights == (["penstock_api"],)


async def test_a_role_without_rights_is_refused(cluster: Postgres, tmp_path: Path) -> None:
    with psycopg.connect(cluster.superuser_dsn(), autocommit=True) as administrator:
        administrator.execute(b"create database other template template0")
    function = migrate_function(tmp_path, DATABASE_URL=address(cluster, "stranger", "other"))
    async with invokable(function) as (fleet, _):
        error = await error_of(fleet, {})
    assert error["errorType"] == "MissingRightsError"
    assert error["errorMessage"].startswith("the role of DATABASE_URL cannot migrate: permission denied")
    assert "let it own the database" in error["errorMessage"]


@pytest.mark.parametrize(
    ("url", "event", "kind", "text"),
    [
        ("postgresql://a:hunter2@127.0.0.1:1/x", {}, "UnreachableError", "no connection to the database"),
        ("postgresql://a:hunter2@127.0.0.1/x?no=1", {}, "InvalidAddressError", "not the address of a PostgreSQL"),
        ("postgresql://a:hunter2@127.0.0.1:1/x", {"tune": "a"}, "InvalidEventError", "an event is"),
        ("postgresql://a:hunter2@127.0.0.1:1/x", {"tune_role": 1}, "InvalidEventError", "an event is"),
    ],
)
def test_errors_have_types_and_no_passwords(url: str, event: dict[str, object], kind: str, text: str) -> None:
    """Lambda sets `errorType` to the exception's class, and `errorMessage` to its text."""
    with pytest.raises(Exception, match=text) as raised:
        migrate(event, ROOT / "sql", ExecutionEnvironment({"DATABASE_URL": url}))
    assert type(raised.value).__name__ == kind
    assert "hunter2" not in str(raised.value)


def documented_command() -> str:
    """Returns the documented command that stops a deployment if the migration fails."""
    page = (ROOT / "docs/operate/lambda.md").read_text()
    (command,) = re.findall(r"^(aws lambda invoke .*(?:(?<=\\)\n.*)*)", page, re.MULTILINE)
    assert isinstance(command, str)
    return command


async def run_documented(folder: Path, endpoint: str) -> subprocess.CompletedProcess[str]:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
    environment = {"PATH": programs, "HOME": str(folder), "AWS_ENDPOINT_URL_LAMBDA": endpoint, **keys}
    command = ["bash", "-c", documented_command()]
    return await asyncio.to_thread(
        subprocess.run, command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow  # The test needs two builds and the AWS CLI.
async def test_the_documented_command(cluster: Postgres, tmp_path: Path) -> None:
    """The command fails if the migration fails. The AWS CLI succeeds in both cases."""
    with psycopg.connect(cluster.superuser_dsn(), autocommit=True) as administrator:
        administrator.execute(b"create database tuned owner migrating template template0")
    for role, succeeds in (("migrating", True), ("stranger", False)):
        folder = tmp_path / role
        (folder / "build").mkdir(parents=True)
        function = migrate_function(folder / "build", DATABASE_URL=address(cluster, role, "tuned"))
        async with invokable(function) as (_, endpoint):
            done = await run_documented(folder, endpoint)
        result = json.loads((folder / "migrated.json").read_text())
        assert (done.returncode == 0) is succeeds, done.stderr
        assert ("report" in result, "errorType" in result) == (succeeds, not succeeds)


def test_the_settings_of_a_role(cluster: Postgres) -> None:
    """Time limits are set by role, because a proxy pins sessions that set them."""
    with psycopg.connect(cluster.superuser_dsn(), autocommit=True) as administrator:
        administrator.execute(b"create role tuned login")
        administrator.execute(b"create database more owner migrating template template0")
        if administrator.info.server_version >= 160000:
            administrator.execute(b"grant tuned to migrating with admin option")
    url = address(cluster, "migrating", "more")
    environment = ExecutionEnvironment({"DATABASE_URL": url, "QUEUE_SHARDS": "8"})
    migrate({"tune_role": "tuned"}, ROOT / "sql", environment)
    with psycopg.connect(url) as owner:
        assert owner.execute("select shards from queue.new_queue_default").fetchall() == [(8,)]
    with psycopg.connect(cluster.superuser_dsn()) as administrator:
        rows = administrator.execute(
            "select setconfig from pg_db_role_setting where setrole = 'tuned'::regrole order by setdatabase"
        ).fetchall()
    found = [dict(each.split("=", 1) for each in settings) for (settings,) in rows]
    assert found == [SESSION_SETTINGS, POOLED_SETTINGS]
