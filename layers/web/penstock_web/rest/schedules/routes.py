"""Serves /v1/schedules and /v1/previews: messages at set times."""

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

# This pattern is only for the OpenAPI document, because the operation checks the name. Other routes accept the names
# that EventBridge Scheduler allows.
NewName = Annotated[str, Path(json_schema_extra={"pattern": f"^{NAME}$"})]


@routes.post(
    "/schedules",
    right=right_of(schedules.create_schedule),
    status=201,
    body=Annotated[NewSchedule, NAMED],
    answer=ShownSchedule,
    raises=(ScheduleUnusable, ScheduleConflict, errors.OverLimit),
)
async def create_schedule(runner: Runner) -> Response:
    """Create a schedule. A name that is taken gets 409 `schedule_conflict`."""
    made = await runner.run(schedules.create_schedule(await runner.read(read_schedule), runner.context))
    return json_response(made, 201, f"/v1/schedules/{made.name}")


@routes.get("/schedules", right=right_of(schedules.list_schedules), answer=SchedulePage)
async def list_schedules(
    runner: Runner,
    status: Literal["active", "paused"] | None = None,
    target_kind: Literal["queue", "topic", "function"] | None = None,
    name_prefix: Annotated[str | None, Query(max_length=64)] = None,
) -> SchedulePage:
    """List schedules in the order of their names, at most QUEUE_SCHEDULE_LIST_MAX."""
    return await runner.run(schedules.list_schedules(status, target_kind, name_prefix, runner.context))


@routes.put(
    "/schedules",
    right=right_of(schedules.sync_schedules),
    body=NewSchedules,
    answer=Synced,
    raises=(ScheduleUnusable, errors.OverLimit),
)
async def sync_schedules(runner: Runner, prune: bool = False) -> Synced:
    """Create or replace up to 1,000 schedules, either all or none. With `prune`, delete other schedules that this API
    created."""
    news = await runner.read(read_schedules)
    return await runner.run(schedules.sync_schedules(news, prune, runner.context))


@routes.get(
    "/schedules/{name}", right=right_of(schedules.describe_schedule), answer=ShownSchedule, raises=(ScheduleNotFound,)
)
async def describe_schedule(name: str, runner: Runner) -> ShownSchedule:
    """Describe a schedule, its meaning in words, and its next times."""
    return await runner.run(schedules.describe_schedule(name, runner.context))


@routes.put(
    "/schedules/{name}",
    right=right_of(schedules.replace_schedule),
    body=Annotated[NewSchedule, ONE_EXPRESSION],
    answer=ShownSchedule,
    statuses=(201, *CHANGED),
    raises=(ScheduleUnusable, errors.OverLimit),
)
async def replace_schedule(name: NewName, runner: Runner) -> Response:
    """Create a schedule (201) or replace it (200). The schedule's next time stays unchanged unless its expression
    changes.
    """
    new = await runner.read(read_schedule)
    schedule, created = await runner.run(schedules.replace_schedule(name, new, runner.context))
    return json_response(schedule, 201 if created else 200, f"/v1/schedules/{name}" if created else None)


@routes.patch(
    "/schedules/{name}",
    right=right_of(schedules.change_schedule),
    body=SchedulePatch,
    answer=ShownSchedule,
    statuses=CHANGED,
    raises=(ScheduleUnusable, ScheduleNotFound, ScheduleConflict),
)
async def change_schedule(name: str, runner: Runner) -> ShownSchedule | None:
    """Change the given members. `{"status": "paused"}` pauses the schedule, and `{"status": "active"}` resumes it."""
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
    answer=ShownRun,
    raises=(ScheduleNotFound, ScheduleConflict),
)
async def run_schedule(name: str, runner: Runner) -> ShownRun:
    """Fire a schedule now, even if it is paused. The next time of the schedule stays unchanged."""
    return await runner.run(schedules.run_schedule(name, runner.context))


@routes.get("/schedules/{name}/runs", right=right_of(schedules.list_runs), answer=RunPage, raises=(ScheduleNotFound,))
async def list_runs(
    name: str,
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> RunPage:
    """List the outcomes of a schedule's occurrences, the newest first. `before` is the `next` of the previous page."""
    return await runner.run(schedules.list_runs(name, before, limit, runner.context))


@routes.post(
    "/previews",
    right=right_of(schedules.preview_expression),
    body=Annotated[PreviewRequest, ONE_EXPRESSION],
    answer=Preview,
    raises=(ScheduleUnusable,),
)
async def preview(runner: Runner) -> Preview:
    """Explain an expression in words, with its next times. Nothing is stored."""
    wanted = await runner.read(read_preview)
    return await runner.run(schedules.preview_expression(wanted, runner.context))
