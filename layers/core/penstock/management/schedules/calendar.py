"""Lists when schedules fire in the next seven days. A schedule that fires more than four times a day has only one
line.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

from penstock.context import Context
from penstock.effects import Call, Operation, Pause
from penstock.management.rights import needs
from penstock.postgres.statements.schedules import LIST_MISSED_RUNS, READ_CALENDAR, CalendarRow, MissedRunRow
from penstock.scheduler.expressions.expression import ScheduleInvalid, read_stored
from penstock.scheduler.rows import Period, next_fire

from .operations import group_key, may_read

DAYS: Final = 7
DAY: Final = timedelta(days=1)
MAX_EXPRESSIONS: Final = 60
"""Evaluating 60 expressions with 28 times each takes about 120 ms (77 µs for each time)."""
MAX_OFTEN: Final = 25
MAX_PER_DAY: Final = 12
"""The maximum number of lines for a day. The page shows only a count of further times."""
SELDOM: Final = 4
"""The days list only schedules that fire at most this often in 24 hours. Other schedules have one line above the
days.
"""
MAX_MISSED: Final = 20
A_TURN: Final = 16
"""How many expressions the calendar evaluates before it lets other requests run."""


class Fires(NamedTuple):
    """The schedules that fire at one time. `names` contains the first three names."""

    at: datetime
    schedules: int
    names: Sequence[str]


class Often(NamedTuple):
    """Schedules that fire more than four times a day. `words` describes the times in English."""

    words: str
    next_at: datetime
    schedules: int
    names: Sequence[str]


class Day(NamedTuple):
    """A day in UTC. `more` counts the times beyond the first twelve."""

    date: date
    fires: Sequence[Fires]
    more: int


class Calendar(NamedTuple):
    """The calendar's values. `looked_at` counts all schedules. `left_out` counts the expressions beyond the first 60,
    which the calendar omits. `more_often` counts the frequent expressions beyond the first 25.
    """

    days: Sequence[Day]
    often: Sequence[Often]
    more_often: int
    late: int
    looked_at: int
    left_out: int
    missed: Sequence[MissedRunRow]


@needs("schedules", "scheduler:ListSchedules")
def read_calendar(context: Context) -> Operation[Calendar]:
    """Reads the calendar with two statements. Evaluates at most 60 expressions, each at most 29 times. Omits the names
    and missed times of schedules that the caller lacks permission to read.
    """
    until = midnight(datetime.now(UTC)) + DAYS * DAY
    rows = yield from Call(READ_CALENDAR, (*group_key(context), until, MAX_EXPRESSIONS))
    missed = yield from Call(LIST_MISSED_RUNS, (*group_key(context), MAX_MISSED))
    often: list[Often] = []
    fires: list[Fires] = []
    for number, row in enumerate(rows, 1):
        times, names = list_times(row, until), [name for name in row.names if may_read(name, context)]
        if times is None:
            often.append(Often(describe_times(row), row.next_fire_at, row.schedules, names))
        else:
            fires += [Fires(at, row.schedules, names) for at in times]
        if number % A_TURN == 0:
            yield from Pause(0)
    return Calendar(
        list(build_days(fires, until - DAYS * DAY)), often[:MAX_OFTEN], max(0, len(often) - MAX_OFTEN),
        sum(row.late for row in rows), rows[0].looked_at if rows else 0,
        rows[0].expressions - len(rows) if rows else 0,
        [run for run in missed if may_read(run.name, context)],
    )  # fmt: skip


def list_times(row: CalendarRow, until: datetime) -> list[datetime] | None:
    """Returns the times before `until` at which the schedules fire, or None for more than four times in 24 hours. The
    first time is the stored next time. Only the stored time can be in the past, if the schedules are overdue.
    """
    expression = read_stored(row.expression_kind, row.expression, row.canonical, row.timezone)
    period = Period(end=row.end_at, anchor=row.anchor_at)
    found: list[datetime] = [row.next_fire_at]
    try:
        at = next_fire(expression, max(row.next_fire_at, row.read_at), period)
        while at is not None and at < until:
            found.append(at)
            if len(found) > SELDOM and at - found[-1 - SELDOM] < DAY:
                return None
            at = next_fire(expression, at, period)
    except ScheduleInvalid:  # A newer release stored this expression. Only the next time is known.
        return found[:1]
    return found


def describe_times(row: CalendarRow) -> str:
    return read_stored(row.expression_kind, row.expression, row.canonical, row.timezone).description()


def build_days(fires: Iterable[Fires], start: datetime) -> Iterator[Day]:
    """Yields seven days from `start`. The first day includes overdue schedules."""
    by_day: dict[date, list[Fires]] = {}
    for each in sorted(fires, key=lambda each: (each.at, each.names)):
        by_day.setdefault(max(each.at, start).date(), []).append(each)
    for number in range(DAYS):
        day = (start + number * DAY).date()
        listed = by_day.get(day, [])
        yield Day(day, listed[:MAX_PER_DAY], max(0, len(listed) - MAX_PER_DAY))


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
