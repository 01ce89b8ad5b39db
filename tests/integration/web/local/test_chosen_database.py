"""The database of `penstock metrics run` and `report`, by one rule. docs/metrics_job.md says which it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from penstock.settings import SettingError, Settings
from penstock_web.cli.metrics import with_database
from penstock_web.local import chosen_database as chosen
from penstock_web.local.chosen_database import choose_database, display_database
from penstock_web.local.postgres import service_dsn
from tests.support.database import Database

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
