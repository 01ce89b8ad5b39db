"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.database import Database, TestServer, running_test_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[TestServer]:
    """The PostgreSQL server and the PgBouncer of this test process."""
    with running_test_server() as server:
        yield server


@pytest.fixture
def database(postgres: TestServer) -> Iterator[Database]:
    """A fresh, migrated database: .dsn (superuser), .api_dsn (service), .pooled_dsn (service, PgBouncer)."""
    with postgres.database() as database:
        yield database


@pytest.fixture
def empty_database(postgres: TestServer) -> Iterator[Database]:
    """A fresh database in which nothing has been migrated."""
    with postgres.database(template="template0") as database:
        yield database
