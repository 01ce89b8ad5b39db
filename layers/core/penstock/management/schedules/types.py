"""Schedules as JSON documents of requests and responses.

A message stays the JSON text that the client sent. The table stores a target as `{"queue" | "topic", "body",
"attributes", "facts"}`, from which SQL builds the message. If an application created the schedule through SQL, the
target has `message` and `headers`.
"""

import json
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from penstock import errors
from penstock.documents.decoding import MAX_MESSAGES, CountedTarget, check_length_of_one, decode_body
from penstock.documents.routing_keys import KEY, MAX_LENGTH
from penstock.management.messages.conversion import to_attribute, to_header
from penstock.management.messages.types import Headers
from penstock.sqs.types import MessageAttributeValue

Jitter = Annotated[int, Meta(ge=0, le=86_400)]
Threshold = Annotated[int, Meta(ge=1, le=1_000)]
CatchupLimit = Annotated[int, Meta(ge=1, le=1_000)]
Count = Annotated[int, Meta(ge=1, le=100)]
Overlap = Literal["allow", "skip"]
Status = Literal["active", "paused"]
NAME = "[a-z0-9_-]{1,64}"


# The schemas in this module are documentation: `checks` examines the values and raises better errors.
def _build_exactly_one_of(*names: str, besides: tuple[str, ...] = (), never: tuple[str, ...] = ()) -> dict[str, Any]:
    others = {**{name: {"not": {"type": "null"}} for name in besides}, **dict.fromkeys(never, False)}
    return {
        "oneOf": [{"required": [name, *besides], "properties": {name: {"type": "string"}, **others}} for name in names]
    }


EXPRESSION_FORMS = ("cron", "every", "when", "fire_at")
ONE_EXPRESSION = Meta(extra_json_schema=_build_exactly_one_of(*EXPRESSION_FORMS))
ONE_PREVIEWED = Meta(extra_json_schema=_build_exactly_one_of(*EXPRESSION_FORMS, "expression"))
NAMED = Meta(extra_json_schema=_build_exactly_one_of(*EXPRESSION_FORMS, besides=("name",)))
ONE_DESTINATION = Meta(
    extra_json_schema={"required": ["message"]} | _build_exactly_one_of("queue", "topic", never=("workflow", "input"))
)
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Name = Annotated[str, Meta(extra_json_schema={"pattern": f"^{NAME}$"})]
Queue = Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Za-z0-9_-]{1,80}(\\.fifo)?$"})]
Topic = Annotated[str, Meta(extra_json_schema={"pattern": f"^{KEY}$", "maxLength": MAX_LENGTH})]


class NewTarget(Struct, forbid_unknown_fields=True):
    """The message and its destination. `topic` is a routing key; the queues and URLs of matching bindings receive the
    message."""

    queue: Queue | None = None
    topic: Topic | None = None
    message: msgspec.Raw | UnsetType = UNSET
    headers: Headers = {}
    workflow: msgspec.Raw | UnsetType = UNSET
    input: msgspec.Raw | UnsetType = UNSET


class NewSchedule(Struct, forbid_unknown_fields=True):
    """A schedule.

    A schedule has exactly one of `cron`, `every`, `when` and `fire_at`. Durations are in seconds, and times are RFC
    3339.
    """

    target: Annotated[NewTarget, ONE_DESTINATION]
    name: Name | None = None
    cron: str | None = None
    every: str | None = None
    when: str | None = None
    fire_at: Moment | None = None
    timezone: str = "UTC"
    jitter_secs: Jitter = 0
    catchup: bool = False
    catchup_limit: CatchupLimit = 100
    failure_threshold: Threshold = 3
    start_at: Moment | None = None
    end_at: Moment | None = None
    overlap: Overlap = "allow"
    status: Status = "active"

    def __post_init__(self) -> None:
        """See NewMessage."""


class SchedulePatch(Struct, forbid_unknown_fields=True):
    """Changes of a schedule. Absent members stay unchanged. `null` removes `start_at` or `end_at`."""

    cron: str | None = None
    every: str | None = None
    when: str | None = None
    fire_at: Moment | None = None
    timezone: str | UnsetType = UNSET
    jitter_secs: Jitter | UnsetType = UNSET
    catchup: bool | UnsetType = UNSET
    catchup_limit: CatchupLimit | UnsetType = UNSET
    failure_threshold: Threshold | UnsetType = UNSET
    start_at: Moment | UnsetType | None = UNSET
    end_at: Moment | UnsetType | None = UNSET
    overlap: Overlap | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    target: Annotated[NewTarget, ONE_DESTINATION] | UnsetType = UNSET


class PreviewRequest(Struct, forbid_unknown_fields=True):
    """An expression to preview. `expression` has a form of EventBridge Scheduler: `rate()`, `cron()` or `at()`.

    `start_at` and `end_at` limit the times, except the time of a one-shot. A rate counts from `start_at`, or from now.
    `count` is the number of times to show.
    """

    cron: str | None = None
    every: str | None = None
    when: str | None = None
    fire_at: Moment | None = None
    expression: str | None = None
    timezone: str = "UTC"
    start_at: Moment | None = None
    end_at: Moment | None = None
    count: Count | None = None


NewSchedules = Annotated[list[Annotated[NewSchedule, NAMED]], Meta(max_length=MAX_MESSAGES)]
_new = msgspec.json.Decoder(NewSchedule)
_many = msgspec.json.Decoder(NewSchedules)
_patch = msgspec.json.Decoder(SchedulePatch)
_preview = msgspec.json.Decoder(PreviewRequest)
one_counter = msgspec.json.Decoder(CountedTarget)
list_counter = msgspec.json.Decoder(list[CountedTarget])


def read_schedule(body: bytes) -> NewSchedule:
    """Decodes a request's schedule. Raises InvalidParameterValue or RequestEntityTooLarge, like the functions that
    follow."""
    check_length_of_one(body)
    return decode_body(_new, body, one_counter)


def read_schedules(body: bytes) -> list[NewSchedule]:
    """Returns the schedules of a sync, up to 1,000."""
    return decode_body(_many, body, list_counter)


def read_patch(body: bytes) -> SchedulePatch:
    check_length_of_one(body)
    return decode_body(_patch, body, one_counter)


def read_preview(body: bytes) -> PreviewRequest:
    check_length_of_one(body)
    return decode_body(_preview, body, one_counter)


def measure_size(schedule: NewSchedule | SchedulePatch) -> int:
    """Returns the length of the schedule's message in JSON."""
    message = schedule.target.message if isinstance(schedule.target, NewTarget) else UNSET
    return 0 if isinstance(message, UnsetType) else memoryview(message).nbytes


class ShownTarget(Struct, omit_defaults=True):
    """A target. A schedule of EventBridge Scheduler has `arn` and `input` instead of the other members."""

    queue: str | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    message: msgspec.Raw | UnsetType = UNSET
    headers: dict[str, msgspec.Raw] | UnsetType = UNSET
    arn: str | UnsetType = UNSET
    input: str | UnsetType = UNSET


class ShownSchedule(Struct):
    """A schedule. `expression` is the client's text; `cron`, `rate` or `fire_at` is its canonical form."""

    name: str
    expression: str
    timezone: str
    jitter_secs: int
    catchup: bool
    catchup_limit: int
    failure_threshold: int
    overlap: str
    start_at: str | None
    end_at: str | None
    target: ShownTarget
    status: str
    next_fire_at: str | None
    last_fired_at: str | None
    last_error: str | None
    consecutive_failures: int
    fire_count: int
    human_readable: str
    next_fires: list[str]
    created_at: str
    updated_at: str
    cron: str | UnsetType = UNSET
    rate: str | UnsetType = UNSET
    fire_at: str | UnsetType = UNSET
    group: str | UnsetType = UNSET
    """The schedule's group, unless it is `default`."""
    warning: str | UnsetType = UNSET
    """A problem of the schedule. Only responses to writes have this member."""

    @property
    def is_paused_by_failures(self) -> bool:
        """Returns whether Penstock paused the schedule. Penstock never pauses schedules of EventBridge Scheduler."""
        is_rest = self.target.arn is UNSET
        return is_rest and self.status == "paused" and self.consecutive_failures >= self.failure_threshold


class SchedulePage(Struct):
    """Schedules in the order of their names, at most QUEUE_SCHEDULE_LIST_MAX.

    `unreadable` contains the names of schedules that the caller can list but not read.
    """

    schedules: list[ShownSchedule]
    unreadable: list[str] | UnsetType = UNSET


class Synced(Struct):
    """The names of the schedules that a sync created, updated, left unchanged and deleted.

    `warnings` are problems of the given schedules.
    """

    created: list[str]
    updated: list[str]
    unchanged: list[str]
    deleted: list[str]
    warnings: list[str] | UnsetType = UNSET


class Preview(Struct):
    """An expression's meaning in words, and its next times.

    `clock_changes` has a sentence for each change of the clock within a year that removes or repeats a local time
    of the expression.
    """

    timezone: str
    human_readable: str
    next_fires: list[str]
    cron: str | UnsetType = UNSET
    rate: str | UnsetType = UNSET
    fire_at: str | UnsetType = UNSET
    warning: str | UnsetType = UNSET
    clock_changes: list[str] | UnsetType = UNSET


class ShownRun(Struct):
    """A firing that a client requested, outside the schedule."""

    schedule_name: str
    fired_at: str
    scheduled_for: str
    out_of_band: bool
    msg_ids: list[int]


class PastRun(Struct):
    """The outcome of an occurrence. `fired_at` is null if the occurrence failed or was skipped; `error` then gives
    the reason."""

    id: int
    schedule_name: str
    fired_at: str | None
    scheduled_for: str
    out_of_band: bool
    msg_ids: list[int]
    attempts: int
    error: str | None


class RunPage(Struct):
    """Runs, newest first. `next`, if present, is the `before` of the next page."""

    runs: list[PastRun]
    next: int | UnsetType = UNSET


SCHEDULE_HEADER = "_schedule"


def to_attributes(headers: dict[str, msgspec.Raw]) -> dict[str, Any]:
    """Converts headers to message attributes. Raises InvalidParameterValue for the header that each firing adds."""
    if SCHEDULE_HEADER in headers:
        raise errors.InvalidParameterValue("body: each firing sets the header _schedule")
    return {name: to_attribute(value) for name, value in headers.items()}


def show_target(target: dict[str, Any]) -> ShownTarget:
    """Returns a stored target as a document."""
    if "Arn" in target:
        return ShownTarget(arn=target["Arn"], input=target.get("Input", UNSET))
    body = target["body"] if "body" in target else _encode_text(target.get("message"))
    headers = {name: msgspec.Raw(_encode_text(value).encode()) for name, value in (target.get("headers") or {}).items()}
    if "attributes" in target:
        attributes = msgspec.convert(target["attributes"], dict[str, MessageAttributeValue])
        headers = {name: to_header(value) for name, value in attributes.items()}
    return ShownTarget(
        queue=target.get("queue", UNSET),
        topic=target.get("topic", UNSET),
        message=msgspec.Raw(body.encode()),
        headers=headers,
    )


def _encode_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
