"""The database of `penstock metrics run` and `report`, by one rule. docs/metrics_job.md says which it is.

The encryption key of an installation that runs its own database.

What a killed `penstock up --ephemeral` leaves behind: nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from penstock.settings import SettingError, Settings
from penstock_web.cli.metrics import with_database
from penstock_web.local import chosen_database as chosen
from penstock_web.local.chosen_database import choose_database, display_database
from penstock_web.local.encryption_key import with_encryption_key
from penstock_web.local.guardian import command_line
from penstock_web.local.postgres import forget_other_process, service_dsn
from tests.support.database import Database
from tests.support.programs.penstock_up import running
from tests.support.wait import wait_until

POOLED, DIRECT = "postgresql://u:secret@pooler:6432/d", "postgresql://u:secret@db:5432/d"


@pytest.fixture
def state(tmp_path: Path, database: Database) -> Path:
    """A folder as `penstock up` leaves one: the port of a server that runs, and its password."""
    folder = tmp_path / "postgres"
    folder.mkdir()
    (folder / "port").write_text(str(conninfo_to_dict(database.dsn)["port"]))
    (folder / "password").write_text("secret")
    return tmp_path


def test_what_is_set_comes_first(state: Path) -> None:
    both = Settings.read({"DATABASE_URL": POOLED, "DATABASE_DIRECT_URL": DIRECT})
    assert choose_database(both, state) == DIRECT
    assert choose_database(Settings.read({"DATABASE_URL": POOLED}), state) == POOLED


def test_else_the_service_of_this_machine(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`report` takes the one that `run` takes."""
    monkeypatch.setattr(chosen, "_answers", lambda dsn: True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(state / "cache"))  # other services may run here
    monkeypatch.setattr(chosen, "default_state_directory", lambda: state)
    for name in ("DATABASE_URL", "DATABASE_DIRECT_URL"):
        monkeypatch.delenv(name, raising=False)
    assert choose_database(Settings.read({})) == service_dsn(state) == with_database().database_url


def test_one_that_does_not_answer_is_none(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", refuse)
    with pytest.raises(SettingError, match="--ephemeral"):
        choose_database(Settings.read({}), state)


def test_people_see_no_password() -> None:
    assert "secret" not in display_database(DIRECT)
    assert {"host=db", "port=5432", "dbname=d"} <= set(display_database(DIRECT).split())


def test_without_the_extra_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['py4j'] = sys.modules['pyspark'] = None\n"
        "from penstock_web.cli import main; sys.exit(main(['metrics', 'run']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "penstock: the metrics job needs packages that are not installed (py4j): pip install 'penstock[metrics]'"
    ]


CLOSED = Settings.read({"QUEUE_ACCESS": "sigv4"})
OPEN = Settings.read({"QUEUE_ACCESS": "off"})


def test_it_is_made_once_and_used_from_then_on(tmp_path: Path) -> None:
    """Also when access is off later: encrypted texts must stay readable."""
    assert with_encryption_key(OPEN, tmp_path) == OPEN
    key = with_encryption_key(CLOSED, tmp_path).queue_encryption_key
    assert len(b64decode(key)) == 32
    assert [with_encryption_key(settings, tmp_path).queue_encryption_key for settings in (CLOSED, OPEN)] == [
        key,
        key,
    ]
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_key_that_is_set_stays(tmp_path: Path) -> None:
    settings = CLOSED.replace(queue_encryption_key="mine")
    assert with_encryption_key(settings, tmp_path) == settings
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
    """A folder that PostgreSQL's user can enter."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


def processes_of(folder: str) -> set[int]:
    """Ids of processes whose command names the folder."""
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {number for number in numbers if folder in command_line(number)}


def test_nothing_is_left_when_it_is_killed(parent: Path) -> None:
    """Also where a shell has started it in the background, with SIGQUIT and SIGINT ignored."""
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        check_that_nothing_is_left(parent)
    finally:
        signal.signal(signal.SIGQUIT, before)


def check_that_nothing_is_left(parent: Path) -> None:
    with running("--ephemeral", TMPDIR=str(parent)) as up:
        (folder,) = (path for path in parent.iterdir() if path.name.startswith("penstock-"))
        started = processes_of(str(folder))
        names = {command_line(number).partition("\0")[0].rpartition("/")[2] for number in started}
        assert {"postgres", "pgbouncer"} <= names
        up.end(signal.SIGKILL)
        wait_until(lambda: not folder.exists() and not processes_of(str(folder)))


def test_an_orderly_end_needs_no_guardian(parent: Path) -> None:
    with running("--ephemeral", TMPDIR=str(parent)) as up:
        (folder,) = (path for path in parent.iterdir() if path.name.startswith("penstock-"))
        assert up.end(signal.SIGTERM) == 0
        assert not folder.exists()
        assert processes_of(str(folder)) == set()
