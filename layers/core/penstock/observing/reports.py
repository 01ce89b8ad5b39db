"""The reports of operations on messages that were sent, received, deleted or published.

    yield Sent(arn, 1, (len(body),))

A report is an effect without a result. Drivers pass a report to the metrics of the container, to CloudWatch's metrics,
and to traces. Counters and traces read neither the arguments nor the rows of database calls. A failed operation reports
only the changes that happened. An operation whose client has disconnected also reports its changes.
"""

from collections.abc import Sequence
from typing import Protocol

from penstock.effects import Effect
from penstock.http import HttpRequest
from penstock.postgres.statements.messages import ReceivedRow


class Client(Protocol):
    """The sender of a request, as a part of `Context`."""

    @property
    def http(self) -> HttpRequest: ...
    @property
    def user(self) -> object: ...
    @property
    def caller_arn(self) -> str: ...
    @property
    def client_address(self) -> str: ...


class Report(Effect[None], frozen=True):
    """Base class of reports about the work of an operation."""


class Sent(Report, frozen=True):
    """`count` messages were added to a queue. The count is 0 if all messages had been sent before.

    `sizes` has the bytes of each message with its attributes, as SQS counts them. It is empty if the operation does
    not know the sizes.
    """

    queue_arn: str
    count: int
    sizes: Sequence[int] = ()


class Received(Report, frozen=True):
    """A receive ended with these messages, or without messages."""

    queue_arn: str
    messages: Sequence[ReceivedRow]


class ReceivedBy(Report, frozen=True):
    """A receive ended for this client, with `count` messages."""

    queue_arn: str
    count: int
    client: Client


class Deleted(Report, frozen=True):
    """`count` messages were deleted. The request may have named more, because some were already gone."""

    queue_arn: str
    count: int


class VisibilityChanged(Report, frozen=True):
    """The visibility timeouts of `count` messages were changed."""

    queue_arn: str
    count: int


class Published(Report, frozen=True):
    """`count` messages were published to a topic."""

    topic_arn: str
    count: int


class EventPublished(Report, frozen=True):
    """An event was published (REST API), and added to these queues."""

    routing_key: str
    sent: Sequence[Sent]


class Unjudged(Report, frozen=True):
    """`count` messages were too complicated for filters, and passed the filters unchecked. `by`: publish, event or
    mapping.
    """

    by: str
    count: int


class Transacted(Report, frozen=True):
    """A transaction (REST API) was committed."""

    deleted: Sequence[Deleted]
    sent: Sequence[Sent]


REPORTS: tuple[type[Report], ...] = (
    Sent, Received, ReceivedBy, Deleted, VisibilityChanged, Published, EventPublished, Transacted,
    Unjudged,
)  # fmt: skip
