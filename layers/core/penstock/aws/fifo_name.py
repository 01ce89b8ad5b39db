"""The suffix of FIFO queue and topic names and ARNs."""

from typing import Final

FIFO_ENDING: Final = ".fifo"


def is_fifo_name(name: str) -> bool:
    """Returns whether the text is the name or ARN of a FIFO queue or topic. The resource does not have to exist."""
    return name.endswith(FIFO_ENDING)
