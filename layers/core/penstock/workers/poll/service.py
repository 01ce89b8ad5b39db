"""What the worker `poll` needs of its process: the container, or a function."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from penstock.aws.arn import ResolvedQueue
from penstock.effects import Operation, Row, Statement
from penstock.postgres.statements.messages import ReceivedRow

T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)


class Counts(Protocol):
    """Counts what the worker does, by the ARN of the queue."""

    def count_polled(self, arn: str, messages: int, filtered: int, /) -> None:
        """Messages were received, and so many of them left out by a filter."""

    def count_invocation(
        self, arn: str, messages: int, failed: int, seconds: float, oldest_seconds: float, /
    ) -> None:
        """An invocation with so many messages, of which so many failed. `oldest_seconds`: the age of its oldest."""

    def count_handled(self, arn: str, messages: int, /) -> None:
        """Messages were deleted since a function has handled them."""


class Service(Protocol):
    """Runs operations and calls for any number of mappings at once.

    `claim_seconds`, `idle_seconds`: the pause of looking which mappings there are, with some and with none.
    """

    claim_seconds: float
    idle_seconds: float

    @property
    def counts(self) -> Counts: ...

    async def run(self, operation: Operation[T], /) -> T:
        """The operation's result. A receive that waits holds no connection; if it is cancelled, no message is held."""

    async def call(self, statement: Statement[RowT], arguments: Sequence[object], /) -> list[RowT]:
        """The rows of one call. Raises AwsError."""

    def return_messages(self, queue: ResolvedQueue, messages: Sequence[ReceivedRow], /) -> None:
        """Makes messages visible again, soon: if that fails they are after their visibility timeout."""
