"""Lists schedules with their problems, for pages that people read."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from penstock.access.authorization import check_user
from penstock.access.resources import ANY
from penstock.aws.schedule_arn import build_schedule_key, split_schedule_key
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.management.attention.concerns import (
    LATE_SECONDS,
    MAX_COUNTED,
    OLD_SECONDS,
    OLD_TRANSACTIONS,
    SCHEDULES_LATE,
)
from penstock.management.rights import build_schedule_arn, needs
from penstock.postgres.statements.metrics import READ_LATE_WORK
from penstock.postgres.statements.schedules import LIST_SCHEDULES, LIST_TROUBLED_SCHEDULES, ScheduleRow
from penstock.scheduler.rows import Period, StoredSchedule, list_fires, next_fires, read_row
from penstock.verdicts.words import explain_delay

from .operations import count_previews, find_schedule, may_read, yield_to_others
from .types import ShownSchedule
from .views import to_shown_schedule

FIRES: Final = 3
LATE: Final = timedelta(minutes=1)


class ListedSchedule(NamedTuple):
    """A schedule in the list. `key` is its name, or `GROUP:NAME`. If `is_readable` is false, the caller sees only the
    name and the status."""

    key: str
    schedule: ShownSchedule
    is_late: bool
    is_readable: bool


class Times(NamedTuple):
    """The next times of a schedule, and the missed times of a late one, each at most QUEUE_SCHEDULE_PREVIEW_COUNT.
    `delay` says what to do about a late schedule, and is empty for any other.
    """

    missed: list[datetime]
    following: list[datetime]
    delay: str


class WantedSchedules(NamedTuple):
    """The filters of a list. `after` is the key of the last schedule on the previous page. The sort is empty for a list
    that begins with the schedules in trouble.
    """

    status: str
    prefix: str
    group: str
    after: str
    sort: str


@needs("schedules", "scheduler:ListSchedules")
def list_schedules(wanted: WantedSchedules, limit: int, context: Context) -> Operation[list[ListedSchedule]]:
    """Returns up to `limit` schedules in the order of group and name. If no group is given, returns schedules of all
    groups, as ListSchedules of AWS does.
    """
    check_group(wanted, context)
    after = split_schedule_key(wanted.after) if wanted.after else (None, None)
    names = (wanted.group or None, wanted.prefix or None, wanted.status or None, None, None, *after, limit)
    rows = yield from Call(LIST_SCHEDULES, (context.account_id, context.region, *names))
    return (yield from _show_rows(rows, context))


@needs("schedules", "scheduler:ListSchedules")
def list_troubled(wanted: WantedSchedules, limit: int, context: Context) -> Operation[list[ListedSchedule]]:
    """Returns the schedules that fail, and then those that are late, the most overdue first."""
    check_group(wanted, context)
    filters = (wanted.group or None, wanted.prefix or None, wanted.status or None)
    place = (context.account_id, context.region)
    rows = yield from Call(LIST_TROUBLED_SCHEDULES, (*place, *filters, LATE_SECONDS, limit))
    return (yield from _show_rows(rows, context))


@needs("schedule", "scheduler:GetSchedule")
def read_times(name: str, context: Context) -> Operation[Times]:
    """Returns the missed and the next times of a schedule, in UTC. Raises ScheduleNotFound."""
    now, row = yield from find_schedule(name, context)
    number = count_previews(context)
    known = next_fires(row, number)
    if not is_late(row, now):
        return Times([], known, "")
    following = list_fires(row.when, now, Period(row.start_at, row.end_at, row.anchor_at), number)
    limits = (MAX_COUNTED, LATE_SECONDS, OLD_SECONDS, OLD_TRANSACTIONS)
    rows = yield from Call(READ_LATE_WORK, (context.account_id, context.region, *limits))
    blockers = [late.error for late in rows if late.kind == SCHEDULES_LATE]
    fires = context.environment.settings.queue_schedule_enabled
    delay = explain_delay(SCHEDULES_LATE, *(blockers or [None]), is_done_here=fires)
    return Times([at for at in known if at < now], following, delay)


def check_group(wanted: WantedSchedules, context: Context) -> None:
    """Raises AccessDenied unless the caller may list the schedules of the wanted group."""
    if wanted.group:
        check_user("scheduler", "ListSchedules", build_schedule_arn(f"{wanted.group}:{ANY}", context), context)


def _show_rows(rows: Sequence[ScheduleRow], context: Context) -> Operation[list[ListedSchedule]]:
    found = []
    for number, row in enumerate(rows):
        read = read_row(row.schedule)
        key = build_schedule_key(read.group_name, read.name)
        readable = may_read(key, context)
        found.append(ListedSchedule(key, to_shown_schedule(read, FIRES), is_late(read, row.now), readable))
        yield from yield_to_others(number)
    return found


def is_late(row: StoredSchedule, now: datetime) -> bool:
    """Returns whether a schedule is overdue by more than a minute. The jitter and the flexible window do not count as
    delay.
    """
    if row.next_fire_at is None or row.status != "active":
        return False
    may_wait = timedelta(seconds=row.jitter_seconds, minutes=row.window_minutes or 0)
    return row.next_fire_at + may_wait + LATE < now
