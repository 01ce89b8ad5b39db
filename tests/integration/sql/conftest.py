"""Provides connections in the service's role with the service's planner settings."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from tests.support.database import Database
from tests.support.sql.calls import Connection

Connect = Callable[[], Connection]


@pytest.fixture
def connect(database: Database) -> Iterator[Connect]:
    """Yields a function that opens more connections to the test's database, in autocommit."""
    with ExitStack() as stack:

        def make() -> Connection:
            connection: Connection = psycopg.connect(database.api_dsn, autocommit=True)
            connection.execute("set lock_timeout = '20s'")  # A deadlock raises an error.
            connection.execute(
                "set plpgsql.extra_errors = 'all'"
            )  # For example, a SELECT INTO that finds two rows raises an error.
            stack.callback(connection.close)
            return connection

        yield make


@pytest.fixture
def db(connect: Connect) -> Connection:
    return connect()
