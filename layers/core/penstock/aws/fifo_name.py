"""The ending of the names of FIFO queues and FIFO topics, and so of their ARNs."""

from typing import Final

FIFO_ENDING: Final = ".fifo"


def is_fifo_name(name: str) -> bool:
    """Returns whether a name or an ARN of a queue or topic is that of a FIFO one. It need not exist."""
    return name.endswith(FIFO_ENDING)
