"""A service that invokes functions of a server beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.web.polling.conftest import World
from tests.support.database import TestServer
from tests.support.mappings.functions import running_functions
from tests.support.programs.penstock_service import running_service


@pytest.fixture(scope="module")
def world(postgres: TestServer) -> Iterator[World]:
    with (
        postgres.database() as database,
        running_functions() as functions,
        running_service(database.api_dsn, QUEUE_LAMBDA_ENDPOINT=functions.url) as service,
    ):
        yield World(service, functions, database.api_dsn)
