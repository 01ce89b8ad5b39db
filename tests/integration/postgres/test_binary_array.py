"""Arrays that are written here, as PostgreSQL reads them."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from penstock.postgres import binary_array
from tests.support.database import TestServer
from tests.support.sql.calls import Connection

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
def connection(postgres: TestServer) -> Iterator[Connection]:
    """To an empty database."""
    with postgres.database(template="template0") as database, psycopg.connect(database.dsn) as connection:
        yield connection


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ELEMENTS)
def test_an_array_arrives_as_it_was_given(connection: Connection, kind: str, shape: str) -> None:
    values = SHAPES[shape](ELEMENTS[kind])
    cursor = connection.execute(
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
    """A value as PostgreSQL's own input functions read it."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, datetime) else str(value)
