"""Provides a service, and a server with the functions that the service's mappings invoke."""

from collections.abc import Iterator

import pytest

from tests.support.database import TestServer
from tests.support.mappings.harness import Harness, running_harness


@pytest.fixture(scope="module")
def harness(postgres: TestServer) -> Iterator[Harness]:
    with running_harness(postgres, WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", QUEUE_METRICS_INTERVAL_MS="500") as harness:
        yield harness
