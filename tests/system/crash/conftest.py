"""Provides a PostgreSQL server that a test may kill."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from penstock.postgres.migrations import migrate
from penstock_web.local.binaries import Source
from penstock_web.local.postgres import ROLE, Postgres, running_postgres
from penstock_web.system_account import SystemAccount

SOURCE = cast("Source", os.environ.get("PENSTOCK_TEST_POSTGRES", "any"))


@pytest.fixture
def server(state: Path) -> Iterator[Postgres]:
    """Yields a migrated server with its normal settings: fsync and synchronous_commit are on."""
    with running_postgres(state, SystemAccount.choose(), SOURCE) as server:
        migrate(server.service_dsn(), role=ROLE)
        yield server
