"""Waiting for what another process or thread does, without sleeping and without hanging."""

from __future__ import annotations

import time
from collections.abc import Callable

# Only a broken test gets this far.
_LONGEST_SECONDS = 60


def wait_until(condition: Callable[[], bool]) -> None:
    """Ask again and again until the condition holds; fails when it does not in a minute."""
    deadline = time.monotonic() + _LONGEST_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
