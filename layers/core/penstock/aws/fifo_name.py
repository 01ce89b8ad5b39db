"""The ending of the names of FIFO queues and FIFO topics, and so of their ARNs."""

from typing import Final

FIFO_ENDING: Final = ".fifo"


def is_fifo_name(name: str) -> bool:
    """Returns whether this is the name or the ARN of a FIFO queue or topic, which need not exist."""
    return name.endswith(FIFO_ENDING)
