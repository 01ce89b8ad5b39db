"""Two releases with the same migrations and other functions: the older one never puts its functions back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg
import pytest

from penstock import __version__
from tests.support.database import Database
from tests.support.programs.penstock_up import COMMAND, running
from tests.support.upgrade.release import environment_of, name_version, unpack

# What the releases differ in.
FUNCTION = """\
-- queue.told_release(): which release it is of. SQL interface.
create or replace function queue.told_release() returns text language sql as $$ select '{}' $$;
"""
NEWER = f"{__version__}.post1"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """This tree twice, by version: as it is, and as a release that comes after it."""
    folders = {version: tmp_path_factory.mktemp("release") for version in (__version__, NEWER)}
    for version, folder in folders.items():
        name_version(unpack(folder, commit=""), version)
        (folder / "sql/functions/queue.told_release.sql").write_text(FUNCTION.format(version))
    return folders


def migrate(folder: Path, database: Database) -> tuple[str, str]:
    """What `penstock migrate` of a release says, on standard output and on standard error."""
    variables = {**environment_of(folder), "DATABASE_URL": database.api_dsn, "DATABASE_DIRECT_URL": ""}
    command = [*COMMAND, "migrate"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def functions(database: Database) -> tuple[str, str]:
    """Whose functions the database has, and which release is recorded for them."""
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
    """A task of the old image that starts in the middle of a rollout: by `penstock migrate` or by `penstock up`."""
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
