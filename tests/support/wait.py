"""Waits for the work of another process or thread, for no fixed time and without hanging."""

from __future__ import annotations

import time
from collections.abc import Callable

# Only a broken test gets this far, even on a machine that is busy with other work.
LONGEST_SECONDS = 300
# This is the pause between two checks, because a caller without pauses takes CPU from the processes that it waits for.
# A long wait checks less often: after a twentieth of that time, up to the longest pause.
PAUSE_SECONDS = 0.005
LONGEST_PAUSE_SECONDS = 0.025


def wait_until(condition: Callable[[], bool]) -> None:
    """Checks repeatedly until the condition holds. Fails if it does not hold within five minutes."""
    started = time.monotonic()
    while not condition():
        waited = time.monotonic() - started
        assert waited < LONGEST_SECONDS, "it never happened"
        time.sleep(min(max(waited / 20, PAUSE_SECONDS), LONGEST_PAUSE_SECONDS))
