"""Provides connections that use the role and the planner settings of the service."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from tests.support.database import Database
from tests.support.sql.calls import Connection

Connect = Callable[[], Connection]


@pytest.fixture
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Yields a function that opens more connections to the test's database, in autocommit. With the marker `shared`,
    opens connections to the module's database.
    """
    shared = request.node.get_closest_marker("shared")
    database: Database = request.getfixturevalue("shared_database" if shared else "database")
    with ExitStack() as stack:

        def connect_again() -> Connection:
            connection: Connection = psycopg.connect(database.api_dsn, autocommit=True)
            connection.execute("set lock_timeout = '20s'")  # With this limit, a deadlock raises an error.
            connection.execute(
                "set plpgsql.extra_errors = 'all'"
            )  # The setting makes a SELECT INTO that finds two rows raise an error, for example.
            stack.callback(connection.close)
            return connection

        yield connect_again


@pytest.fixture
def db(connect: Connect) -> Connection:
    return connect()
