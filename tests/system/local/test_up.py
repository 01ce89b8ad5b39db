"""Tests the process `penstock up`: its output, its exit, its files, and its use of running servers."""

from __future__ import annotations

import html
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from base64 import b64encode
from pathlib import Path

import boto3
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from infra.site.recording import PICTURE, SERVICE, Terminal
from penstock import __version__
from penstock.postgres.migrations import find_sql_directory, read_migrations
from penstock_web.console.documentation import find_archive
from penstock_web.doctor.service import check_service
from penstock_web.local.postgres import ROLE, free_port
from tests.support import client_setup
from tests.support.database import Database
from tests.support.programs.penstock_up import COMMAND, running
from tests.support.sql.server_crash import kill_server
from tests.support.wait import wait_until


def responses(dsn: str) -> bool:
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_says_when_it_is_ready_and_leaves_nothing(number: signal.Signals) -> None:
    with running("--ephemeral") as up:
        assert up.lines[0] == f"penstock ready on {up.address}"
        assert up.lines[2].startswith("boto3 ")
        assert up.lines[3].startswith("awscli ")
        assert (up.is_alive(), responses(up.dsn)) == (True, True)
        done = subprocess.run([*COMMAND, "doctor", "--database", up.dsn], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "no problem found"), done.stdout
        assert "password" not in conninfo_to_dict(up.dsn)  # libpq reads the password from a private file.
        assert Path(str(conninfo_to_dict(up.dsn)["passfile"])).stat().st_mode & 0o777 == 0o600
        assert (up.end(number), responses(up.dsn)) == (0, False)


def test_the_lines_that_are_shown_work_with_a_key_made_as_they_say(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"QUEUE_ACCESS": "sigv4", "QUEUE_ENCRYPTION_KEY": b64encode(bytes(32)).decode()}
    for name, value in {**settings, "DATABASE_URL": database.api_dsn}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    with running(DATABASE_URL=database.api_dsn) as up:
        boto3_line, awscli_line = (up.lines[number].split(maxsplit=1)[1] for number in (2, 3))
        assert all("`penstock keys create`" in line for line in (boto3_line, awscli_line))
        made = subprocess.run([*COMMAND, "keys", "create"], capture_output=True, text=True, check=True)
        for line in made.stdout.splitlines():
            if line.startswith("AWS_"):
                monkeypatch.setenv(*line.split("=", 1))
        url = f"{up.address}/000000000000/hello"
        assert eval(boto3_line, {"boto3": boto3})["QueueUrl"] == url
        done = subprocess.run(awscli_line, shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, url in done.stdout) == (0, True), done.stderr
        assert "created outside QUEUE_REGION" not in up.log()
        elsewhere = boto3.client("sqs", endpoint_url=up.address, region_name="eu-central-1")
        elsewhere.create_queue(QueueName="hello")
        wait_until(lambda: "a queue was created outside QUEUE_REGION" in up.log())


def test_says_at_each_start_that_strangers_are_let_in(database: Database) -> None:
    said = "penstock: WARNING: with QUEUE_ACCESS=off, everyone who can connect to 0.0.0.0 "
    with running("--host", "0.0.0.0", DATABASE_URL=database.api_dsn) as up:
        assert said in up.log()


def test_after_kill_9_the_database_is_taken_over(state: Path) -> None:
    pid_file = state / "postgres/data/postmaster.pid"
    with running("--data-dir", str(state)) as killed:
        pid = pid_file.read_text().split("\n")[0]
        assert killed.end(signal.SIGKILL) == -signal.SIGKILL
        assert responses(killed.dsn)
        (found,) = check_service(state)
        assert f"the service with the data in {state} ended" in found.problem
        assert "`penstock up`" in found.remedy
        with running("--data-dir", str(state)) as up:
            assert up.is_alive()
            assert list(check_service(state)) == []
            assert (up.dsn, pid_file.read_text().split("\n")[0]) == (killed.dsn, pid)
            assert (up.end(signal.SIGTERM), pid_file.exists()) == (0, False)


def test_a_database_and_a_pooler_that_die_are_started_again(state: Path) -> None:
    with running("--data-dir", str(state)) as up:
        kill_server(state / "postgres/data")
        os.kill(int((state / "pgbouncer/pid").read_text()), signal.SIGKILL)
        wait_until(lambda: "PgBouncer has ended; starting it again" in up.log())
        wait_until(lambda: client_setup.get(f"{up.address}/readyz").status_code == 200)
        assert responses(up.dsn)
        assert (up.end(signal.SIGTERM), responses(up.dsn)) == (0, False)


def test_with_a_database_url_only_the_service_is_started(empty_database: Database, state: Path) -> None:
    with running(DATABASE_URL=empty_database.api_dsn, XDG_STATE_HOME=str(state)) as up:
        without_password = conninfo_to_dict(empty_database.api_dsn)
        del without_password["password"]
        assert (up.is_alive(), conninfo_to_dict(up.dsn)) == (True, without_password)
        with psycopg.connect(empty_database.api_dsn) as connection:
            applied = connection.execute("select max(number) from queue.migration").fetchone()
        assert applied == (len(read_migrations(find_sql_directory())),)
        assert up.end(signal.SIGTERM) == 0
    assert list(state.iterdir()) == []
    assert responses(empty_database.api_dsn)


def test_the_start_and_the_doctor_name_settings_that_sessions_lack(database: Database) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        untuned = f"alter role {ROLE} in database {database.name} set plan_cache_mode = auto"
        connection.execute(untuned.encode())
    with running(DATABASE_URL=database.pooled_dsn, DATABASE_DIRECT_URL=database.api_dsn) as up:
        (line,) = (line for line in up.log().splitlines() if "lack settings" in line)
    assert line == (
        f"penstock: warning: sessions of the database role {ROLE} lack settings that calls rely on (plan_cache_mode): "
        f"`penstock migrate --tune-role {ROLE}` gives them to the role"
    )
    variables = {**os.environ, "DATABASE_URL": database.pooled_dsn, "DATABASE_DIRECT_URL": database.api_dsn}
    done = subprocess.run([*COMMAND, "doctor"], capture_output=True, text=True, check=False, env=variables)
    said = line.removeprefix("penstock: warning: ")
    assert (done.returncode, f"sessions: {said}" in done.stdout.splitlines()) == (1, True)


def test_a_port_that_is_taken_is_one_line(state: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        command = [*COMMAND, "up", "--port", str(port), "--data-dir", str(state)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "penstock: starting with its own PostgreSQL\n"
        f"penstock: cannot listen on 127.0.0.1:{port}: Address already in use. Choose another --port\n"
    )
    assert list(state.iterdir()) == []


def refused(*arguments: str, **variables: str) -> str:
    """Returns the only line that a refused command writes."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DATABASE_")}
    command = [*COMMAND, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**environment, **variables})
    assert (done.returncode, done.stdout) == (1, "")
    *steps, line = done.stderr.splitlines()
    assert all(step.startswith("penstock: starting") for step in steps)
    return line


def test_the_start_says_what_it_does(tmp_path: Path) -> None:
    """`penstock up` writes the first line before its imports, because a new database takes some seconds. The command
    ignores DATABASE_URL."""
    file = tmp_path / "file"
    file.touch()
    variables = {**os.environ, "DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    command = [*COMMAND, "up", "--port", str(free_port()), "--data-dir", str(file / "new")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert done.stderr.splitlines()[:-1] == [
        "penstock: starting with its own PostgreSQL",
        "penstock: warning: --data-dir starts a new database and ignores DATABASE_URL",
        f"penstock: starting PostgreSQL in {file / 'new'}, a new database: this takes some seconds",
    ]


def test_the_picture_of_the_documents_shows_the_lines_of_the_start(tmp_path: Path) -> None:
    """`make recording` draws the picture again. Addresses and folders differ in each start."""
    service = Terminal(SERVICE.split(), tmp_path, free_port())
    try:
        lines = [line[:16] for line in service.read_start().splitlines() if line]
    finally:
        service.close()
    known = ["database", "boto3", "awscli", "console", *["docs"][: find_archive().exists()]]
    assert [line.split()[0] for line in lines][-len(known) :] == known
    picture = html.unescape(PICTURE.read_text()).replace("\xa0", " ")
    assert [line for line in lines if f">{line}" not in picture] == []


@pytest.mark.parametrize("name", ["DATABASE_URL", "DATABASE_URL_FILE"])
def test_the_start_on_another_database_names_no_own_one(tmp_path: Path, name: str) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://127.0.0.1:1/none")
    up = ("up", "--port", str(free_port()), "--no-migrate")
    variables = {**os.environ, "DATABASE_URL": "", name: str(file) if name.endswith("_FILE") else file.read_text()}
    done = subprocess.run([*COMMAND, *up], capture_output=True, text=True, check=False, env=variables)
    assert done.stderr.startswith("penstock: no connection to the database: ")


@pytest.mark.parametrize(
    "variable",
    [{"PGCLIENTENCODING": "SQL_ASCII"}, {"PGOPTIONS": "-c datestyle=SQL,DMY"}, {"PGHOST": "h.invalid", "PGPORT": "1"}],
    ids=repr,
)
def test_variables_of_libpq_do_not_change_the_own_database(variable: dict[str, str]) -> None:
    command = [*COMMAND, "migrate", "--ephemeral"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variable})
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_the_variable_that_a_pooler_refuses_is_named(database: Database) -> None:
    line = refused("up", "--port", "0", "--no-migrate", DATABASE_URL=database.pooled_dsn, PGOPTIONS="-c datestyle=SQL")
    assert line.startswith("penstock: no connection to the database: ")
    assert line.endswith(" (PgBouncer refuses the variable PGOPTIONS and `options` of an address: unset it)")


def test_a_data_folder_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    up = ("up", "--port", str(free_port()))
    assert refused(*up, "--data-dir", str(file)) == (
        f"penstock: the data folder {file} cannot be used: {file}: File exists. "
        "Choose another folder with --data-dir, or set DATABASE_URL"
    )
    assert refused(*up, "--data-dir", str(file / "below")).endswith(
        ": Not a directory. Choose another folder with --data-dir, or set DATABASE_URL"
    )
    assert refused(*up, XDG_STATE_HOME="/proc/nowhere").startswith(
        "penstock: the data folder /proc/nowhere/penstock cannot be used: /proc/nowhere"
    )


def test_a_database_that_cannot_be_written_to_is_one_line(database: Database) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        alter = f"alter database {database.name} set default_transaction_read_only = on"
        connection.execute(alter.encode())
    port = str(free_port())
    for arguments in (("migrate",), ("up", "--port", port), ("up", "--port", port, "--no-migrate")):
        assert refused(*arguments, DATABASE_URL=database.api_dsn).startswith(
            "penstock: the database is read-only: default_transaction_read_only is on"
        )


def test_a_role_to_tune_that_is_not_there_is_one_line(database: Database) -> None:
    assert refused("migrate", "--tune-role", "nobody_has_it", DATABASE_URL=database.dsn) == (
        "penstock: --tune-role: there is no role 'nobody_has_it'; the schema is up to date"
    )
    other = refused("migrate", "--tune-role", "postgres", DATABASE_URL=database.api_dsn)
    assert other.startswith(f"penstock: --tune-role: {ROLE} may not change the role postgres: ")


def test_the_log_says_when_and_with_what_the_service_started_and_stopped(database: Database) -> None:
    with running(
        DATABASE_URL=database.api_dsn, QUEUE_MAX_CONNECTIONS="7", QUEUE_METRICS_TOKEN="hidden", QUEUE_MAX_CONECTIONS="5"
    ) as up:
        assert up.end(signal.SIGTERM) == 0
        warning, *lines = up.log().splitlines()
        started, stopping, stopped = map(json.loads, lines)
    assert warning == (
        "penstock: warning: QUEUE_MAX_CONECTIONS is not a setting and has no effect; do you mean QUEUE_MAX_CONNECTIONS?"
    )
    assert (started["message"], started["version"], started["workers"]) == ("started", __version__, 1)
    assert f"http://{started['address']}" == up.address
    assert started["settings"] == {
        "QUEUE_ADDRESS": started["address"],  # unless set
        "QUEUE_CONSOLE": "full",  # on loopback, unless set
        "QUEUE_MAX_CONNECTIONS": 7,
        "QUEUE_METRICS_TOKEN": "(set)",
    }
    with psycopg.connect(database.dsn) as connection:
        row = connection.execute("show server_version").fetchone()
    assert row
    assert row[0].startswith(started["postgresql"])
    assert (stopping["message"], stopping["reason"], stopped["message"]) == ("stopping", "SIGTERM", "stopped")
    assert str(conninfo_to_dict(database.api_dsn)["password"]) not in "".join(lines)


def test_a_database_that_does_not_answer_is_one_line() -> None:
    variables = {**os.environ, "DATABASE_URL": f"postgresql://nobody@127.0.0.1:{free_port()}/none"}
    command = [*COMMAND, "up", "--port", str(free_port())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("penstock: no connection to the database: ")


@pytest.mark.parametrize("address", ["mysql://app:secret@127.0.0.1/shop", "app:secret"])
def test_an_invalid_database_address_is_reported_without_the_password(address: str) -> None:
    variables = {**os.environ, "DATABASE_URL": address}
    command = [*COMMAND, "up", "--port", str(free_port())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert (done.returncode, done.stderr.count("\n"), "secret" in done.stderr) == (1, 1, False)
    assert done.stderr.startswith("penstock: DATABASE_URL is not the address of a PostgreSQL")


@pytest.mark.parametrize("command", [["up", "--port", "0"], ["migrate"]], ids=["up", "migrate"])
def test_a_role_that_may_not_migrate_is_one_line(empty_database: Database, command: list[str]) -> None:
    with psycopg.connect(empty_database.dsn, autocommit=True) as connection:
        connection.execute("create role poor login password 'secret'")
        try:
            poor = make_conninfo(empty_database.api_dsn, user="poor", password="secret")
            variables = {**os.environ, "DATABASE_URL": poor}
            done = subprocess.run([*COMMAND, *command], capture_output=True, text=True, check=False, env=variables)
        finally:
            connection.execute("drop role poor")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("penstock: the role of DATABASE_URL cannot migrate: permission denied")


@pytest.mark.parametrize(
    "arguments", [["--port", "-1"], ["--port", "65536"], ["--workers", "0"], ["--ephemeral", "--data-dir", "x"]]
)
def test_arguments_that_cannot_be_are_refused(arguments: list[str]) -> None:
    done = subprocess.run([*COMMAND, "up", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, "penstock up: error: argument" in done.stderr) == (2, True)


def test_port_0_is_a_free_port_which_is_printed() -> None:
    with running("--ephemeral", port=0) as up:
        address = up.lines[0].removeprefix("penstock ready on ")
        assert not address.endswith(":0")
        with urllib.request.urlopen(f"{address}/livez") as response:
            assert response.status == 200


def children(pid: int) -> set[int]:
    listed = subprocess.run(["ps", "-ww", "-e", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return {int(row[0]) for row in rows if row[1] == str(pid) and " worker " in row[2]}


def test_a_worker_that_dies_is_replaced_and_none_outlives_its_parent(database: Database) -> None:
    with running("--workers", "2", DATABASE_URL=database.api_dsn) as up:
        first = children(up.process.pid)
        assert len(first) == 2
        with urllib.request.urlopen(f"{up.address}/console") as response:
            assert response.status == 200, "the workers have the console's access, which `up` chose"
        os.kill(min(first), signal.SIGKILL)
        wait_until(lambda: len(children(up.process.pid) - {min(first)}) == 2)
        now = children(up.process.pid)
        assert max(first) in now
        assert up.is_alive()
        up.process.kill()
        wait_until(lambda: not any(map(is_running, now)))


def is_running(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] not in ("", "Z")


def test_the_demo_gets_every_message_back(database: Database) -> None:
    with running(DATABASE_URL=database.api_dsn) as up:
        command = [*COMMAND, "demo", "--endpoint", up.address]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "received every message")


def test_the_demo_says_when_no_service_responds() -> None:
    command = [*COMMAND, "demo", "--endpoint", f"http://127.0.0.1:{free_port()}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.startswith("penstock demo: Could not connect")) == (1, True)
