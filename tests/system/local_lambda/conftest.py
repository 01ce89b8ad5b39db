"""Provides one gateway for the tests that call functions over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.database import Database, TestServer
from tests.support.programs.local_lambda import Gateway, from_sources, running_gateway


@pytest.fixture(scope="module")
def shared(postgres: TestServer) -> Iterator[Database]:
    """Yields the gateway's database, which other deployments also use."""
    with postgres.database() as database:
        yield database


@pytest.fixture(scope="module")
def gateway(shared: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Runs this checkout's functions, keeps them warm, and invokes the scheduled functions repeatedly."""
    build = from_sources(tmp_path_factory.mktemp("build"))
    addresses = {"DATABASE_URL": shared.pooled_dsn, "DATABASE_DIRECT_URL": shared.api_dsn}
    with running_gateway(build, "--most", "20", "--schedules-pause", "1", **addresses) as gateway:
        yield gateway
