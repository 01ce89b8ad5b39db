"""Provides the console that the tests of the screens share."""

from collections.abc import Iterator

import pytest

from tests.support.conformance.access_keys import SIGV4, key_ring
from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.web.console import USERS, Console, ConsoleClient, ConsoleInstallation, bearer


@pytest.fixture(scope="package")
def console(postgres: TestServer) -> Iterator[Console]:
    """One pytest-xdist group runs all files that use the console, so only one process creates it."""
    with postgres.database() as database, running_service(
        database.api_dsn, QUEUE_CONSOLE="full", QUEUE_METRICS_INTERVAL_MS="100", QUOTA_EVENT_BUSES="100"
    ) as service:  # fmt: skip
        sqs = service.sqs()
        yield Console(database, service, ConsoleClient(service), sqs)
        sqs.close()


@pytest.fixture(scope="package")
def installation(postgres: TestServer) -> Iterator[ConsoleInstallation]:
    """An installation with QUEUE_ACCESS=sigv4, and a user with a bearer key for each role."""
    with postgres.database() as database, running_service(database.api_dsn, **SIGV4) as service:
        keys = {}
        with key_ring(database) as ring:
            for role in USERS:
                list(ring.set_user(role, [role], None, new=True))
                keys[role] = bearer(database, role)
        yield ConsoleInstallation(database, service, keys)
