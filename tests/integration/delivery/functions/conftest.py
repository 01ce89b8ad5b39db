"""Runs a service that invokes functions on a local server."""

from collections.abc import Iterator

import pytest

from tests.support.database import TestServer
from tests.support.mappings.harness import Harness, running_harness


@pytest.fixture(scope="module")
def harness(postgres: TestServer) -> Iterator[Harness]:
    with running_harness(postgres) as harness:
        yield harness
