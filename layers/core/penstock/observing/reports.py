"""Defines the reports of operations that sent, received, deleted or published messages.

    yield Sent(arn, 1, (len(body),))

A report is an effect without a result. Drivers pass reports to the container's metrics, to CloudWatch and to traces, so
metrics and traces do not inspect database calls. An operation that fails, or whose client disconnects, still reports
the changes that happened.
"""

from collections.abc import Sequence
from typing import Protocol

from penstock.effects import Effect
from penstock.http import HttpRequest
from penstock.postgres.statements.messages import ReceivedRow


class Client(Protocol):
    """The part of `Context` that identifies the sender of a request."""

    @property
    def http(self) -> HttpRequest: ...
    @property
    def user(self) -> object: ...
    @property
    def caller_arn(self) -> str: ...
    @property
    def client_address(self) -> str: ...


class Report(Effect[None], frozen=True):
    """Base class of reports about an operation's work."""


class Sent(Report, frozen=True):
    """An operation added `count` messages to a queue. The count is 0 if all messages were duplicates.

    `sizes` contains the size in bytes of each message with its attributes, as SQS counts bytes. `sizes` is empty if the
    sizes are unknown.
    """

    queue_arn: str
    count: int
    sizes: Sequence[int] = ()


class Received(Report, frozen=True):
    """A receive returned `messages`, which can be empty."""

    queue_arn: str
    messages: Sequence[ReceivedRow]


class ReceivedBy(Report, frozen=True):
    """A receive returned `count` messages to the client."""

    queue_arn: str
    count: int
    client: Client


class Deleted(Report, frozen=True):
    """An operation deleted `count` messages. The count does not include messages that did not exist."""

    queue_arn: str
    count: int


class VisibilityChanged(Report, frozen=True):
    """An operation changed the visibility timeouts of `count` messages."""

    queue_arn: str
    count: int


class Published(Report, frozen=True):
    """An operation published `count` messages to a topic."""

    topic_arn: str
    count: int


class EventPublished(Report, frozen=True):
    """An operation of the REST API published an event, and added it to the queues in `sent`."""

    routing_key: str
    sent: Sequence[Sent]


class Unjudged(Report, frozen=True):
    """`count` messages were too complicated for filters, and passed unfiltered. `by` is publish, event or mapping."""

    by: str
    count: int


class Transacted(Report, frozen=True):
    """An operation of the REST API committed a transaction."""

    deleted: Sequence[Deleted]
    sent: Sequence[Sent]


REPORTS: tuple[type[Report], ...] = (
    Sent, Received, ReceivedBy, Deleted, VisibilityChanged, Published, EventPublished, Transacted,
    Unjudged,
)  # fmt: skip
