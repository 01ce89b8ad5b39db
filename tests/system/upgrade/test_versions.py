"""Tests two releases with the same migrations and different functions: the older one never restores its functions.

Migrations come first, so the previous release runs on this schema. All functions that it calls exist, with its results.

test_rolling.py shows the same with its code.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest

from penstock import __version__
from tests.support.database import Database, TestServer
from tests.support.programs.penstock_up import COMMAND, running
from tests.support.upgrade.customers import called_by, results
from tests.support.upgrade.release import environment_of, make_next, name_version, unpack, unpack_next

# The releases differ in this function.
FUNCTION = """\
-- queue.told_release(): which release it is of. SQL interface.
create or replace function queue.told_release() returns text language sql as $$ select '{}' $$;
"""
NEWER = f"{__version__}.post1"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Returns this tree twice by version: unchanged, and as a later release."""
    folders = {version: tmp_path_factory.mktemp("release") for version in (__version__, NEWER)}
    for version, folder in folders.items():
        name_version(unpack(folder, commit=""), version)
        (folder / "sql/functions/queue.told_release.sql").write_text(FUNCTION.format(version))
    return folders


def migrate(folder: Path, database: Database) -> tuple[str, str]:
    """Returns the output of `penstock migrate` of a release, on standard output and on standard error."""
    variables = {**environment_of(folder), "DATABASE_URL": database.api_dsn, "DATABASE_DIRECT_URL": ""}
    command = [*COMMAND, "migrate"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def functions(database: Database) -> tuple[str, str]:
    """Returns the release of the database's functions, and the recorded release."""
    with psycopg.connect(database.dsn) as connection:
        (told,) = connection.execute("select queue.told_release()").fetchall()[0]
        (recorded,) = connection.execute("select name from queue.migration where number = 0").fetchall()[0]
    return told, recorded


def test_a_newer_release_brings_its_functions(database: Database, releases: dict[str, Path]) -> None:
    assert migrate(releases[__version__], database) == ("functions and grants applied\n", "")
    assert functions(database) == (__version__, f"functions {__version__}")
    assert migrate(releases[NEWER], database) == ("functions and grants applied\n", "")
    assert functions(database) == (NEWER, f"functions {NEWER}")


def test_an_older_release_that_starts_later_leaves_them_and_says_so(
    database: Database, releases: dict[str, Path]
) -> None:
    """A task of the old image starts in the middle of a rollout, by `penstock migrate` or by `penstock up`."""
    migrate(releases[NEWER], database)
    warning = (
        f"penstock: warning: the database keeps the functions of release {NEWER}: "
        f"this is the older release {__version__}\n"
    )
    assert migrate(releases[__version__], database) == ("functions and grants unchanged\n", warning)
    assert functions(database) == (NEWER, f"functions {NEWER}")
    old = environment_of(releases[__version__])["PYTHONPATH"]
    with running(DATABASE_URL=database.api_dsn, PYTHONPATH=old) as up:
        assert up.is_alive()
        assert warning in up.log()
    assert functions(database) == (NEWER, f"functions {NEWER}")


def test_the_same_release_has_nothing_to_say(database: Database, releases: dict[str, Path]) -> None:
    migrate(releases[NEWER], database)
    assert migrate(releases[NEWER], database) == ("functions and grants unchanged\n", "")


Results = dict[str, list[str] | None]


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("previous"))


@pytest.fixture(scope="module")
def calls(previous: Path) -> list[str]:
    return called_by(previous)


@pytest.fixture(scope="module")
def before(postgres: TestServer, previous: Path, calls: list[str]) -> Results:
    """Returns what the previous release gets on its schema."""
    with postgres.database(template="template0") as database:
        return after_migration(database, previous, calls)


def after_migration(database: Database, release: Path, calls: list[str]) -> Results:
    """Returns what these calls get after the release has migrated the database with its code."""
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
    """The release works like a copy of this checkout."""
    release = unpack(tmp_path, "HEAD")
    assert None not in after_migration(empty_database, release, called_by(release)).values()
