"""Messages as documents."""

from typing import Annotated, Literal

import msgspec

from penstock.sqs import validation

# Of JSON schemas alone: `penstock.sqs.validation` checks these, and says what is wrong.
Headers = Annotated[
    dict[str, msgspec.Raw],
    msgspec.Meta(
        extra_json_schema={
            "maxProperties": validation.MAXIMUM_ATTRIBUTES,
            "propertyNames": {"pattern": "^[A-Za-z0-9_.-]{1,256}$"},
        }
    ),
]
Printable = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": "^[!-~]{1,128}$"})]


class NewMessage(msgspec.Struct, forbid_unknown_fields=True):
    """A message to send. `delay`: seconds until it becomes visible, up to a year; beyond SQS's 900 it waits as a
    schedule. A FIFO queue has only its own delay. `dedup_id` and `group_id` as in SQS.
    """

    message: msgspec.Raw
    headers: Headers = {}
    delay: Annotated[int, msgspec.Meta(ge=0, le=31_536_000)] | None = None
    group_id: Printable | None = None
    dedup_id: Printable | None = None

    def __post_init__(self) -> None:
        """Ends a step of decoding: between two messages of a long body, other threads may go on (effects.Compute)."""


class StoredMessage(msgspec.Struct, omit_defaults=True):
    """A message as it is read. Times are RFC 3339, UTC.

    Peeking also tells when and how it came into this queue (`entered_by`: sent, dead_lettered, moved), which for a dead
    letter is later than when it was sent (`enqueued_at`).
    """

    id: int
    read_count: int
    enqueued_at: str
    message: msgspec.Raw
    headers: dict[str, msgspec.Raw]
    receipt: str | msgspec.UnsetType = msgspec.UNSET
    visible_at: str | msgspec.UnsetType = msgspec.UNSET
    archive_id: int | msgspec.UnsetType = msgspec.UNSET
    archived_at: str | msgspec.UnsetType = msgspec.UNSET
    group_id: str | None = None
    entered_at: str | msgspec.UnsetType = msgspec.UNSET
    entered_by: str | msgspec.UnsetType = msgspec.UNSET


class FoundMessage(StoredMessage, omit_defaults=True, kw_only=True):
    """A message that a search found: `read_count` counts receives in this queue, `receive_count` those in all.

    `source_queue`: the queue from which it came into this dead-letter queue.
    """

    state: str
    receive_count: int
    source_queue: str | None = None


class FoundPage(msgspec.Struct):
    """What clients read of a search's answer."""

    messages: list[FoundMessage]
    next: str | None


class SentId(msgspec.Struct, omit_defaults=True):
    """The message that a request sent. One that is to come in more than 900 seconds has no id until then, but a
    `schedule` of this name.
    """

    id: int | None
    schedule: str | None = None


class SentIds(msgspec.Struct, omit_defaults=True):
    """The messages that a request with a list sent, in its order. `schedules`: as of one message, if there is one."""

    ids: list[int | None]
    schedules: list[str | None] | None = None


MessageId = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
State = Literal["visible", "in_flight", "delayed", "all"]
Seconds12h = Annotated[int, msgspec.Meta(ge=0, le=43_200, description="seconds")]


class Hidden(msgspec.Struct):
    """When a message becomes visible."""

    id: int
    visible_at: str
