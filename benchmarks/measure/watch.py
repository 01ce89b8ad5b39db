"""Who looks on during a run, and is told how far it is."""

from collections.abc import Callable

# Told "empty", "filled", "measured" and "drained", outside of the measured time.
Watch = Callable[[str], None]


def unwatched(stage: str) -> None:
    """Nobody looks on."""
