"""The queue of an effect, by its ARN."""

from dataclasses import dataclass
from functools import cached_property

from penstock.aws.fifo_name import is_fifo_name


@dataclass(frozen=True)
class ResolvedQueue:
    """The queue that a request names, resolved once. Later code uses this object instead of the name."""

    arn: str

    @cached_property
    def is_fifo(self) -> bool:
        """Whether the queue is FIFO. Messages of one group must not go to two receives at once."""
        return is_fifo_name(self.arn)

    @cached_property
    def merge_key(self) -> str:
        """The key for merging the queue's calls. It is unique for a FIFO queue, which may wait for a lock, and empty
        for all other queues.
        """
        return self.arn if self.is_fifo else ""
