"""Creates and changes schedules with a form that shows the next ten times before the user saves the schedule."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple
from zoneinfo import available_timezones

from fastapi import Response

from penstock.access.authorization import check_anywhere
from penstock.documents.times import parse_timestamp
from penstock.effects import Operation
from penstock.errors import AwsError, InvalidParameterValue
from penstock.management.errors import ScheduleUnusable
from penstock.management.rights import SIGNED_IN, authorize, right_of
from penstock.management.schedules import aws_schedules
from penstock.management.schedules import operations as management
from penstock.management.schedules.types import EXPRESSION_FORMS, Preview
from penstock.scheduler.expressions.zones import find_zone, is_repeated
from penstock.scheduler.rows import StoredSchedule
from penstock_web.console.forms import FieldProblem
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.rendering import segment
from penstock_web.console.resources import find_missing, list_queue_names, list_targets
from penstock_web.console.responses import redirect, show_page
from penstock_web.console.schedules.form import (
    BUS_SERVICES,
    FIELDS,
    SERVICES,
    Problems,
    Values,
    build_key,
    build_members,
    build_patch,
    build_preview,
    locate,
    name_resource,
    name_target,
    new_values,
    read_period,
    read_values,
    show_values,
)
from penstock_web.console.screen import act, screen
from penstock_web.routing.errors import status_and_code

CHANGE: Final = right_of(management.read_stored_schedule, management.change_schedule)
"""The rights to read and to change a schedule."""
REST_TARGETS: Final = {"sqs": "Queue", "event": "Event"}
PERIOD: Final = frozenset(("timezone", "start", "end"))
OTHER: Final = frozenset(FIELDS) - PERIOD - {"name", "kind", "expression", "target", "input"}
"""The folded fields of a new schedule: those of its times, and the others."""
STALE: Final = "Another user has changed the schedule in the meantime. Your changes were not made."


class Fire(NamedTuple):
    """A time of the preview. `is_repeated` means that the local time occurs twice."""

    at: datetime
    local: datetime
    is_repeated: bool


class Mistake(NamedTuple):
    """The place of a mistake in an expression, between the texts before and after it, and what the user can write."""

    before: str
    after: str
    suggestion: str
    examples: list[str]


class Previewed(NamedTuple):
    """The next times of the form's expression, or the problems of its fields. `preview` is None if there is nothing to
    show."""

    preview: Preview | None
    fires: list[Fire]
    problems: Problems
    mistake: Mistake | None = None


async def read_previewed(page: Page, values: Values, row: StoredSchedule | None = None) -> Previewed:
    """Returns the next ten times of the form's expression."""
    problems: Problems = {}
    period = read_period(values, row, problems)
    if problems or not values["expression"] or not page.may("penstock:PreviewSchedule"):
        return Previewed(None, [], problems)
    try:
        found = await page.run(management.preview_expression(build_preview(values, period), page.context))
    except ScheduleUnusable as error:
        return Previewed(None, [], locate(error, values, page.context), find_mistake(values["expression"], error))
    return Previewed(found, list_fires(found), {})


def list_fires(found: Preview) -> list[Fire]:
    """Returns the preview's times in the schedule's zone. A rate fires at both of two equal local times."""
    zone = find_zone(found.timezone)
    fires = [parse_timestamp(text) for text in found.next_fires]
    locals_ = [(at, at.astimezone(zone)) for at in fires if at is not None]
    is_rate = isinstance(found.rate, str)
    return [Fire(at, local, not is_rate and is_repeated(local.replace(tzinfo=None), zone)) for at, local in locals_]


def find_mistake(text: str, error: ScheduleUnusable) -> Mistake | None:
    """Returns the place of the mistake that an error describes, or None if the error has no position."""
    position = error.details.get("position")
    if not isinstance(position, int):
        return None
    suggestion, examples = error.details.get("suggestion") or "", list(error.details.get("examples") or ())
    return Mistake(text[:position], text[position:], suggestion, examples)


# --- pages -----------------------------------------------------------------------------------------------------------
@screen("/console/schedules-new", right=SIGNED_IN, title="New schedule")
async def new_schedule(page: CurrentPage) -> Response:
    """Shows an empty form to a user who can create any schedule. The URL can name the group and the target queue."""
    check_anywhere("scheduler", "CreateSchedule", page.context)
    given = {name: page.query.get(name, "")[:80] for name in ("group", "target")}
    return await show_form(page, {**new_values(), **{name: text for name, text in given.items() if text}})


@screen("/console/schedules/{schedule}/change", right=CHANGE)
async def change_schedule_form(schedule: str, page: CurrentPage) -> Response:
    """Shows the form with the schedule's values."""
    row = await page.run(management.read_stored_schedule(schedule, page.context))
    return await show_form(page, show_values(row), row=row, key=schedule)


@act("/console/schedules-preview", right=right_of(management.preview_expression))
async def preview_schedule(page: CurrentPage) -> Response:
    """Shows the next ten times of a form. A browser with scripts receives only the times. Other browsers receive the
    form with the fields that the user has typed.
    """
    values = read_values(page.form)
    if page.request.headers.get("hx-request-type") == "partial":
        return show_page(page, "schedule_preview.html", previewed=await read_previewed(page, values))
    key = page.form.get("key")
    row = await page.run(management.read_stored_schedule(key, page.context)) if key else None
    return await show_form(page, values, row=row, key=key, version=page.form.get("version"))


@act("/console/schedules", right=right_of(aws_schedules.create_schedule))
async def create_schedule(page: CurrentPage) -> Response:
    """Creates a schedule of EventBridge Scheduler."""
    values, problems = read_values(page.form), Problems()
    members = build_members(values, None, page.context, problems)
    await check_named(page, values, {}, problems)
    if problems:
        return await show_form(page, values, problems)
    try:
        await page.act(aws_schedules.create_schedule(values["name"], members, page.context))
    except AwsError as error:
        return await show_form(page, values, locate(error, values, page.context), error)
    return redirect(f"/console/schedules/{segment(build_key(values))}?done=scheduled")


@act("/console/schedules/{schedule}/change", right=CHANGE)
async def change_schedule(schedule: str, page: CurrentPage) -> Response:
    """Changes a schedule, unless another user has changed the schedule since the form was shown."""
    await page.run(authorize(CHANGE, (schedule,), page.context))
    row = await page.run(management.read_stored_schedule(schedule, page.context))
    values, problems = {**read_values(page.form), "name": row.name, "group": row.group_name}, Problems()
    version = page.form.get("version")
    try:
        if version != row.updated_at.isoformat():
            raise InvalidParameterValue(STALE)
        if row.api == "aws":
            members = build_members(values, row, page.context, problems)
            operation: Operation[object] = aws_schedules.update_schedule(schedule, members, page.context)
        else:
            patch = build_patch(values, row, problems)
            operation = management.change_schedule(schedule, patch, page.context)
        await check_named(page, values, show_values(row), problems)
        if problems:
            return await show_form(page, values, problems, row=row, key=schedule, version=version)
        await page.act(operation)
    except AwsError as error:
        found = locate(error, values, page.context)
        return await show_form(page, values, found, error, row=row, key=schedule, version=version)
    return redirect(f"/console/schedules/{segment(schedule)}?done=rescheduled")


async def check_named(page: Page, values: Values, before: Values, problems: Problems) -> None:
    """Adds a problem for each field that names a missing queue or topic. Values that the user has not changed pass, so
    that a schedule can change while its queue does not exist.
    """
    arns = {"target": name_target(values, page.context), "dead": name_resource("sqs", values["dead"], page.context)}
    if values["service"] not in SERVICES:  # a routing key
        del arns["target"]
    if ":sqs:" not in arns["dead"]:  # the operation refuses it
        del arns["dead"]
    for field, arn in arns.items():
        if arn and values[field] != before.get(field) and (missing := await page.run(find_missing(arn, page.context))):
            problems.setdefault(field, FieldProblem(missing))


async def show_form(
    page: Page,
    values: Values,
    problems: Problems | None = None,
    error: AwsError | None = None,
    *,
    row: StoredSchedule | None = None,
    key: str = "",
    version: str = "",
) -> Response:
    """Shows the form with its problems, and the next ten times. `row` is the schedule to change, or None for a new
    schedule.
    """
    previewed = await read_previewed(page, values, row)
    found = {**(problems or {}), **previewed.problems}
    status = 200 if not problems and not previewed.problems else 400
    return show_page(
        page, "schedule_form.html", status if error is None else status_and_code(type(error))[0],
        title=f"Change {key}" if key else "New schedule", values=values, problems=found, previewed=previewed, key=key,
        is_aws=row is None or row.api == "aws", version=version or (row.updated_at.isoformat() if row else ""),
        kinds={kind: kind for kind in EXPRESSION_FORMS}, services=choose_services(values, row),
        is_timed=bool(key) or is_unusual(values, PERIOD) or bool(found.keys() & PERIOD),
        shows_more=bool(key) or is_unusual(values, OTHER) or bool(found.keys() & OTHER), zones=list_zones(),
        may_preview=page.may("penstock:PreviewSchedule"),
        queues=await page.run(list_queue_names(page.context)), targets=await page.run(list_targets(page.context)),
    )  # fmt: skip


def is_unusual(values: Values, fields: AbstractSet[str]) -> bool:
    """Returns whether one of the fields of a new schedule differs from its default."""
    defaults = {**new_values(), "completion": "NONE"}
    required = ("group", "service", "completion", "timezone")
    given = {**values, **{field: values[field] or defaults[field] for field in required}}
    return any(given[field] != defaults[field] for field in fields)


def choose_services(values: Values, row: StoredSchedule | None) -> Mapping[str, str]:
    if row is not None and row.api != "aws":
        return REST_TARGETS
    return BUS_SERVICES if values["service"] == "events" else SERVICES


@cache
def list_zones() -> list[str]:
    """Returns the names of time zones that the form offers."""
    return sorted(name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "SystemV/")))
