"""The interface that the worker `poll` needs from its process, the container or a function."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from penstock.aws.resolved_queue import ResolvedQueue
from penstock.effects import Operation
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import ReceivedRow

T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)


class Counts(Protocol):
    """Counts what the worker does, by the ARN of the queue."""

    def count_polled(self, arn: str, messages: int, filtered: int, /) -> None:
        """Counts received messages, and how many of them a filter left out."""

    def count_invocation(
        self, arn: str, messages: int, failed: int, seconds: float, oldest_seconds: float, /
    ) -> None:
        """Counts an invocation, its messages and the failed messages. `oldest_seconds` is the age of its oldest
        message.
        """

    def count_handled(self, arn: str, messages: int, /) -> None:
        """Counts messages that were deleted because a function has handled them."""


class PollService(Protocol):
    """Runs operations and calls for any number of mappings at once.

    `claim_seconds`, `idle_seconds`: the pause between two reads of the mappings, with some and without any.
    """

    claim_seconds: float
    idle_seconds: float

    @property
    def counts(self) -> Counts: ...

    async def run(self, operation: Operation[T], /) -> T:
        """Runs the operation. A waiting receive holds no connection; if it is cancelled, it holds no messages."""

    async def call(self, statement: Statement[RowT], arguments: Sequence[object], /) -> list[RowT]:
        """Returns the rows of one call. Raises AwsError."""

    def return_messages(self, queue: ResolvedQueue, messages: Sequence[ReceivedRow], /) -> None:
        """Makes messages visible again soon; if that fails, they become visible after their visibility timeout."""
