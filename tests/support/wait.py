"""Waiting for what another process or thread does, for no fixed time and without hanging."""

from __future__ import annotations

import time
from collections.abc import Callable

# Only a broken test gets this far, also on a machine that is busy with other things.
LONGEST_SECONDS = 300
# The pause between two questions: a caller without pauses takes the CPU from the processes that it waits for. A long
# wait asks less often: after a twentieth of that time, up to the longest pause.
PAUSE_SECONDS = 0.005
LONGEST_PAUSE_SECONDS = 0.025


def wait_until(condition: Callable[[], bool]) -> None:
    """Ask again and again until the condition holds; fails when it does not in five minutes."""
    started = time.monotonic()
    while not condition():
        waited = time.monotonic() - started
        assert waited < LONGEST_SECONDS, "it never happened"
        time.sleep(min(max(waited / 20, PAUSE_SECONDS), LONGEST_PAUSE_SECONDS))
