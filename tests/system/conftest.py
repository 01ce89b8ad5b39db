"""Provides fixtures that several system tests use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_web.local.state import ephemeral_state
from tests.support.database import memory_directory


@pytest.fixture
def state() -> Iterator[Path]:
    """Yields a data folder, in memory if possible."""
    with ephemeral_state(memory_directory()) as path:
        yield path
