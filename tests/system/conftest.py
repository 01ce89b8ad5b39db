"""What tests of whole programs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_web.local.state import ephemeral_state
from tests.support.database import memory_directory


@pytest.fixture
def state() -> Iterator[Path]:
    """A folder for the data of an installation, in memory where there is one."""
    with ephemeral_state(memory_directory()) as path:
        yield path
