"""The callback that a run calls at each of its stages."""

from collections.abc import Callable

# Called with "empty", "filled", "measured" and "drained", outside of the measured time.
StageCallback = Callable[[str], None]


def ignore_stages(stage: str) -> None:
    """Does nothing at any stage."""
