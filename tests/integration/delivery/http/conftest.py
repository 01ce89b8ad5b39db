"""Provides a receiver, a database and a worker."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from penstock.delivery import run as run_module
from penstock.delivery.store import DeliveryStore
from penstock.settings import Settings, Value
from penstock.workers import Counts
from penstock.workers.deliver import Deliverer
from tests.support.database import Database
from tests.support.sql.calls import Connection

Deliver = Callable[..., Counts]


@pytest.fixture
def store(db: Connection) -> DeliveryStore:
    """Stores outgoing deliveries on the test's connection. An endpoint has at most 20 concurrent deliveries."""
    return DeliveryStore(db, None, 20)


@pytest.fixture
def deliver(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deliver]:
    """Runs a worker until no delivery is due: `deliver(queue_http_delivery_timeout_secs=1)`."""
    monkeypatch.setattr(run_module, "WAIT_FOR_MORE_MS", 0)
    with psycopg.connect(database.pooled_dsn, autocommit=True, prepare_threshold=None) as connection:

        def run(**overrides: Value) -> Counts:
            settings = Settings.read({"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"}, **overrides)
            return Deliverer(longest_run_seconds=60).run_once(settings, connection)

        yield run
