"""Statements for the worker that fires schedules."""

from datetime import datetime
from typing import NamedTuple

from penstock.postgres.statement import JsonObject, Statement


class NextScheduleRow(NamedTuple):
    """Milliseconds until a schedule is due, and until a retry is due. A value is 0 for now, and None for never."""

    schedule_ms: int | None
    retry_ms: int | None

    @property
    def ms(self) -> int | None:
        """Returns the shorter time."""
        return min((ms for ms in self if ms is not None), default=None)


NEXT_SCHEDULE = Statement("queue.next_schedule", (), NextScheduleRow)


class NextLaterScheduleRow(NamedTuple):
    """Milliseconds until the next schedule or retry becomes due, ignoring schedules and retries that are already due.
    None means never.
    """

    ms: int | None


NEXT_LATER_SCHEDULE = Statement("queue.next_later_schedule", (), NextLaterScheduleRow)


class ClaimedScheduleRow(NamedTuple):
    """A schedule whose occurrence `next_fire_at` is due, locked until the end of the transaction.

    `now` is the database's time. `target` is None if SQL builds the message for the target.
    """

    now: datetime
    schedule_id: int
    api: str
    expression_kind: str
    canonical: str
    timezone: str
    anchor_at: datetime | None
    end_at: datetime | None
    window_seconds: int
    catchup: bool
    catchup_limit: int
    max_age_seconds: int
    next_fire_at: datetime
    target: JsonObject | None
    name: str
    account_id: str
    region: str


CLAIM_SCHEDULES = Statement("queue.claim_schedules", ("int4", "int4"), ClaimedScheduleRow)


class ScheduleInputRow(NamedTuple):
    """The text that the occurrence `n` sends to its target."""

    n: int
    input: str


SCHEDULE_INPUTS = Statement("queue.schedule_inputs", ("int8[]", "timestamptz[]"), ScheduleInputRow)


class FiredRow(NamedTuple):
    """The outcome of a schedule's occurrences. `outcome` is done, failed, busy or unsigned.

    `detail` is the reason for a failure, or the signature version that the messages need.
    """

    schedule_id: int
    outcome: str
    fired: int
    skipped: int
    failed: int
    detail: str | None


FIRE_SCHEDULES = Statement(
    "queue.fire_schedules",
    ("int8[]", "timestamptz[]", "text[]", "timestamptz[]", "int4[]", "timestamptz[]", "jsonb[]"),
    FiredRow,
)


class ClaimedRetryRow(NamedTuple):
    """A failed invocation whose retry is due, locked until the end of the transaction.

    `target` is None if SQL builds the message for the target. `input` is the text to send.
    """

    retry_id: int
    target: JsonObject | None
    input: str
    name: str
    account_id: str
    region: str


CLAIM_SCHEDULE_RETRIES = Statement("queue.claim_schedule_retries", ("int4", "int4"), ClaimedRetryRow)


class FiredRetryRow(NamedTuple):
    """The outcome of a retry. `outcome` is fired, failed, exhausted, busy or unsigned. `detail` has the same meaning as
    in FiredRow."""

    retry_id: int
    outcome: str
    detail: str | None


FIRE_SCHEDULE_RETRIES = Statement("queue.fire_schedule_retries", ("int8[]", "jsonb[]"), FiredRetryRow)
