"""Connections in the role of the service, with its planner settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from tests.support.database import Database
from tests.support.sql.calls import Connection

Connect = Callable[[], Connection]


@pytest.fixture
def connect(database: Database) -> Iterator[Connect]:
    """Makes further connections to the test's database, in autocommit."""
    with ExitStack() as stack:

        def make() -> Connection:
            connection: Connection = psycopg.connect(database.api_dsn, autocommit=True)
            connection.execute("set lock_timeout = '20s'")  # a circle of waits becomes an error
            connection.execute("set plpgsql.extra_errors = 'all'")  # e.g. a SELECT INTO that finds two rows
            stack.callback(connection.close)
            return connection

        yield make


@pytest.fixture
def db(connect: Connect) -> Connection:
    """A connection in autocommit."""
    return connect()
