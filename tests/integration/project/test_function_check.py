"""The check of the SQL functions finds what it is there for, and finds nothing in ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.postgres.migrations import sql_directory
from tests.support.database import Database
from tests.support.sql.function_check import check_files, check_server

HEADER = "-- queue.f(a): does something.\n"
GOOD = HEADER + "create or replace function queue.f(p_a int) returns int\nlanguage sql as 'select p_a';\n"
PART = "\n-- queue.g(): a part of it.\ncreate or replace function queue.g() returns int language sql as 'select 1';\n"
USE = GOOD.replace("'select p_a'", "'select p_a + queue.g()'")
MADE = "create function queue.g() returns int language sql as 'select 1'"
SHADOW = "declare p_a int; begin return 1; end"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A folder like sql/ with one migration and one good function."""
    (tmp_path / "migrations").mkdir()
    (tmp_path / "functions").mkdir()
    (tmp_path / "migrations/0001_first.sql").write_text("create table queue.first (id int);")
    (tmp_path / "functions/queue.f.sql").write_text(GOOD)
    return tmp_path


def test_our_functions_are_in_order(empty_database: Database) -> None:
    assert list(check_files(sql_directory())) == []
    assert list(check_server(empty_database.api_dsn, empty_database.dsn, sql_directory())) == []


def test_a_good_function_has_no_findings(directory: Path, empty_database: Database) -> None:
    assert list(check_files(directory)) == []
    assert list(check_server(empty_database.api_dsn, empty_database.dsn, directory)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("queue.f(p_a", "queue.g(p_a"), "defines queue.g first, not queue.f"),
        ("select 1;", "defines nothing first, not queue.f"),
        (GOOD.replace("-- queue.f", "-- queue.g"), "no comment that begins with '-- queue.f'"),
        (USE + PART.replace("-- queue.g", "-- a"), "no comment that begins with '-- queue.g'"),
        (USE + "select 1;\n" + PART.lstrip(), "stands before the function"),
        (GOOD + PART, "does not use queue.g"),
        (HEADER + "select 1;\n" + GOOD.removeprefix(HEADER), "stands before the function"),
    ],
)
def test_findings_in_a_file(directory: Path, text: str, said: str) -> None:
    (directory / "functions/queue.f.sql").write_text(text)
    (finding, *_) = check_files(directory)
    assert said in finding


def test_a_function_that_two_files_use_has_a_file(directory: Path) -> None:
    (directory / "functions/queue.f.sql").write_text(USE + PART)
    assert list(check_files(directory)) == []
    (directory / "functions/queue.h.sql").write_text(USE.replace("queue.f", "queue.h"))
    assert list(check_files(directory)) == ["queue.f.sql: queue.h.sql uses queue.g, which needs a file"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("sql as 'select p_a'", f"plpgsql as '{SHADOW}'"), 'variable "p_a" shadows'),
        (GOOD.replace("select p_a", "select nothing"), 'column "nothing" does not exist'),
        (
            GOOD + "create or replace function queue.f() returns int language sql as 'select 1';",
            "2 functions of that name",
        ),
        (GOOD.replace("language sql", "language sql security definer"), "does not fix search_path"),
        (
            f"do $$ begin execute $text${MADE}$text$; end $$;\n{GOOD}".replace(
                "create f", "create or replace f"
            ),
            "comes from no file",
        ),
    ],
)
def test_findings_of_the_server(directory: Path, empty_database: Database, text: str, said: str) -> None:
    (directory / "functions/queue.f.sql").write_text(text)
    (finding,) = check_server(empty_database.api_dsn, empty_database.dsn, directory)
    assert said in finding
