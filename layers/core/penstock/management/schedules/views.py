"""Converts schedules, runs and expressions to documents."""

from collections.abc import Iterable
from datetime import datetime

from msgspec import UNSET

from penstock.aws.schedule_arn import DEFAULT_GROUP
from penstock.documents.times import format_time, to_millisecond, to_second
from penstock.postgres.statements.schedules import FiredMessage, ScheduleRunRow
from penstock.scheduler import rows as schedule_rows
from penstock.scheduler.expressions.clock_changes import describe_clock_changes
from penstock.scheduler.expressions.expression import Expression, find_pause
from penstock.scheduler.rows import Period, StoredSchedule

from .types import PastRun, Preview, ShownSchedule, show_target


def to_shown_schedule(row: StoredSchedule, count: int) -> ShownSchedule:
    """Returns a schedule with its next `count` times."""
    return ShownSchedule(
        name=row.name,
        group=UNSET if row.group_name == DEFAULT_GROUP else row.group_name,
        expression=row.expression,
        timezone=row.timezone,
        jitter_secs=row.jitter_seconds,
        catchup=row.catchup,
        catchup_limit=row.catchup_limit,
        failure_threshold=row.failure_threshold,
        overlap=row.overlap,
        start_at=to_second(row.start_at),
        end_at=to_second(row.end_at),
        target=show_target(row.target),
        status=row.status,
        next_fire_at=to_second(row.next_fire_at),
        last_fired_at=to_millisecond(row.last_fired_at),
        last_error=row.last_error,
        consecutive_failures=row.consecutive_failures,
        fire_count=row.fire_count,
        human_readable=row.when.description(),
        next_fires=[format_time(at) for at in schedule_rows.next_fires(row, count)],
        created_at=format_time(row.created_at, "milliseconds"),
        updated_at=format_time(row.updated_at, "milliseconds"),
        **show_canonical_fields(row.when),
    )


def describe_problems(row: StoredSchedule, now: datetime) -> list[str]:
    """Returns a sentence for each problem of a schedule."""
    pause = describe_pause(row.when, now)
    problems = [] if pause is None else [pause]
    if row.next_fire_at is None and row.last_fired_at is None:
        problems.append("The schedule is paused and never fires: all its times have passed.")
    return problems


def describe_pause(expression: Expression, now: datetime) -> str | None:
    """Returns a warning if the schedule pauses when the clock is put back, or None."""
    at = find_pause(expression, now)
    if at is None:
        return None
    return (
        f"The clock of {expression.timezone} is put back on {at:%Y-%m-%d}: the schedule pauses then, because a local "
        "time that occurs twice fires once. The zone UTC has no such pause."
    )


def to_preview(expression: Expression, now: datetime, period: Period, count: int) -> Preview:
    """Returns an expression's meaning in words, its next `count` times, and its clock changes of a year."""
    start = now if period.start is None else max(now, period.start)
    return Preview(
        timezone=expression.timezone,
        human_readable=expression.description(),
        next_fires=[format_time(at) for at in schedule_rows.list_fires(expression, now, period, count)],
        warning=describe_pause(expression, start) or UNSET,
        clock_changes=describe_clock_changes(expression, start, period.end) or UNSET,
        **show_canonical_fields(expression),
    )


def show_canonical_fields(expression: Expression) -> dict[str, str]:
    """Returns an expression's canonical form, by the name of its kind: `fire_at`, `rate` or `cron`."""
    if expression.is_one_shot:
        moment = expression.canonical.removeprefix("at(").removesuffix(")")
        return {"fire_at": moment}
    return {"rate" if expression.form == "rate" else "cron": expression.canonical}


def to_past_run(name: str, run_id: int, row: ScheduleRunRow) -> PastRun:
    """Returns an occurrence of the schedule `name`. `run_id` is the row's id."""
    return PastRun(
        id=run_id,
        schedule_name=name,
        fired_at=to_millisecond(row.fired_at),
        scheduled_for=format_time(row.scheduled_for),
        out_of_band=row.out_of_band,
        msg_ids=list_queue_message_ids(row.message_ids),
        attempts=row.attempts,
        error=row.error,
    )


def list_queue_message_ids(messages: Iterable[FiredMessage]) -> list[int]:
    """Returns the ids of messages in queues. Messages to an SNS topic have no id here."""
    return [message["msg_id"] for message in messages if message["msg_id"] is not None]
