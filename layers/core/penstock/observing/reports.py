"""What operations report: messages that were sent, received, deleted, published.

    yield Sent(arn, 1, (len(body),))

A report is an effect without a result. Drivers hand it on to those who count: the metrics of the container and of
CloudWatch, and traces. Counters and traces read neither the arguments nor the rows of database calls. An operation that
fails reports nothing that did not happen; one whose client has disconnected reports what it did.
"""

from collections.abc import Sequence
from typing import Protocol

from penstock.effects import Effect
from penstock.http import HttpRequest
from penstock.postgres.statements.messages import ReceivedRow


class Client(Protocol):
    """The sender of a request: a part of `Context`."""

    @property
    def http(self) -> HttpRequest: ...
    @property
    def user(self) -> object: ...
    @property
    def caller_arn(self) -> str: ...
    @property
    def client_address(self) -> str: ...


class Report(Effect[None], frozen=True):
    """Something that an operation has done."""


class Sent(Report, frozen=True):
    """`count` messages were added to a queue: none if all of them had been sent before.

    `sizes`: bytes of each, as SQS counts them, with attributes; empty where the operation does not know them.
    """

    queue_arn: str
    count: int
    sizes: Sequence[int] = ()


class Received(Report, frozen=True):
    """A receive ended with these messages, or with none."""

    queue_arn: str
    messages: Sequence[ReceivedRow]


class ReceivedBy(Report, frozen=True):
    """A receive ended for this client, with `count` messages."""

    queue_arn: str
    count: int
    client: Client


class Deleted(Report, frozen=True):
    """`count` messages were deleted: fewer than the request named, if some were gone."""

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
    """`count` messages were too complicated for filters, and passed them. `by`: publish, event or mapping."""

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
