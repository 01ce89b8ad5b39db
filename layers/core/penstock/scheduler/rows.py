"""Converts schedules of AWS's API and the REST API to and from the columns of SQL functions, and computes next times.

Python computes occurrences from the database's time and stores the next occurrence with the schedule. An operation that
writes a schedule therefore reads the database's time first (`read`), which costs a second round trip.
"""

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.schedules import READ_SCHEDULE, PutMode

from .expressions.expression import Expression, read_stored

_JUST_BEFORE = timedelta(microseconds=1)


class StoredSchedule(Struct):
    """A row of queue.schedule. `target` is a Target of EventBridge Scheduler, or a target of the REST API."""

    account_id: str
    region: str
    group_name: str
    name: str
    api: str
    expression_kind: str
    expression: str
    canonical: str
    timezone: str
    jitter_seconds: int
    catchup: bool
    catchup_limit: int
    failure_threshold: int
    overlap: str
    target: JsonObject
    status: str
    consecutive_failures: int
    fire_count: int
    created_at: datetime
    updated_at: datetime
    anchor_at: datetime | None = None
    start_at: datetime | None = None
    end_at: datetime | None = None
    window_minutes: int | None = None
    next_fire_at: datetime | None = None
    last_fired_at: datetime | None = None
    last_error: str | None = None
    description: str | None = None
    kms_key_arn: str | None = None
    action_after_completion: str | None = None
    client_token: str | None = None

    @property
    def when(self) -> Expression:
        """Returns the parsed expression."""
        return read_stored(self.expression_kind, self.expression, self.canonical, self.timezone)


def read_row(columns: JsonObject) -> StoredSchedule:
    """Converts the JSON of a row's columns to a schedule."""
    return msgspec.convert(columns, StoredSchedule)


def read(group: str, name: str, context: Context) -> Operation[tuple[datetime, StoredSchedule | None]]:
    """Returns the database's time, and the schedule if it exists."""
    (found,) = yield from Call(READ_SCHEDULE, (context.account_id, context.region, group, name))
    return found.now, None if found.schedule is None else read_row(found.schedule)


# --- occurrences -----------------------------------------------------------------------------------------------------
class Period(Struct, frozen=True):
    """The period in which an expression fires, from `start` to `end`. A rate counts from `anchor`.

    One-shots ignore the period, as AWS's one-shots ignore StartDate and EndDate (CreateSchedule, API reference).
    """

    start: datetime | None = None
    end: datetime | None = None
    anchor: datetime | None = None


def next_fire(expression: Expression, after: datetime, period: Period) -> datetime | None:
    """Returns the first occurrence strictly after `after`, or None after the last occurrence."""
    if expression.is_one_shot:
        return expression.next_after(after)
    if period.start is not None:
        after = max(after, period.start - _JUST_BEFORE)
    found = expression.next_after(after, period.anchor)
    return None if found is None or (period.end is not None and found > period.end) else found


def find_first_fire(
    mode: PutMode, expression: Expression, now: datetime, period: Period, context: Context
) -> datetime | None:
    """Returns the first occurrence of a schedule that a request writes. `mode` is the mode of queue.put_schedule.

    A new one-shot can be late by up to the misfire grace, because its time can pass during the request. A replaced
    one-shot must not be late, because it may have fired already and must not fire twice.
    """
    if mode == "create" and expression.is_one_shot:
        now -= timedelta(seconds=context.environment.settings.queue_schedule_misfire_grace_seconds)
    return next_fire(expression, now, period)


def next_fires(row: StoredSchedule, count: int) -> list[datetime]:
    """Returns the next occurrences of an active schedule. The stored occurrence is the first."""
    if row.next_fire_at is None or row.status != "active":
        return []
    period = Period(row.start_at, row.end_at, row.anchor_at)
    return [row.next_fire_at, *list_fires(row.when, row.next_fire_at, period, count - 1)]


def list_fires(expression: Expression, after: datetime, period: Period, count: int) -> list[datetime]:
    """Returns the next `count` occurrences strictly after `after`, or fewer if the expression or the period ends."""
    found: list[datetime] = []
    while len(found) < count and (following := next_fire(expression, after, period)) is not None:
        found.append(after := following)
    return found
