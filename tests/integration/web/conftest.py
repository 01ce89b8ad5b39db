"""Provides a test's service. The marker `settings` changes the service's settings, and `shared` makes a module's tests
share one service."""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service


def read_settings(node: pytest.Item | pytest.Collector) -> dict[str, str]:
    """Returns the environment variables in the marker `settings`."""
    marker = node.get_closest_marker("settings")
    return dict(marker.kwargs) if marker else {}


@pytest.fixture(scope="module")
def shared_service(shared_database: Database, request: pytest.FixtureRequest) -> Iterator[Service]:
    """Runs a service on the database that the tests of the module share."""
    with running_service(shared_database.api_dsn, **read_settings(request.node)) as service:
        yield service


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """Runs a service on the test's database. With the marker `shared`, yields the module's service."""
    if request.node.get_closest_marker("shared"):
        yield request.getfixturevalue("shared_service")
        return
    database: Database = request.getfixturevalue("database")
    with running_service(database.api_dsn, **read_settings(request.node)) as service:
        yield service


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    with service.http() as http:
        yield http
