"""Messages as documents."""

from typing import Annotated, Final, Literal

import msgspec

from penstock.limits.queue_limits import MAX_VISIBILITY_SECONDS
from penstock.sqs import validation

# The schemas in this module are documentation: `penstock.sqs.validation` checks the values and raises better errors.
Headers = Annotated[
    dict[str, msgspec.Raw],
    msgspec.Meta(
        extra_json_schema={
            "maxProperties": validation.MAX_ATTRIBUTES,
            "propertyNames": {"pattern": "^[A-Za-z0-9_.-]{1,256}$"},
        }
    ),
]
Printable = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": "^[!-~]{1,128}$"})]
PerSecond = Annotated[int, msgspec.Meta(ge=1, le=500)]
"""A rate of messages, as in StartMessageMoveTask."""
UNDO_SECONDS: Final = 30
"""As in `queue.undo_deletion`, which decides whether an undo is too late."""


class NewMessage(msgspec.Struct, forbid_unknown_fields=True):
    """A message to send. The message becomes visible after `delay` seconds, at most a year. A delay above SQS's 900
    seconds creates a schedule.

    A FIFO queue refuses a message's own delay; only the queue's delay applies. `dedup_id` and `group_id` mean the same
    as in SQS.
    """

    message: msgspec.Raw
    headers: Headers = {}
    delay: Annotated[int, msgspec.Meta(ge=0, le=31_536_000)] | None = None
    group_id: Printable | None = None
    dedup_id: Printable | None = None

    def __post_init__(self) -> None:
        """Lets other threads run between two messages of a long body (effects.Compute)."""


class StoredMessage(msgspec.Struct, omit_defaults=True):
    """A message. Times are RFC 3339 in UTC. `id` is the number of the message in its queue, `message_id` is the UUID
    that SQS's responses contain, and `read_count` counts receives in this queue.

    A peek also shows `receive_count`. A dead letter's count includes the receives in earlier queues. A dead letter also
    shows when and how the message entered this queue (`entered_by`: sent, dead_lettered, moved). A dead letter was sent
    (`enqueued_at`) before it entered this queue.
    """

    id: int
    read_count: int
    enqueued_at: str
    message: msgspec.Raw
    headers: dict[str, msgspec.Raw]
    message_id: str
    receipt: str | msgspec.UnsetType = msgspec.UNSET
    visible_at: str | msgspec.UnsetType = msgspec.UNSET
    archive_id: int | msgspec.UnsetType = msgspec.UNSET
    archived_at: str | msgspec.UnsetType = msgspec.UNSET
    group_id: str | None = None
    entered_at: str | msgspec.UnsetType = msgspec.UNSET
    entered_by: str | msgspec.UnsetType = msgspec.UNSET
    receive_count: int | msgspec.UnsetType = msgspec.UNSET


class FoundMessage(StoredMessage, omit_defaults=True, kw_only=True):
    """A message that a search found. The counted receives include receives in earlier queues.

    `source_queue` is the queue from which the message entered this dead-letter queue.
    """

    state: str
    receive_count: int
    source_queue: str | None = None


class FoundPage(msgspec.Struct):
    """The members of a search's response that clients read."""

    messages: list[FoundMessage]
    next: str | None


class SentId(msgspec.Struct, omit_defaults=True):
    """A sent message.

    A message with a delay above 900 seconds has no id until it is sent. Until then, the message has the name of its
    `schedule` instead of an id.
    """

    id: int | None
    schedule: str | None = None


class SentIds(msgspec.Struct, omit_defaults=True):
    """The messages of a request, in the order of the request's list.

    `schedules` is present if a message has a schedule.
    """

    ids: list[int | None]
    schedules: list[str | None] | None = None


MessageId = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
State = Literal["visible", "in_flight", "delayed", "all"]
Seconds12h = Annotated[int, msgspec.Meta(ge=0, le=MAX_VISIBILITY_SECONDS, description="seconds")]


class Hidden(msgspec.Struct):
    """The time when a message becomes visible."""

    id: int
    visible_at: str


What = Literal[
    "sent", "received", "failed", "dead_lettered", "moved", "selected", "acted", "archived", "deleted", "purged",
    "expired", "edited", "edited_from",
]  # fmt: skip


class LifeEvent(msgspec.Struct, omit_defaults=True):
    """Something that happened to a message. `at` is null if the time is unknown.

    `receive` is the number of the receive in `queue`, from 1. `by` is the caller: an ARN, or a database role. `detail`
    is the error of a failure, the id of a move task, the action of a person, or a message id: the event `edited` of an
    original has the copy's id and queue, and the event `edited_from` of a copy has the original's.
    `source_queue` is the queue from which the message moved to `queue`. `message_id` is the id that the message had, if
    it has another now. `is_original` is true for an event of the original of an edited copy.
    """

    what: What
    at: str | None
    queue: str
    receive: int | None = None
    by: str | None = None
    user_agent: str | None = None
    detail: str | None = None
    source_queue: str | None = None
    message_id: str | None = None
    is_original: bool = False


class MessageLife(msgspec.Struct):
    """The life of a message. A member is null if its value is unknown or does not apply. `unknown` says what is
    unknown.

    `message_id` is the id that SQS clients see, and `id` is the message's number in `queue`. `state` is visible,
    in_flight or delayed for a message in the queue, and otherwise says how the message left the queue: deleted, purged,
    expired, dead_lettered or moved. `sent_at` is the first send, before all moves. `entered_by` is sent, dead_lettered
    or moved, and `source_queue` is the queue before. `receive_count` counts the receives since the last redrive, also
    those in the queues before a dead-letter queue. `visible_at` belongs to a message in flight or delayed. A redrive
    gives a message a new id, and so does an edit; `former_message_id` is the id before.
    """

    message_id: str
    id: int | None
    queue: str
    state: str | None
    sent_at: str | None
    entered_at: str | None
    entered_by: str | None
    source_queue: str | None
    receive_count: int | None
    first_received_at: str | None
    last_received_at: str | None
    visible_at: str | None
    ended_at: str | None
    group_id: str | None
    former_message_id: str | None
    events: list[LifeEvent]
    unknown: list[str]


class MessagePlace(msgspec.Struct):
    """The queue that has or had a message. `id` is the message's number there, or null if it is unknown."""

    queue: str
    id: int | None
