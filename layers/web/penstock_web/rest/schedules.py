"""Serves /v1/schedules and /v1/previews."""

from typing import Annotated, Literal

from fastapi import Path, Query, Response

from penstock import errors
from penstock.management.errors import ScheduleConflict, ScheduleNotFound, ScheduleUnusable
from penstock.management.rights import right_of
from penstock.management.schedules import operations as schedules
from penstock.management.schedules.types import (
    NAME,
    NAMED,
    ONE_EXPRESSION,
    ONE_PREVIEWED,
    NewSchedule,
    NewSchedules,
    Preview,
    PreviewRequest,
    RunPage,
    SchedulePage,
    SchedulePatch,
    ShownRun,
    ShownSchedule,
    Synced,
    read_patch,
    read_preview,
    read_schedule,
    read_schedules,
)
from penstock_web.routing.routes import CHANGED, Routes, Runner, json_response

routes = Routes("schedules")

# Only the OpenAPI document uses this pattern. The operation checks the name. Other routes accept every name that
# EventBridge Scheduler allows.
NewName = Annotated[str, Path(json_schema_extra={"pattern": f"^{NAME}$"})]


@routes.post(
    "/schedules",
    right=right_of(schedules.create_schedule),
    status=201,
    body=Annotated[NewSchedule, NAMED],
    response=ShownSchedule,
    raises=(ScheduleUnusable, ScheduleConflict, errors.OverLimit),
)
async def create_schedule(runner: Runner) -> Response:
    """Create a schedule. If a schedule with this name exists, the response is 409 `schedule_conflict`."""
    made = await runner.run(schedules.create_schedule(await runner.read(read_schedule), runner.context))
    return json_response(made, 201, f"/v1/schedules/{made.name}")


@routes.get("/schedules", right=right_of(schedules.list_schedules), response=SchedulePage)
async def list_schedules(
    runner: Runner,
    status: Literal["active", "paused"] | None = None,
    target_kind: Literal["queue", "topic", "function", "bus"] | None = None,
    name_prefix: Annotated[str | None, Query(max_length=64)] = None,
) -> SchedulePage:
    """List schedules by name, at most QUEUE_SCHEDULE_LIST_MAX."""
    return await runner.run(schedules.list_schedules(status, target_kind, name_prefix, runner.context))


@routes.put(
    "/schedules",
    right=right_of(schedules.sync_schedules),
    body=NewSchedules,
    response=Synced,
    raises=(ScheduleUnusable, errors.OverLimit),
)
async def sync_schedules(runner: Runner, prune: bool = False) -> Synced:
    """Create or replace up to 1,000 schedules in one transaction. With `prune`, delete every other schedule that the
    REST API created."""
    news = await runner.read(read_schedules)
    return await runner.run(schedules.sync_schedules(news, prune, runner.context))


@routes.get(
    "/schedules/{name}", right=right_of(schedules.describe_schedule), response=ShownSchedule, raises=(ScheduleNotFound,)
)
async def describe_schedule(name: str, runner: Runner) -> ShownSchedule:
    """Describe a schedule. The response explains the expression in words and lists the next times."""
    return await runner.run(schedules.describe_schedule(name, runner.context))


@routes.put(
    "/schedules/{name}",
    right=right_of(schedules.replace_schedule),
    body=Annotated[NewSchedule, ONE_EXPRESSION],
    response=ShownSchedule,
    statuses=(201, *CHANGED),
    raises=(ScheduleUnusable, errors.OverLimit),
)
async def replace_schedule(name: NewName, runner: Runner) -> Response:
    """Create a schedule (201) or replace a schedule (200). The next time changes only if the expression changes."""
    new = await runner.read(read_schedule)
    schedule, created = await runner.run(schedules.replace_schedule(name, new, runner.context))
    return json_response(schedule, 201 if created else 200, f"/v1/schedules/{name}" if created else None)


@routes.patch(
    "/schedules/{name}",
    right=right_of(schedules.change_schedule),
    body=SchedulePatch,
    response=ShownSchedule,
    statuses=CHANGED,
    raises=(ScheduleUnusable, ScheduleNotFound, ScheduleConflict),
)
async def change_schedule(name: str, runner: Runner) -> ShownSchedule | None:
    """Change the given members. `{"status": "paused"}` pauses the schedule, and `{"status": "active"}` resumes the
    schedule."""
    changes = await runner.read(read_patch)
    return await runner.run(schedules.change_schedule(name, changes, runner.context))


@routes.delete("/schedules/{name}", right=right_of(schedules.delete_schedule), status=204)
async def delete_schedule(name: str, runner: Runner) -> None:
    """Delete a schedule. Deleting a missing schedule succeeds."""
    await runner.run(schedules.delete_schedule(name, runner.context))


@routes.post(
    "/schedules/{name}/runs",
    right=right_of(schedules.run_schedule),
    status=202,
    response=ShownRun,
    raises=(ScheduleNotFound, ScheduleConflict),
)
async def run_schedule(name: str, runner: Runner) -> ShownRun:
    """Fire a schedule now, even a paused schedule. The schedule's next time stays unchanged."""
    return await runner.run(schedules.run_schedule(name, runner.context))


@routes.get("/schedules/{name}/runs", right=right_of(schedules.list_runs), response=RunPage, raises=(ScheduleNotFound,))
async def list_runs(
    name: str,
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> RunPage:
    """List a schedule's runs from the newest to the oldest. `before` is the value of `next` from the previous page."""
    return await runner.run(schedules.list_runs(name, before, limit, runner.context))


@routes.post(
    "/previews",
    right=right_of(schedules.preview_expression),
    body=Annotated[PreviewRequest, ONE_PREVIEWED],
    response=Preview,
    raises=(ScheduleUnusable,),
)
async def preview(runner: Runner) -> Preview:
    """Explain an expression in words and list the next times. The request creates no schedule."""
    wanted = await runner.read(read_preview)
    return await runner.run(schedules.preview_expression(wanted, runner.context))
