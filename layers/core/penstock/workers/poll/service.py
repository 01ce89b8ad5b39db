"""The interface between the worker `poll` and its process, which is the container or a function."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from penstock.aws.named_queue import NamedQueue
from penstock.effects import Operation
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import ReceivedRow

T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)


class Counts(Protocol):
    """Counts the worker's work by the queue's ARN."""

    def count_polled(self, arn: str, messages: int, filtered: int, /) -> None:
        """Counts received messages, and messages that did not match a filter."""

    def count_invocation(self, arn: str, messages: int, failed: int, seconds: float, oldest_seconds: float, /) -> None:
        """Counts an invocation, its messages and the failed messages. `oldest_seconds` is the oldest message's age."""

    def count_handled(self, arn: str, messages: int, /) -> None:
        """Counts messages that were deleted because a function handled them."""


class PollService(Protocol):
    """Runs operations and calls for any number of mappings at once.

    `claim_seconds` is the pause between two reads of the mappings if mappings exist, and `idle_seconds` is the pause if
    no mappings exist.
    """

    claim_seconds: float
    idle_seconds: float

    @property
    def counts(self) -> Counts: ...

    async def run(self, operation: Operation[T], /) -> T:
        """Runs the operation. A waiting receive uses no connection, and the messages of a cancelled
        receive return to the queue."""

    async def call(self, statement: Statement[RowT], arguments: Sequence[object], /) -> list[RowT]:
        """Returns the rows of one call. Raises AwsError."""

    def return_messages(self, queue: NamedQueue, messages: Sequence[ReceivedRow], /) -> None:
        """Makes messages visible again soon, or after the visibility timeout if the call fails."""
