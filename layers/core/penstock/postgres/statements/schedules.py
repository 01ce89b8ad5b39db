"""Statements for schedules, which the APIs call."""

from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias, TypedDict

from penstock.postgres.statement import JsonObject, Statement


class PutScheduleRow(NamedTuple):
    """The stored schedule, and whether it is new, or an error."""

    schedule: JsonObject
    created: bool
    error: str | None


PutMode: TypeAlias = Literal["create", "update", "replace", "patch"]
"""The mode of queue.put_schedule, whose header describes the modes."""

PUT_SCHEDULE = Statement(
    "queue.put_schedule",
    ("text", "text", "text", "text", "text", "jsonb", "timestamptz"),
    PutScheduleRow,
    is_audited=True,
)


class FoundScheduleRow(NamedTuple):
    """The database's time, and the schedule, or None if it does not exist."""

    now: datetime
    schedule: JsonObject | None


READ_SCHEDULE = Statement("queue.read_schedule", ("text", "text", "text", "text"), FoundScheduleRow)


class ScheduleRow(NamedTuple):
    """A schedule of a list, and the database's time."""

    now: datetime
    schedule: JsonObject


class DroppedScheduleRow(NamedTuple):
    """Whether the schedule existed. The value is also true if the same request to `drop_schedule_once` has already
    deleted the schedule."""

    dropped: bool


DROP_SCHEDULE = Statement(
    "queue.drop_schedule", ("text", "text", "text", "text"), DroppedScheduleRow, is_audited=True, changed="dropped"
)
LIST_SCHEDULES = Statement(
    "queue.list_schedule_page",
    ("text", "text", "text", "text", "text", "text", "text", "text", "text", "int4"),
    ScheduleRow,
)


LIST_TROUBLED_SCHEDULES = Statement(
    "queue.list_troubled_schedules", ("text", "text", "text", "text", "text", "float8", "int4"), ScheduleRow
)


class SyncedScheduleRow(NamedTuple):
    """The stored form of the given schedule `n`. `n` is None for a schedule that the call removed because the caller
    did not give it.

    `changed` is false if the stored schedule was the same.
    """

    n: int | None
    schedule: JsonObject
    created: bool
    changed: bool


SYNC_SCHEDULES = Statement(
    "queue.sync_schedules",
    ("text", "text", "text[]", "jsonb[]", "timestamptz[]", "bool"),
    SyncedScheduleRow,
    is_audited=True,
)


class PrunableScheduleRow(NamedTuple):
    """A schedule that a synchronization can delete."""

    name: str


LIST_PRUNABLE_SCHEDULES = Statement(
    "queue.list_prunable_schedules", ("text", "text", "text", "int4"), PrunableScheduleRow
)


class FiredMessage(TypedDict):
    """A message that an occurrence sent to a queue. A message to an SNS topic has neither queue nor id."""

    queue_name: str | None
    msg_id: int | None


class FiredScheduleRow(NamedTuple):
    """An occurrence that a user fired outside the schedule, or an error if no message was sent."""

    scheduled_for: datetime
    fired_at: datetime
    message_ids: list[FiredMessage]
    error: str | None
    detail: str | None


RUN_SCHEDULE = Statement("queue.run_schedule", ("text", "text", "text", "text"), FiredScheduleRow, is_audited=True)


class ScheduleRunRow(NamedTuple):
    """An occurrence. `fired_at` is None if the occurrence failed or was skipped, and `error` gives the reason.

    A schedule without an occurrence has one row with empty columns.
    """

    run_id: int | None
    scheduled_for: datetime
    out_of_band: bool
    attempts: int
    fired_at: datetime | None
    message_ids: list[FiredMessage]
    error: str | None


LIST_SCHEDULE_RUNS = Statement(
    "queue.list_schedule_runs", ("text", "text", "text", "text", "int8", "int4"), ScheduleRunRow
)
DROP_SCHEDULE_ONCE = Statement(
    "queue.drop_schedule_once",
    ("text", "text", "text", "text", "text"),
    DroppedScheduleRow,
    is_audited=True,
    changed="dropped",
)


class CalendarRow(NamedTuple):
    """Active schedules that fire at the same times. `late` counts the schedules that have been due for more than a
    minute.

    Each row repeats `looked_at`, the number of examined schedules, and `expressions`, the number of rows that the
    result would have without a limit.
    """

    expression_kind: str
    expression: str
    canonical: str
    timezone: str
    anchor_at: datetime | None
    end_at: datetime | None
    schedules: int
    names: list[str]
    next_fire_at: datetime
    late: int
    looked_at: int
    expressions: int
    read_at: datetime


READ_CALENDAR = Statement("queue.read_calendar", ("text", "text", "text", "timestamptz", "int4"), CalendarRow)


class MissedRunRow(NamedTuple):
    """An occurrence that did not fire, and the reason."""

    name: str
    scheduled_for: datetime
    attempts: int
    error: str | None
    recorded_at: datetime


LIST_MISSED_RUNS = Statement("queue.list_missed_runs", ("text", "text", "text", "int4"), MissedRunRow)


class PutGroupRow(NamedTuple):
    """The stored group, and whether it is new, or an error."""

    schedule_group: JsonObject | None
    created: bool
    error: str | None


PUT_SCHEDULE_GROUP = Statement(
    "queue.put_schedule_group",
    ("text", "text", "text", "jsonb", "text"),
    PutGroupRow,
    is_audited=True,
    changed="created",
)


class GroupRow(NamedTuple):
    schedule_group: JsonObject


READ_SCHEDULE_GROUP = Statement("queue.read_schedule_group", ("text", "text", "text"), GroupRow)
LIST_SCHEDULE_GROUPS = Statement("queue.list_schedule_group_page", ("text", "text", "text", "text", "int4"), GroupRow)


class GroupErrorRow(NamedTuple):
    error: str | None


TAG_SCHEDULE_GROUP = Statement(
    "queue.tag_schedule_group", ("text", "text", "text", "jsonb", "int4"), GroupErrorRow, is_audited=True
)
UNTAG_SCHEDULE_GROUP = Statement(
    "queue.untag_schedule_group", ("text", "text", "text", "text[]"), GroupErrorRow, is_audited=True
)
