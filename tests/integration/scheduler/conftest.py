"""Provides a database, and a worker that fires due schedules."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from penstock.settings import Settings, Value
from penstock.workers import Counts
from penstock.workers.fire import Firer
from tests.support.database import Database
from tests.support.sql.calls import Connection

Fire = Callable[..., Counts]


@pytest.fixture
def fire(database: Database) -> Iterator[Fire]:
    """Runs a worker through PgBouncer until no schedule is due: `fire(queue_schedule_batch_size=2)`."""
    with psycopg.connect(database.pooled_dsn, autocommit=True, prepare_threshold=None) as connection:

        def run(**overrides: Value) -> Counts:
            return Firer(60, continues=False).run_once(Settings.read({}, **overrides), connection)

        yield run


@pytest.fixture
def connect_other(database: Database) -> Iterator[Connection]:
    """Yields a second connection for other transactions."""
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        yield connection
