"""Provides fixtures for several test folders: a connection, and a receiver for deliveries."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.database import Database
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.sql.calls import Connection


@pytest.fixture
def db(database: Database) -> Iterator[Connection]:
    """Yields an autocommit connection to the test's database in the service's role."""
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Runs an HTTP server on loopback that records its requests."""
    with running_receiver() as receiver:
        yield receiver
