"""Shows, runs, pauses and resumes schedules."""

from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

import msgspec
from fastapi import Response

from penstock.context import Context
from penstock.documents.times import parse_timestamp
from penstock.effects import Call, Operation
from penstock.management.rights import build_schedule_arn, needs, right_of
from penstock.management.schedules import operations as management
from penstock.management.schedules.types import SchedulePatch, ShownSchedule
from penstock.management.schedules.views import to_shown_schedule
from penstock.postgres.statements.schedules import LIST_SCHEDULES
from penstock.scheduler.rows import StoredSchedule, read_row
from penstock_web.console.calendar import read_calendar
from penstock_web.console.page import CurrentPage
from penstock_web.console.paging import PAGE, cut_page
from penstock_web.console.rendering import segment
from penstock_web.console.responses import redirect, show_page
from penstock_web.console.screen import act, screen

FIRES: Final = 3
STATES: Final = ("", "active", "paused")
VIEWS: Final = ("list", "calendar")
MAX_RUNS: Final = 50
LATE: Final = timedelta(minutes=1)


class ListedSchedule(NamedTuple):
    """A schedule in the list. If `is_readable` is false, the caller sees only the name and the status."""

    schedule: ShownSchedule
    is_late: bool
    is_readable: bool


@needs("schedules", "scheduler:ListSchedules")
def list_schedules(status: str, prefix: str, after: str, context: Context) -> Operation[list[ListedSchedule]]:
    """Returns a page of schedules. Returns one extra schedule if there is a next page."""
    place = management.group_key(context)
    names = (prefix or None, status or None, None, None, place[2] if after else None, after or None)
    found = []
    for number, row in enumerate((yield from Call(LIST_SCHEDULES, (*place, *names, PAGE + 1)))):
        read = read_row(row.schedule)
        readable = management.may_read(read.name, context)
        found.append(ListedSchedule(to_shown_schedule(read, FIRES), is_late(read, row.now), readable))
        yield from management.yield_to_others(number)
    return found


@screen("/console/schedules", right=right_of(list_schedules), title="Schedules", position=40)
async def schedules(page: CurrentPage) -> Response:
    """Shows the schedules of the group `default`: a list by name, or a calendar of the next seven days."""
    caller = (
        page.context.caller_arn
    )  # Users can have different rights to schedules. The cache therefore has a separate result for each user.
    if page.query.read_choice("view", VIEWS) == "calendar":
        calendar = await page.read(("calendar", caller), lambda: read_calendar(page.context))
        return show_page(page, "calendar.html", calendar=calendar, view="calendar", views=VIEWS)
    status, prefix = page.query.read_choice("status", STATES), page.query.get("q", "").strip()[:64]
    after = page.query.get("after", "")[:64]
    found = await page.read(
        ("schedules", caller, status, prefix, after), lambda: list_schedules(status, prefix, after, page.context)
    )
    shown, more = cut_page(found)
    return show_page(
        page, "schedules.html", schedules=shown, more=more, status=status,
        prefix=prefix, view="list", views=VIEWS,
        after=after, states=STATES, moment=parse_timestamp, done=page.query.get("done", ""),
    )  # fmt: skip


def is_late(row: StoredSchedule, now: datetime) -> bool:
    """Returns whether a schedule is overdue by more than a minute. The jitter and the flexible window do not count as
    delay.
    """
    if row.next_fire_at is None or row.status != "active":
        return False
    may_wait = timedelta(seconds=row.jitter_seconds, minutes=row.window_minutes or 0)
    return row.next_fire_at + may_wait + LATE < now


@screen("/console/schedules/{schedule}", right=right_of(management.describe_schedule, management.list_runs))
async def schedule(schedule: str, page: CurrentPage) -> Response:
    """Shows a schedule and its last runs."""
    shown = await page.run(management.describe_schedule(schedule, page.context))
    runs = await page.run(management.list_runs(schedule, None, MAX_RUNS, page.context))
    target, arn = msgspec.json.encode(shown.target), build_schedule_arn(schedule, page.context)
    return show_page(
        page, "schedule.html", title=schedule, schedule=shown, runs=runs.runs,
        target=msgspec.json.format(target, indent=2).decode(),
        moment=parse_timestamp, done=page.query.get("done", ""), may_run=page.may("penstock:RunSchedule", arn),
        may_change=page.may("scheduler:UpdateSchedule", arn),
    )  # fmt: skip


@act("/console/schedules/{schedule}/run", right=right_of(management.run_schedule))
async def run_now(schedule: str, page: CurrentPage) -> Response:
    """Fires a schedule now, even a paused schedule. The next time stays unchanged."""
    operation = management.run_schedule(schedule, page.context)
    await page.act(operation)
    return redirect(f"/console/schedules/{segment(schedule)}?done=ran")


@act("/console/schedules/{schedule}/status", right=right_of(management.change_schedule))
async def set_status(schedule: str, page: CurrentPage) -> Response:
    """Pauses or resumes a schedule."""
    status: Literal["active", "paused"] = "paused" if page.form.get("status") == "paused" else "active"
    operation = management.change_schedule(schedule, SchedulePatch(status=status), page.context)
    await page.act(operation)
    done = "paused" if status == "paused" else "resumed"
    return redirect(f"/console/schedules/{segment(schedule)}?done={done}")
