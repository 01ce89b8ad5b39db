"""Schedules that are due: for the worker that fires them."""

from datetime import datetime
from typing import NamedTuple

from penstock.effects import Statement


class NextScheduleRow(NamedTuple):
    """In how many milliseconds the next schedule, and the next retry, is due; None: there is none."""

    schedule_ms: int | None
    retry_ms: int | None


NEXT_SCHEDULE = Statement("queue.next_schedule", (), NextScheduleRow)


class ClaimedScheduleRow(NamedTuple):
    """A schedule that is due, locked until the end of the transaction."""

    now: datetime
    schedule_id: int
    door: str
    form: str
    canonical: str
    timezone: str
    anchor_at: datetime | None
    end_at: datetime | None
    window_seconds: int | None
    catchup: bool
    catchup_limit: int | None
    max_age_seconds: int | None
    next_fire_at: datetime | None
    topic: str | None


CLAIM_SCHEDULES = Statement("queue.claim_schedules", ("int4",), ClaimedScheduleRow)


class ScheduleInputRow(NamedTuple):
    """The text that occurrence `n` sends to a topic."""

    n: int
    input: str | None


SCHEDULE_INPUTS = Statement("queue.schedule_inputs", ("int8[]", "timestamptz[]"), ScheduleInputRow)


class FiredRow(NamedTuple):
    """What became of a schedule's occurrences."""

    schedule_id: int
    outcome: str
    fired: int
    skipped: int
    failed: int
    detail: str | None


FIRE_SCHEDULES = Statement(
    "queue.fire_schedules",
    ("int8[]", "timestamptz[]", "text[]", "int4[]", "timestamptz[]", "jsonb[]"),
    FiredRow,
)


class ClaimedRetryRow(NamedTuple):
    """A message to a topic that is tried again, locked until the end of the transaction."""

    retry_id: int
    topic: str
    input: str


CLAIM_SCHEDULE_RETRIES = Statement("queue.claim_schedule_retries", ("int4",), ClaimedRetryRow)


class FiredRetryRow(NamedTuple):
    """What became of it."""

    retry_id: int
    outcome: str
    detail: str | None


FIRE_SCHEDULE_RETRIES = Statement("queue.fire_schedule_retries", ("int8[]", "jsonb[]"), FiredRetryRow)
