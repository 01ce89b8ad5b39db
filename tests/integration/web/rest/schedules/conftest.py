"""A service whose schedules do not fire by themselves."""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.database import Database, TestServer
from tests.support.programs.penstock_service import Service, running_service


@pytest.fixture(scope="module")
def database(postgres: TestServer) -> Iterator[Database]:
    with postgres.database() as database:
        yield database


@pytest.fixture(scope="module")
def service(database: Database) -> Iterator[Service]:
    """Nothing fires by itself: whatever a test sees is of its own making."""
    settings = {"QUEUE_SCHEDULE_ENABLED": "false", "QUEUE_RECREATE_INTERVAL_SECONDS": "0"}
    with running_service(database.api_dsn, **settings) as service:
        yield service


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    """A client; the queue `orders` is there and empty, and no schedule."""
    with service.http() as http:
        http.delete("/v1/queues/orders")
        http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        http.put("/v1/schedules?prune=true", json=[]).raise_for_status()
        yield http
