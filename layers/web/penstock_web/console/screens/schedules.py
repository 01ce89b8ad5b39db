"""Shows, runs, pauses, resumes and deletes schedules, and creates and deletes their groups."""

from datetime import UTC, datetime
from functools import partial
from typing import Final, Literal

import msgspec
from fastapi import Response

from penstock.access.authorization import check_anywhere
from penstock.aws.schedule_arn import DEFAULT_GROUP
from penstock.documents.times import parse_timestamp
from penstock.errors import AwsError
from penstock.management.rights import SIGNED_IN, build_schedule_arn, right_of
from penstock.management.schedules import aws_schedules, listing
from penstock.management.schedules import operations as management
from penstock.management.schedules.calendar import read_calendar
from penstock.management.schedules.listing import WantedSchedules
from penstock.management.schedules.types import SchedulePatch
from penstock_web.console.forms import FieldProblem
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import MAX_TROUBLED, PAGE, cut_page, put_first
from penstock_web.console.rendering import segment
from penstock_web.console.responses import ACCEPTED, Refusal, redirect, show_page
from penstock_web.console.screen import act, screen
from penstock_web.routing.errors import status_and_code

STATES: Final = ("", "active", "paused")
SORTS: Final = ("", "name")
VIEWS: Final = ("list", "calendar", "groups")
MAX_RUNS: Final = 50


@screen("/console/schedules", right=right_of(listing.list_schedules), title="Schedules", position=40)
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
    wanted = WantedSchedules(
        page.query.read_choice("status", STATES),
        page.query.get("q", "").strip()[:64],
        page.query.get("group", "").strip()[:64],
        page.query.get("after", "")[:129],
        page.query.read_choice("sort", SORTS),
    )
    found = await page.read(
        ("schedules", caller, wanted), lambda: listing.list_schedules(wanted, PAGE + 1, page.context)
    )
    shown, more = cut_page(found)
    following = shown[-1].key if more else ""
    if not wanted.after and not wanted.sort:
        troubled = await page.read(
            ("troubled", caller, wanted), lambda: listing.list_troubled(wanted, MAX_TROUBLED, page.context)
        )
        shown = put_first(troubled, shown, lambda listed: listed.key)
    state = {"q": wanted.prefix, "status": wanted.status, "group": wanted.group, "sort": wanted.sort}
    return show_page(
        page, "schedules.html", schedules=shown, following=following, wanted=wanted, state=state,
        view="list", views=VIEWS, states=STATES, moment=parse_timestamp, done=page.query.get("done", ""),
        may_create=page.may_ever("scheduler:CreateSchedule"),
    )  # fmt: skip


async def show_groups(page: Page) -> Response:
    """Shows a page of the groups."""
    found = await page.run(aws_schedules.list_groups(page.query.get("after") or None, page.context))
    listed = [
        (group, group.name != DEFAULT_GROUP and page.may("scheduler:DeleteScheduleGroup", group.arn or ""))
        for group in found.schedule_groups
    ]
    return show_page(
        page, "schedule_groups.html", title="Schedule groups", groups=listed, following=found.next_token,
        view="groups", views=VIEWS, may_delete=any(deletable for _, deletable in listed),
        moment=partial(datetime.fromtimestamp, tz=UTC), may_create=page.may_ever("scheduler:CreateScheduleGroup"),
        done=page.query.get("done", ""),
    )  # fmt: skip


@screen(
    "/console/schedules/{schedule}",
    right=right_of(management.describe_schedule, management.list_runs, listing.read_times),
)
async def schedule(schedule: str, page: CurrentPage) -> Response:
    """Shows a schedule and its last runs."""
    shown = await page.run(management.describe_schedule(schedule, page.context))
    runs = await page.run(management.list_runs(schedule, None, MAX_RUNS, page.context))
    times = await page.run(listing.read_times(schedule, page.context))
    missing = await page.run(management.find_missing_queue(shown.target, page.context))
    target, arn = msgspec.json.encode(shown.target), build_schedule_arn(schedule, page.context)
    return show_page(
        page, "schedule.html", title=schedule, schedule=shown, runs=runs.runs, times=times,
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
@screen("/console/schedule-groups-new", right=SIGNED_IN, title="New group")
async def new_group(page: CurrentPage) -> Response:
    """Shows the form of a new schedule group to a user who can create any group."""
    check_anywhere("scheduler", "CreateScheduleGroup", page.context)
    return show_new_group(page, ACCEPTED)


def show_new_group(page: Page, refusal: Refusal) -> Response:
    """Shows the form of a new schedule group with what the user has typed."""
    return show_page(
        page, "group_form.html", refusal.status, title="New group", form=page.form, problems=refusal.problems
    )


@act("/console/schedule-groups", right=right_of(aws_schedules.create_group))
async def create_group(page: CurrentPage) -> Response:
    """Creates a schedule group."""
    name = page.form.get("name").strip()
    try:
        await page.act(aws_schedules.create_group(name, page.context))
    except AwsError as error:
        return show_new_group(page, Refusal(status_and_code(type(error))[0], {"name": FieldProblem(error.message)}))
    return redirect("/console/schedules?view=groups&done=grouped")


@act("/console/schedule-groups/{group}/delete", right=right_of(aws_schedules.delete_group))
async def delete_group(group: str, page: CurrentPage) -> Response:
    """Deletes a schedule group with its schedules. The user must type the group's name."""
    page.check_typed(group, "changed the group")
    await page.act(aws_schedules.delete_group(group, page.context))
    return redirect("/console/schedules?view=groups&done=ungrouped")
