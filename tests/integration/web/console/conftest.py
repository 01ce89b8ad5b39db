"""Provides the console that the tests of the screens share."""

from collections.abc import Iterator

import pytest

from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.web.console import Console, ConsoleClient


@pytest.fixture(scope="package")
def console(postgres: TestServer) -> Iterator[Console]:
    """One pytest-xdist group runs all files that use the console, so only one process creates it."""
    with postgres.database() as database, running_service(
        database.api_dsn, QUEUE_CONSOLE="full", QUEUE_METRICS_INTERVAL_MS="100"
    ) as service:  # fmt: skip
        sqs = service.sqs()
        yield Console(database, service, ConsoleClient(service), sqs)
        sqs.close()
