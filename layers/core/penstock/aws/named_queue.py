"""The queue of an effect, identified by its ARN."""

from dataclasses import dataclass
from functools import cached_property

from .fifo_name import is_fifo_name


@dataclass(frozen=True)
class NamedQueue:
    """A queue that a request names. Operations use this object and not the name."""

    arn: str

    @cached_property
    def is_fifo(self) -> bool:
        """Whether the queue is FIFO. Two concurrent receives must not return messages of the same group."""
        return is_fifo_name(self.arn)

    @cached_property
    def merge_key(self) -> str:
        """The key by which the queue's calls are merged. The key is unique for a FIFO queue, whose calls can wait for a
        lock, and empty for other queues."""
        return self.arn if self.is_fifo else ""
