"""Every folder of sql/functions is read, and the database has exactly the functions that lie there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import psycopg

from penstock.postgres.migrations import read_functions, sql_directory
from tests.support.database import Database

FUNCTIONS = sql_directory() / "functions"
# A migration made it, because an index uses it.
MADE_BY_MIGRATION = ["time_key"]
DEFINED = re.compile(r"^create or replace (?:function|procedure) queue\.([a-z_]+)", re.MULTILINE)


def files() -> list[Path]:
    return [*FUNCTIONS.glob("*/*.sql"), *(sql_directory() / "former").glob("*.sql")]


def test_the_catalogue_has_the_functions_of_the_files(database: Database) -> None:
    """A folder that the migration runner does not read would be missing here."""
    with psycopg.connect(database.dsn) as connection:
        found = connection.execute(
            "select proname from pg_proc where pronamespace = 'queue'::regnamespace"
        ).fetchall()
    expected = [name for path in files() for name in DEFINED.findall(path.read_text())] + MADE_BY_MIGRATION
    assert sorted(name for (name,) in found) == sorted(expected)


def test_functions_are_read_in_the_order_of_their_names_across_folders() -> None:
    names = [script.name for script in read_functions(sql_directory())]
    functions = sorted(path.name for path in FUNCTIONS.glob("*/*.sql"))
    assert names[: len(functions)] == functions
    assert len(set(functions)) == len(functions)


def test_a_folder_holds_at_most_20_files() -> None:
    """`api` may hold more; no function lies beside the folders."""
    held = Counter(path.parent.name for path in FUNCTIONS.rglob("*.sql"))
    assert {folder: count for folder, count in held.items() if folder != "api" and count > 20} == {}
    assert FUNCTIONS.name not in held
