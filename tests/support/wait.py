"""Waits for the work of another process or thread, for no fixed time and without hanging."""

import inspect
import time
from collections.abc import Callable

# Only a broken test reaches this limit, even on a machine that is busy with other work.
MAX_SECONDS = 300
# The caller pauses between two checks, because a caller without pauses would take CPU from the processes that it waits
# for. The pause is a twentieth of the time since the start, between PAUSE_SECONDS and MAX_PAUSE_SECONDS.
PAUSE_SECONDS = 0.005
MAX_PAUSE_SECONDS = 0.025


def wait_until(condition: Callable[[], object]) -> None:
    """Checks repeatedly until the condition holds. Fails after five minutes, with the last response and the
    variables.
    """
    started = time.monotonic()
    while not (response := condition()):
        waited = time.monotonic() - started
        assert waited < MAX_SECONDS, f"after {waited:.0f} s still {response!r}: {_describe(condition)}"
        time.sleep(min(max(waited / 20, PAUSE_SECONDS), MAX_PAUSE_SECONDS))


def _describe(condition: Callable[[], object]) -> str:
    """Returns the source of a condition, and the local variables that the condition reads."""
    try:
        return f"{inspect.getsource(condition).strip()} with {dict(inspect.getclosurevars(condition).nonlocals)}"
    except (OSError, TypeError):
        return repr(condition)
