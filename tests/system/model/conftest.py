"""Provides a new installation for the model. Only the model moves the installation's clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conformance.conftest import clean_log, clock, deployments, installation  # noqa: F401 - fixtures
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import Deployments
from tests.support.conformance.sqs import Sqs
from tests.support.model.side_by_side import ServiceUnderTest


@pytest.fixture
def service(deployments: Deployments, clock: Clock) -> Callable[[str], ServiceUnderTest]:  # noqa: F811 - the fixtures

    def behind(deployment: str) -> ServiceUnderTest:
        return ServiceUnderTest(
            Sqs(deployments, clock, deployment, "json"), Sqs(deployments, clock, deployment, "query"), clock
        )

    return behind
