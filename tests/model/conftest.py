"""Fixtures of the model: an installation of its own, whose clock only it moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conformance.clock import Clock
from tests.conformance.conftest import _clean_log, clock, doors, installation  # noqa: F401 - fixtures
from tests.conformance.doors import Doors
from tests.conformance.scenario import Sqs
from tests.model.service import Service


@pytest.fixture
def service(doors: Doors, clock: Clock) -> Callable[[str], Service]:  # noqa: F811 - the fixtures
    """The service behind a door: container or lambda."""

    def behind(door: str) -> Service:
        return Service(Sqs(doors, clock, door, "json"), Sqs(doors, clock, door, "query"), clock)

    return behind
