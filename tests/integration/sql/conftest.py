"""Provides connections in the role of the service, with its planner settings."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from tests.support.database import Database
from tests.support.sql.calls import Connection

Connect = Callable[[], Connection]


@pytest.fixture
def connect(database: Database) -> Iterator[Connect]:
    """Yields a function that makes further connections to the test's database, in autocommit."""
    with ExitStack() as stack:

        def make() -> Connection:
            connection: Connection = psycopg.connect(database.api_dsn, autocommit=True)
            connection.execute("set lock_timeout = '20s'")  # A deadlock becomes an error.
            connection.execute(
                "set plpgsql.extra_errors = 'all'"
            )  # For example, a SELECT INTO that finds two rows fails.
            stack.callback(connection.close)
            return connection

        yield make


@pytest.fixture
def db(connect: Connect) -> Connection:
    return connect()
