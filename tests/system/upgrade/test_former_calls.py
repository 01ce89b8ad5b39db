"""Migrations come first, so the previous release runs on this schema: all that it calls is there, with its results.

test_rolling.py shows the same with its code.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.support.database import Database, TestServer
from tests.support.programs.penstock_up import COMMAND
from tests.support.upgrade.calls import called_by, results
from tests.support.upgrade.release import environment_of, make_next, unpack, unpack_next

Results = dict[str, list[str] | None]


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("previous"))


@pytest.fixture(scope="module")
def calls(previous: Path) -> list[str]:
    return called_by(previous)


@pytest.fixture(scope="module")
def before(postgres: TestServer, previous: Path, calls: list[str]) -> Results:
    """What the previous release gets on its own schema."""
    with postgres.database(template="template0") as database:
        return after_migration(database, previous, calls)


def after_migration(database: Database, release: Path, calls: list[str]) -> Results:
    """What these calls get once the release has migrated the database by its own code."""
    environment = {**environment_of(release), "DATABASE_URL": database.api_dsn, "DATABASE_DIRECT_URL": ""}
    subprocess.run([*COMMAND, "migrate"], env=environment, check=True, stdout=subprocess.DEVNULL)
    with psycopg.connect(database.dsn) as connection:
        return dict(results(connection, calls))


def test_everything_it_calls_is_there(
    empty_database: Database, tmp_path: Path, previous: Path, calls: list[str], before: Results
) -> None:
    assert before
    assert None not in before.values()
    after_migration(empty_database, previous, calls)
    assert after_migration(empty_database, unpack_next(tmp_path, previous), calls) == before


def test_a_former_function_that_is_missing_is_found(empty_database: Database, tmp_path: Path) -> None:
    release = unpack(tmp_path / "release", commit="")
    following = make_next(tmp_path / "next", release)
    shutil.rmtree(following / "sql/former")
    found = after_migration(empty_database, following, called_by(release))
    missing = [call for call, columns in found.items() if columns is None]
    assert len(missing) == 1
    assert "queue.change_topic(" in missing[0]


def test_a_release_is_made_of_any_commit(empty_database: Database, tmp_path: Path) -> None:
    """As a copy of this checkout is."""
    release = unpack(tmp_path, "HEAD")
    assert None not in after_migration(empty_database, release, called_by(release)).values()
