"""Shows, runs, pauses, resumes and deletes schedules, and creates and deletes their groups."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, Literal, NamedTuple

import msgspec
from fastapi import Response

from penstock.access.authorization import check_user
from penstock.access.resources import ANY
from penstock.aws.schedule_arn import DEFAULT_GROUP, build_schedule_key, split_schedule_key
from penstock.context import Context
from penstock.documents.times import parse_timestamp
from penstock.effects import Call, Operation
from penstock.errors import AwsError, InvalidParameterValue
from penstock.management.attention import LATE_SECONDS
from penstock.management.rights import build_schedule_arn, needs, right_of
from penstock.management.schedules import aws_schedules
from penstock.management.schedules import operations as management
from penstock.management.schedules.types import SchedulePatch, ShownSchedule
from penstock.management.schedules.views import to_shown_schedule
from penstock.postgres.statements.schedules import LIST_SCHEDULES, LIST_TROUBLED_SCHEDULES, ScheduleRow
from penstock.scheduler.rows import StoredSchedule, read_row
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import MAX_TROUBLED, PAGE, cut_page, put_first
from penstock_web.console.rendering import segment
from penstock_web.console.responses import redirect, show_page
from penstock_web.console.schedules.calendar import read_calendar
from penstock_web.console.screen import act, screen
from penstock_web.routing.errors import status_and_code

FIRES: Final = 3
STATES: Final = ("", "active", "paused")
SORTS: Final = ("", "name")
VIEWS: Final = ("list", "calendar", "groups")
MAX_RUNS: Final = 50
LATE: Final = timedelta(minutes=1)


class ListedSchedule(NamedTuple):
    """A schedule in the list. `key` is its name, or `GROUP:NAME`. If `is_readable` is false, the caller sees only the
    name and the status."""

    key: str
    schedule: ShownSchedule
    is_late: bool
    is_readable: bool


class Wanted(NamedTuple):
    """The filters and the order of the URL. `after` is the key of the last schedule on the previous page. The sort is
    empty for a list that begins with the schedules in trouble.
    """

    status: str
    prefix: str
    group: str
    after: str
    sort: str


@needs("schedules", "scheduler:ListSchedules")
def list_schedules(wanted: Wanted, context: Context) -> Operation[list[ListedSchedule]]:
    """Returns a page of schedules in the order of group and name. Returns one extra schedule if there is a next page.
    Without a group, returns schedules of all groups, as ListSchedules of AWS does.
    """
    check_group(wanted, context)
    after = split_schedule_key(wanted.after) if wanted.after else (None, None)
    names = (wanted.group or None, wanted.prefix or None, wanted.status or None, None, None, *after, PAGE + 1)
    rows = yield from Call(LIST_SCHEDULES, (context.account_id, context.region, *names))
    return (yield from _show_rows(rows, context))


@needs("schedules", "scheduler:ListSchedules")
def list_troubled(wanted: Wanted, context: Context) -> Operation[list[ListedSchedule]]:
    """Returns the schedules that fail, and then those that are late, the most overdue first."""
    check_group(wanted, context)
    filters = (wanted.group or None, wanted.prefix or None, wanted.status or None)
    place = (context.account_id, context.region)
    rows = yield from Call(LIST_TROUBLED_SCHEDULES, (*place, *filters, LATE_SECONDS, MAX_TROUBLED))
    return (yield from _show_rows(rows, context))


def check_group(wanted: Wanted, context: Context) -> None:
    """Raises AccessDenied unless the caller may list the schedules of the wanted group."""
    if wanted.group:
        check_user("scheduler", "ListSchedules", build_schedule_arn(f"{wanted.group}:{ANY}", context), context)


def _show_rows(rows: Sequence[ScheduleRow], context: Context) -> Operation[list[ListedSchedule]]:
    found = []
    for number, row in enumerate(rows):
        read = read_row(row.schedule)
        key = build_schedule_key(read.group_name, read.name)
        readable = management.may_read(key, context)
        found.append(ListedSchedule(key, to_shown_schedule(read, FIRES), is_late(read, row.now), readable))
        yield from management.yield_to_others(number)
    return found


@screen("/console/schedules", right=right_of(list_schedules), title="Schedules", position=40)
async def schedules(page: CurrentPage) -> Response:
    """Shows the schedules as a list that begins with trouble, or by group and name. Also shows the calendar of the next
    seven days, or the groups.
    """
    caller = (
        page.context.caller_arn
    )  # Users can have different rights to schedules. The cache therefore has a separate result for each user.
    view = page.query.read_choice("view", VIEWS)
    if view == "groups":
        return await show_groups(page)
    if view == "calendar":
        calendar = await page.read(("calendar", caller), lambda: read_calendar(page.context))
        return show_page(page, "calendar.html", calendar=calendar, view="calendar", views=VIEWS)
    wanted = Wanted(
        page.query.read_choice("status", STATES),
        page.query.get("q", "").strip()[:64],
        page.query.get("group", "").strip()[:64],
        page.query.get("after", "")[:129],
        page.query.read_choice("sort", SORTS),
    )
    found = await page.read(("schedules", caller, wanted), lambda: list_schedules(wanted, page.context))
    shown, more = cut_page(found)
    following = shown[-1].key if more else ""
    if not wanted.after and not wanted.sort:
        troubled = await page.read(("troubled", caller, wanted), lambda: list_troubled(wanted, page.context))
        shown = put_first(troubled, shown, lambda listed: listed.key)
    state = {"q": wanted.prefix, "status": wanted.status, "group": wanted.group, "sort": wanted.sort}
    return show_page(
        page, "schedules.html", schedules=shown, following=following, wanted=wanted, state=state,
        view="list", views=VIEWS, states=STATES, moment=parse_timestamp, done=page.query.get("done", ""),
        may_create=page.may_ever("scheduler:CreateSchedule"),
    )  # fmt: skip


async def show_groups(page: Page, problem: str = "", name: str = "", http_status: int = 200) -> Response:
    """Shows a page of the groups. `problem` is the reason why the group `name` was not created."""
    found = await page.run(aws_schedules.list_groups(page.query.get("after") or None, page.context))
    listed = [
        (group, group.name != DEFAULT_GROUP and page.may("scheduler:DeleteScheduleGroup", group.arn or ""))
        for group in found.schedule_groups
    ]
    return show_page(
        page, "schedule_groups.html", http_status, title="Schedule groups", groups=listed, following=found.next_token,
        view="groups", views=VIEWS, problem=problem, name=name, may_delete=any(deletable for _, deletable in listed),
        moment=partial(datetime.fromtimestamp, tz=UTC), may_create=page.may_ever("scheduler:CreateScheduleGroup"),
        done=page.query.get("done", ""),
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
    missing = await page.run(management.find_missing_queue(shown.target, page.context))
    target, arn = msgspec.json.encode(shown.target), build_schedule_arn(schedule, page.context)
    return show_page(
        page, "schedule.html", title=schedule, schedule=shown, runs=runs.runs,
        target=msgspec.json.format(target, indent=2).decode(),
        moment=parse_timestamp, done=page.query.get("done", ""), may_run=page.may("penstock:RunSchedule", arn),
        may_change=page.may("scheduler:UpdateSchedule", arn), key=schedule, missing=missing,
        may_delete=page.may("scheduler:DeleteSchedule", arn),
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


@act("/console/schedules/{schedule}/delete", right=right_of(management.delete_schedule))
async def delete_schedule(schedule: str, page: CurrentPage) -> Response:
    """Deletes a schedule."""
    await page.act(management.delete_schedule(schedule, page.context))
    return redirect("/console/schedules?done=unscheduled")


# --- groups ----------------------------------------------------------------------------------------------------------
@act("/console/schedule-groups", right=right_of(aws_schedules.create_group))
async def create_group(page: CurrentPage) -> Response:
    """Creates a schedule group."""
    name = page.form.get("name").strip()
    try:
        await page.act(aws_schedules.create_group(name, page.context))
    except AwsError as error:
        return await show_groups(page, error.message, name, status_and_code(type(error))[0])
    return redirect("/console/schedules?view=groups&done=grouped")


@act("/console/schedule-groups/{group}/delete", right=right_of(aws_schedules.delete_group))
async def delete_group(group: str, page: CurrentPage) -> Response:
    """Deletes a schedule group with its schedules. The user must type the group's name."""
    if page.form.get("typed").strip() != group:
        raise InvalidParameterValue(f"The typed name is not {group}. Penstock has not changed the group.")
    await page.act(aws_schedules.delete_group(group, page.context))
    return redirect("/console/schedules?view=groups&done=ungrouped")
