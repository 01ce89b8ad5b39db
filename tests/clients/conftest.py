"""One `penstock up --ephemeral` for all clients of a test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.up import Up, running


@pytest.fixture(scope="session")
def up() -> Iterator[Up]:
    """Everything that a newcomer has: own PostgreSQL, PgBouncer, service."""
    with running("--ephemeral") as up:
        yield up
