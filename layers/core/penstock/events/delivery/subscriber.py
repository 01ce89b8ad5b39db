"""A subscriber as the worker reads it, and the rules by which it receives events."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum, auto
from random import Random
from typing import Final, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct, convert

from penstock.aws.arn import parse_queue_arn
from penstock.aws.universal_target import UniversalAction, is_universal, read_action
from penstock.errors import AwsError
from penstock.events.expressions.syntax import find_source, list_expressions, read_text
from penstock.events.shapes import RetryPolicy
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.event_delivery import (
    READ_EVENT_SUBSCRIBERS,
    ClaimedSubscriberRow,
    EventSubscriberRow,
)

from .event import Event
from .filters import FilterIndex

MAX_PAUSE_SECONDS: Final = 60
"""The longest pause between two attempts. AWS names no pauses; doubling from a second is our choice, and the five
retries of the default fit into its 300 seconds."""
MAX_ERROR: Final = 1024
"""The most characters of an error in a record of a failed delivery ("errorMessage", EventBridge User Guide)."""
KEPT_SUBSCRIBERS: Final = 20_000
KEPT_INDEXES: Final = 1_000
INTERNAL_ERROR: Final = "INTERNAL_SERVER_ERROR"
PARAMETERS: Final = (
    "SqsParameters", "SnsParameters", "EventBusV2Parameters", "LambdaParameters", "UniversalTargetParameters",
    "HttpParameters",
)  # fmt: skip
LOOP_DETECTED: Final = "LOOP_DETECTED"
"""The errorCode of an event that has passed its target before. No attempt follows."""
NOT_TRANSFORMED: Final = "INPUT_TRANSFORMATION_FAILURE"


INVALID: Final = "CUSTOMER_VALIDATION"
REFUSALS: Final = {"QueueDoesNotExist": "RESOURCE_NOT_FOUND", "MessageTooLong": "REQUEST_TOO_LARGE"}


class Refusal(Struct, frozen=True):
    """Why a target did not accept an event. `code` is an errorCode of the failure record. `retry_after` is the least
    number of seconds until the next attempt that the target permits. No attempt follows a negative number."""

    code: str
    message: str
    retry_after: int = 0

    @property
    def text(self) -> str:
        """Returns the message without U+0000, which PostgreSQL cannot store."""
        return self.message.replace("\0", "\N{REPLACEMENT CHARACTER}")


def build_refusal(error: str, detail: str | None) -> Refusal:
    """Returns the refusal for an error of queue.send_messages."""
    if error == "QueueDoesNotExist":
        return Refusal(REFUSALS[error], "The queue does not exist.")
    return Refusal(REFUSALS.get(error, INVALID), error if detail is None else f"{error}: {detail}")


def refuse_call(error: AwsError) -> Refusal:
    """Returns the refusal for an error of an API."""
    is_missing = error.status == 404 or error.json_type == "NotFound"
    return Refusal("RESOURCE_NOT_FOUND" if is_missing else INVALID, error.message)


class Waiting(Enum):
    """Why an event has no result yet."""

    BEHIND_GROUP = auto()
    """An earlier event of its group comes first."""
    FOR_CARRIER = auto()
    """A worker sends it to a target outside the database."""
    UNSENT = auto()
    """Its batch was not sent completely. Another worker sends it after the lease."""


Result = Refusal | Waiting | None
"""The outcome of an event. None means that the target has accepted it."""


class Interval(NamedTuple):
    """The events that a subscriber receives, by their time of ingestion. The interval includes its bounds (our choice).

    `replays_until` is the creation of a subscriber that started in the past, or the time of its last move. It is None
    if the subscriber receives only new events.
    """

    replays_until: datetime | None = None
    starts_at: float = 0.0
    ends_at: float = float("inf")

    @property
    def delivery_types(self) -> tuple[str, ...]:
        """Returns the delivery types that the events can have."""
        return ("LIVE", "REPLAY") if self.replays_until is not None else ("LIVE",)

    def selects(self, event: Event, delivery_type: str) -> bool:
        """Returns whether the event lies in the interval, and has this delivery type for the subscriber."""
        if self.replays_until is None:
            return delivery_type == "LIVE"
        return (
            self.starts_at <= event.ingested_at.timestamp() <= self.ends_at
            and self.name_delivery_type(event) == delivery_type
        )

    def name_delivery_type(self, event: Event) -> str:
        """Returns REPLAY for an event that is older than a subscriber that started in the past, or than the last move
        of its position, and LIVE for all others (our choice)."""
        return "REPLAY" if self.replays_until is not None and event.ingested_at < self.replays_until else "LIVE"


class Subscriber(Struct):
    """A subscriber as the worker uses it.

    `filters` is its FilterConfiguration, if it has one. `parameters` are the members of each message besides its text,
    by AWS's names, or the parameters of another target. `carrier` sends to a target outside the database
    (queue.event_subscriber), in batches. `transformer` is the source of the transformer's expression. `sources` has
    this expression and those of the parameters. `result` is the JSON for one event, in the copy of the subscriber that
    has the results for this event. `action` is the action of a universal target, whose parameters have the Input.
    """

    subscriber_id: int
    arn: str
    bus_arn: str
    account_id: str
    region: str
    target_arn: str
    with_metadata: bool
    retries: RetryPolicy
    dead_letter_arn: str | None = None
    parameters: JsonObject = {}
    filters: JsonObject | None = None
    interval: Interval = Interval()
    is_fifo: bool = False
    is_queue: bool = True
    carrier: str | None = None
    batch_size: int = 1
    batch_window_seconds: int = 0
    transformer: str | None = None
    sources: tuple[str, ...] = ()
    result: str | None = None
    action: UniversalAction | None = None

    @property
    def is_raw(self) -> bool:
        return not self.with_metadata and self.transformer is None

    def build_text(self, event: Event) -> str:
        """Returns what the target receives. Raises UnicodeDecodeError if the payload is not text."""
        if self.result is not None:
            return read_text(self.result)
        if self.with_metadata:
            return event.build_text_with_metadata(self.interval.name_delivery_type(event))
        return event.text

    def build_json(self, event: Event) -> str:
        """Returns what a target receives that reads JSON. Raises UnicodeDecodeError."""
        if self.result is not None:
            return self.result
        text = self.build_text(event)
        return msgspec.json.encode(text).decode() if event.is_binary and not self.with_metadata else text

    def exhausted_by(self, attempts: int, age_seconds: float, refusal: Refusal) -> str | None:
        """Returns the exhaustedRetryCondition after `attempts` failed attempts, or None if another attempt follows.

        The attempts count before the age, and faults of the service itself end no delivery ("Retries", EventBridge User
        Guide). The age counts from the first attempt, since a replayed event can be a year old (our choice).
        """
        if refusal.code == INTERNAL_ERROR:
            return None
        if (
            refusal.code == LOOP_DETECTED
            or refusal.retry_after < 0
            or attempts > (self.retries.max_retry_attempts or 0)
        ):
            return "MaximumRetryAttempts"
        return "MaximumEventAgeInSeconds" if age_seconds >= (self.retries.max_event_age_in_seconds or 0) else None


class Shipment(NamedTuple):
    """An event that a subscriber receives."""

    subscriber: Subscriber
    event: Event


def read_subscriber(row: EventSubscriberRow) -> Subscriber:
    """Reads the stored configuration, which has every default."""
    configuration = row.configuration
    invoke = configuration["InvokeConfiguration"]
    batches = configuration.get("BatchConfiguration") or {}
    start = configuration.get("PointInTimeConfiguration") or {}
    transforming = configuration.get("Transformer") or {}  # a universal target has none
    transformer = (transforming.get("JsonataConfiguration") or {}).get("Expression")
    parameters: JsonObject = next((invoke[name] for name in PARAMETERS if invoke.get(name)), {})
    action = read_action(row.target_arn) if is_universal(row.target_arn, "events") else None
    sources = [source for _, source in list_expressions([transformer, parameters])] if action is None else []
    return Subscriber(
        row.subscriber_id,
        row.arn,
        row.bus_arn,
        row.account_id,
        row.region,
        row.target_arn,
        with_metadata=transforming.get("Type") == "WITH_METADATA",
        retries=convert(configuration["RetryPolicy"], RetryPolicy),
        dead_letter_arn=(configuration.get("OnFailureConfiguration") or {}).get("Arn"),
        parameters=parameters,
        filters=configuration.get("FilterConfiguration"),
        interval=Interval(
            replays_until=row.moved_at or (row.created_at if start else None),
            starts_at=(start.get("StartingPoint") or 0.0) if row.moved_to is None else row.moved_to.timestamp(),
            ends_at=start.get("EndPoint") or float("inf"),
        ),
        is_fifo=row.type == "FIFO",
        is_queue=parse_queue_arn(row.target_arn) is not None,
        carrier=row.carrier,
        batch_size=batches.get("MaxBatchSize") or 1,
        batch_window_seconds=batches.get("MaxBatchWindowInSeconds") or 0,
        transformer=None if transformer is None else find_source(transformer),
        sources=tuple(dict.fromkeys(sources)),
        action=action,
    )


def limit_retry_after(refusal: Refusal, subscriber: Subscriber, age_seconds: float) -> float:
    """Returns the seconds for which the target wants to receive no other attempt, but at most until the end of the age
    limit of an event of this age. The last attempt then follows."""
    return min(refusal.retry_after, max(0.0, (subscriber.retries.max_event_age_in_seconds or 0) - age_seconds))


def choose_pause(attempts: int, random: Random) -> timedelta:
    """Returns the pause after `attempts` failed attempts: 1, 2, 4, … 60 seconds, of which a tenth is random."""
    seconds = min(MAX_PAUSE_SECONDS, 2 ** min(attempts - 1, 10))
    return timedelta(seconds=seconds * (0.9 + random.random() / 10))


class Audience(NamedTuple):
    """Subscribers that receive the same pages. `receivers` has each subscriber and its first_page by id, `filters` the
    index of their filters, and `kinds` the delivery types that their events can have. `version` is that of a bus's
    followers."""

    receivers: dict[int, tuple[int, Subscriber]]
    filters: FilterIndex
    kinds: list[str]
    version: UUID | None = None


class Subscribers:
    """The configurations of subscribers by id and revision, which a process reads once, the indexes of their filters,
    and the followers of each bus."""

    def __init__(self) -> None:
        self._followers: dict[int, Audience] = {}
        self._known: dict[tuple[int, datetime], Subscriber] = {}
        self._indexes: dict[tuple[int, ...], tuple[list[Subscriber], FilterIndex]] = {}

    def find(self, keys: Sequence[tuple[int, datetime]], calls: TransactionExecutor) -> dict[int, Subscriber]:
        """Returns the subscribers by id. A subscriber that was deleted meanwhile is missing."""
        missing = [key for key in keys if key not in self._known]
        if missing:
            if len(self._known) + len(missing) > KEPT_SUBSCRIBERS:
                self._known.clear()
                missing = list(keys)
            rows = calls.call(READ_EVENT_SUBSCRIBERS, [[key[0] for key in missing]])
            found = {row.subscriber_id: read_subscriber(row) for row in rows}
            self._known.update({key: found[key[0]] for key in missing if key[0] in found})
        return {key[0]: self._known[key] for key in keys if key in self._known}

    def find_index(self, subscribers: list[Subscriber]) -> FilterIndex:
        """Returns an index of the subscribers' filters. The next events of the same subscribers use the same index."""
        key = tuple(subscriber.subscriber_id for subscriber in subscribers)
        kept, index = self._indexes.get(key, (None, None))
        if index is None or kept != subscribers:
            if len(self._indexes) > KEPT_INDEXES:
                self._indexes.clear()
            index = FilterIndex((subscriber.subscriber_id, subscriber.filters) for subscriber in subscribers)
            self._indexes[key] = subscribers, index
        return index

    def build_audience(
        self, rows: Sequence[ClaimedSubscriberRow], calls: TransactionExecutor, version: UUID | None = None
    ) -> Audience:
        known = self.find([(row.subscriber_id, row.revision) for row in rows], calls)
        receivers = {
            row.subscriber_id: (row.first_page, known[row.subscriber_id]) for row in rows if row.subscriber_id in known
        }
        subscribers = [subscriber for _, subscriber in receivers.values()]
        kinds = {kind for subscriber in subscribers for kind in subscriber.interval.delivery_types}
        return Audience(receivers, self.find_index(subscribers), sorted(kinds), version)

    def find_version(self, bus_id: int) -> UUID | None:
        """Returns the version of the known followers of a bus."""
        known = self._followers.get(bus_id)
        return None if known is None else known.version

    def find_followers(
        self, bus_id: int, version: UUID | None, rows: Sequence[ClaimedSubscriberRow], calls: TransactionExecutor
    ) -> Audience:
        """Returns the followers of a bus. If the process does not know this version, `rows` has a row for each."""
        if self.find_version(bus_id) != version:
            if len(self._followers) > KEPT_INDEXES:
                self._followers.clear()
            listed = [row for row in rows if row.blocked is None]
            self._followers[bus_id] = self.build_audience(listed, calls, version)
        return self._followers[bus_id]
