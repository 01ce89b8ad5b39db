"""Provides fixtures that tests of several parts share: a connection, and a receiver of deliveries."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.database import Database
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.sql.calls import Connection


@pytest.fixture
def db(database: Database) -> Iterator[Connection]:
    """Yields a connection to the test's database in the role of the service, in autocommit."""
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Runs an HTTP server on loopback that keeps its requests."""
    with running_receiver() as receiver:
        yield receiver
