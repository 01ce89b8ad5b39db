"""Checks that statements agree with PostgreSQL's catalogue about names, parameters, columns and types."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, get_type_hints

import psycopg
import pytest

from penstock.postgres import binary_array
from penstock.postgres.migrations import find_sql_directory
from penstock.postgres.statement import BatchStatement, Statement
from penstock.postgres.statements.messages import (
    DELETE_MESSAGES,
    MESSAGE_TYPES,
    DeletedRow,
    ReceiptHandle,
    SendEntry,
)
from tests.support.database import TestServer
from tests.support.sql.calls import Connection
from tests.support.sql.statement_check import all_statements, findings, fits


@pytest.fixture(scope="module")
def connection(postgres: TestServer) -> Iterator[Connection]:
    """Yields a connection to a migrated database."""
    with postgres.database() as database, psycopg.connect(database.dsn, autocommit=True) as connection:
        yield connection


def test_every_statement_agrees_with_the_catalogue(connection: Connection) -> None:
    every = all_statements()
    assert len(every) > 90
    differences = {name: found for name, statement in every if (found := findings(connection, statement))}
    assert differences == {}


@pytest.mark.parametrize("function", ["send_messages", "send_later", "transact", "replace_messages"])
def test_each_function_that_stores_messages_takes_the_columns_of_send_entry(
    connection: Connection, function: str
) -> None:
    columns = read_parameters(connection, "send_messages")[: len(SendEntry._fields)]
    found = read_parameters(connection, function)
    first = found.index(columns[0])
    assert found[first : first + len(columns)] == columns
    assert len(MESSAGE_TYPES) == len(columns)


def read_parameters(connection: Connection, function: str) -> list[str]:
    """Returns the name and type of each parameter of a function, in order."""
    query = "select pg_get_function_identity_arguments(oid) from pg_proc where proname = %s"
    ((parameters,),) = connection.execute(query, (function,))
    return str(parameters).split(", ")


def test_a_change_is_a_column_that_is_true_or_false() -> None:
    """Only statements that write an audit row have the column `changed`."""
    found = {name: statement for name, statement in all_statements() if statement.changed}
    assert len(found) >= 20
    for name, statement in found.items():
        assert statement.is_audited, name
        assert get_type_hints(statement.row)[statement.changed] is bool, name


def test_no_function_has_two_statements() -> None:
    counted = Counter(statement.name for _, statement in all_statements())
    assert {name for name, count in counted.items() if count > 1} == set()


# --- statements that differ ------------------------------------------------------------------------------------------
class Flag(NamedTuple):
    replaced: bool
    error: str | None


class Renamed(NamedTuple):
    replaced: bool
    mistake: str | None


class Turned(NamedTuple):
    error: str | None
    replaced: bool


class Short(NamedTuple):
    replaced: bool


class Wrong(NamedTuple):
    replaced: int
    error: str | None


class ShortEntry(NamedTuple):
    queue_id: int


class WrongEntry(NamedTuple):
    queue_id: int
    shard: int
    pos: str
    id: int
    receive_count: int
    nonce: int
    message_id: bytes


NAME, TYPES = "queue.replace_policy", ("text", "text", "text", "uuid[]", "uuid[]")
DELETE, HANDLE = DELETE_MESSAGES.name, DELETE_MESSAGES.types


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (Statement("queue.replace_polcy", TYPES, Flag), "0 functions"),
        (Statement(NAME, TYPES[:2], Flag), "0 functions"),
        (Statement(NAME, (*TYPES, "text"), Flag), "0 functions"),
        (Statement(NAME, ("text", "text", "jsonb", "uuid[]", "uuid[]"), Flag), "0 functions"),
        (Statement(NAME, TYPES, Renamed), "columns"),
        (Statement(NAME, TYPES, Turned), "columns"),
        (Statement(NAME, TYPES, Short), "columns"),
        (Statement(NAME, TYPES, Wrong), "replaced is"),
        (BatchStatement(DELETE, HANDLE, DeletedRow, entry=ShortEntry), "fields of an entry"),
        (BatchStatement(DELETE, HANDLE, DeletedRow, entry=WrongEntry), "pos of an entry is"),
    ],
)
def test_a_difference_is_found(connection: Connection, statement: Statement[Any], said: str) -> None:
    (found,) = findings(connection, statement)
    assert said in found


def test_without_a_difference_there_is_no_finding(connection: Connection) -> None:
    assert findings(connection, Statement(NAME, TYPES, Flag)) == []
    good = BatchStatement(DELETE, HANDLE, DeletedRow, entry=ReceiptHandle)
    assert findings(connection, good) == []


@pytest.mark.parametrize(
    ("hint", "kind", "expected"),
    [
        (int, "bigint", True), (int | None, "smallint", True), (str, "text", True), (list[str], "text[]", True),
        (list[datetime] | None, "timestamp with time zone[]", True), (dict[str, Any], "jsonb", True),
        (str, "integer", False), (int | str, "integer", False), (int, "boolean", False), (bool, "integer", False),
        (str, "uuid", False), (list[int], "text[]", False), (str, "text[]", False), (Any, "text", False),
    ],
)  # fmt: skip
def test_types_that_fit(hint: Any, kind: str, expected: bool) -> None:
    assert fits(hint, kind) is expected


# --- functions without a statement -----------------------------------------------------------------------------------
def test_every_function_is_called_by_a_statement_by_sql_or_by_applications() -> None:
    """Applications call the functions in sql/functions/api. Every other function needs a caller in the repository."""
    defined, used = set(), {statement.name for _, statement in all_statements()}
    for path in find_sql_directory().rglob("*.sql"):
        code = re.sub("--.*", "", path.read_text())
        if path.parent.parent.name == "functions" and path.parent.name != "api":
            defined |= set(re.findall(r"^create or replace function (queue\.[a-z_0-9]+)", code, re.MULTILINE))
        calls = re.sub(r"^create or replace function queue\.[a-z_0-9]+", "", code, flags=re.MULTILINE)
        used |= set(re.findall(r"queue\.[a-z_0-9]+(?=\()", calls)) - {path.stem}
    assert len(defined) > 100
    assert defined - used == set()


# --- binary array ----------------------------------------------------------------------------------------------------
# Compares binary arrays that Penstock writes with the arrays that PostgreSQL reads.


INSTANTS = [datetime(2026, 3, 1, 12, 30, 0, 250_000, UTC), datetime(1999, 12, 31, tzinfo=UTC)]
UUIDS = [bytes(range(16)), bytes(16)]
ELEMENTS: dict[str, list[Any]] = {
    "text[]": ["", "a", "größer", "x" * 300],
    "int2[]": [-32_768, 0, 32_767],
    "int4[]": [-2_147_483_648, 7, 2_147_483_647],
    "int8[]": [-(2**63), 7, 2**63 - 1],
    "jsonb[]": ['{"a": 1}', "[]"],
    "uuid[]": UUIDS,
    "timestamptz[]": INSTANTS,
}
SHAPES: dict[str, Callable[[list[Any]], list[Any]]] = {
    "different": lambda some: some,
    "one": lambda some: some[:1],
    "equal": lambda some: some[:1] * 3,
    "with nulls": lambda some: [None, *some, None],
    "none": lambda some: some[:0],
}


@pytest.fixture(scope="module")
def empty_database_connection(postgres: TestServer) -> Iterator[Connection]:
    with (
        postgres.database(template="template0") as database,
        psycopg.connect(database.dsn) as empty_database_connection,
    ):
        yield empty_database_connection


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ELEMENTS)
def test_an_array_arrives_as_it_was_given(empty_database_connection: Connection, kind: str, shape: str) -> None:
    values = SHAPES[shape](ELEMENTS[kind])
    cursor = empty_database_connection.execute(
        f"select %s::text[]::{kind} = %s::{kind}",
        [[as_text(value) for value in values], binary_array.encode(kind, values)],
    )
    assert cursor.fetchone() == (True,)


@pytest.mark.parametrize("kind", ELEMENTS)
def test_nothing_but_nulls_is_null(kind: str) -> None:
    assert binary_array.encode(kind, [None, None]) is None


def test_bytes_of_a_text_are_its_utf8() -> None:
    assert binary_array.encode("text[]", ["ä", b"b"]) == binary_array.encode("text[]", ["ä".encode(), "b"])


def as_text(value: Any) -> str | None:
    """Returns the value that PostgreSQL's input functions parse."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, datetime) else str(value)
