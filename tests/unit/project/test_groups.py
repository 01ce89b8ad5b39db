"""Tests that share what is dear to make (a JVM, interpreters) are marked with a group, and one process runs them."""

from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("together")
def test_groups_are_kept_together(request: pytest.FixtureRequest) -> None:
    """The plugin says nothing when it cannot: versions of pytest and pytest-xdist have to fit (pyproject.toml)."""
    among_others = "PYTEST_XDIST_WORKER" in os.environ
    assert request.node.nodeid.endswith("@together") is among_others
