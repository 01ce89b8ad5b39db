"""Which servers are too old: PostgreSQL's numbers of versions are those of libpq, PQserverVersion."""

from __future__ import annotations

import pytest

from penstock.postgres.server_check import version_problem


@pytest.mark.parametrize("version", [150000, 150015, 180006])
def test_versions_that_will_do(version: int) -> None:
    assert version_problem(version) == ""


@pytest.mark.parametrize(("version", "shown"), [(140012, "14.12"), (130000, "13.0")])
def test_versions_that_are_too_old(version: int, shown: str) -> None:
    assert version_problem(version) == f"the server is PostgreSQL {shown}; Penstock needs 15 or newer"
