"""What applications may call: docs/sql.md, sql/functions/api, sql/grants.sql and the catalogue name the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from penstock.postgres.migrations import sql_directory
from tests.support.database import Database
from tests.support.pages.blocks import blocks

PAGE = (Path(__file__).parents[3] / "docs/sql.md").read_text()
GRANTS = (sql_directory() / "grants.sql").read_text()
FILES = sorted(path.stem for path in (sql_directory() / "functions/api").glob("*.sql"))

ARGUMENTS: LiteralString = """
select 'queue.' || proname, pg_get_function_arguments(oid) from pg_proc where pronamespace = 'queue'::regnamespace
"""
CALLABLE: LiteralString = ARGUMENTS + "and has_function_privilege(%s, oid, 'execute')"
OF_PUBLIC: LiteralString = """
select proname from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
where p.pronamespace = 'queue'::regnamespace and a.grantee = 0
"""


def documented() -> dict[str, str]:
    """The signatures in the table: names of parameters, types and defaults."""
    return dict(re.findall(r"^\| `(queue\.\w+)\((.*?)\)` \|", PAGE, re.MULTILINE))


def written(arguments: str) -> str:
    """Arguments of the catalogue, as the page writes them."""
    short = arguments.replace("timestamp with time zone", "timestamptz")
    return re.sub(r" DEFAULT (.+?)(?:::[a-z \[\]]+)?(?=, \w+ [a-z]|$)", r" default \1", short).replace(
        "NULL", "null"
    )


def rows(connection: psycopg.Connection[Any], query: LiteralString) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def test_the_page_names_the_files() -> None:
    assert sorted(documented()) == FILES


def test_the_grants_are_for_the_files(database: Database) -> None:
    """Of the role of applications, and of the service's."""
    with psycopg.connect(database.dsn) as connection:
        connection.execute(GRANTS.encode())
        granted = {
            role: {name for name, _ in connection.execute(CALLABLE, (role,))}
            for role in ("penstock_app", "penstock_api")
        }
        every = {name for name, _ in rows(connection, ARGUMENTS)}
        connection.rollback()
    assert granted == {"penstock_app": set(FILES), "penstock_api": every}
    assert set(FILES) < every


def test_the_catalogue_has_the_parameters_of_the_page(database: Database) -> None:
    with psycopg.connect(database.dsn) as connection:
        arguments = dict(rows(connection, ARGUMENTS))
    assert {name: written(arguments[name]) for name in FILES} == documented()


def test_no_parameter_of_an_application_has_the_prefix_of_internal_ones() -> None:
    assert [name for name, arguments in documented().items() if re.search(r"\bp_", arguments)] == []


def test_the_public_may_call_nothing(database: Database) -> None:
    with psycopg.connect(database.dsn) as connection:
        assert rows(connection, OF_PUBLIC) == []


def test_arguments_are_given_by_name(database: Database) -> None:
    """The examples of the page, in one transaction."""
    (examples,) = [block.text for block in blocks("docs/sql.md") if "delay => 5" in block.text]
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        connection.execute(examples.encode())
        assert rows(connection, "select queue.delete_schedule(name => 'report')") == [(True,)]
