"""/v1/schedules and /v1/previews: messages at set times."""

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request, Response

from penstock_web.native.native_route import (
    NativeRoute,
    Runner,
    json_response,
    request_body_schema,
    schema_of,
)

from . import operations as scheduling
from .documents import (
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

router = APIRouter(tags=["schedules"], route_class=NativeRoute)


def _answers(kind: type[msgspec.Struct], *statuses: int) -> dict[int | str, dict[str, Any]]:
    schema = schema_of(kind)
    return {status: {"content": {"application/json": {"schema": schema}}} for status in statuses}


_NEW = request_body_schema(NewSchedule)
_NEWS = request_body_schema(NewSchedules)
_PATCH = request_body_schema(SchedulePatch)
_PREVIEW = request_body_schema(PreviewRequest)


@router.post(
    "/schedules",
    status_code=201,
    openapi_extra=_NEW,
    response_class=Response,
    responses=_answers(ShownSchedule, 201),
)
async def create_schedule(request: Request, runner: Runner) -> Response:
    """Make a schedule. A name that is taken is 409 `schedule_conflict`."""
    made = await runner.run(scheduling.create(read_schedule(await request.body()), runner.context))
    return located(made, 201)


@router.get("/schedules", response_class=Response, responses=_answers(SchedulePage, 200))
async def list_schedules(
    runner: Runner,
    status: Literal["active", "paused"] | None = None,
    target_kind: Literal["queue", "topic"] | None = None,
    name_prefix: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """Schedules in the order of their names, at most QUEUE_SCHEDULE_LIST_MAX."""
    return json_response(
        await runner.run(scheduling.list_schedules(status, target_kind, name_prefix, runner.context))
    )


@router.put("/schedules", openapi_extra=_NEWS, response_class=Response, responses=_answers(Synced, 200))
async def sync_schedules(request: Request, runner: Runner, prune: bool = False) -> Response:
    """Make or replace up to 1,000 schedules: all, or none. `prune`: delete others that this API made."""
    news = read_schedules(await request.body())
    return json_response(await runner.run(scheduling.sync(news, prune, runner.context)))


@router.get("/schedules/{name}", response_class=Response, responses=_answers(ShownSchedule, 200))
async def describe_schedule(name: str, runner: Runner) -> Response:
    """A schedule, its meaning in words, and its next times."""
    return json_response(await runner.run(scheduling.describe(name, runner.context)))


@router.put(
    "/schedules/{name}",
    openapi_extra=_NEW,
    response_class=Response,
    responses=_answers(ShownSchedule, 200, 201),
)
async def replace_schedule(name: str, request: Request, runner: Runner) -> Response:
    """Make a schedule (201) or replace it (200). Its next time stays unless its expression changes."""
    new = read_schedule(await request.body())
    schedule, created = await runner.run(scheduling.replace(name, new, runner.context))
    return located(schedule, 201) if created else json_response(schedule)


@router.patch(
    "/schedules/{name}",
    openapi_extra=_PATCH,
    response_class=Response,
    responses=_answers(ShownSchedule, 200),
)
async def change_schedule(name: str, request: Request, runner: Runner) -> Response:
    """Change the given members. `{"status": "paused"}` pauses, `{"status": "active"}` resumes."""
    changes = read_patch(await request.body())
    return json_response(await runner.run(scheduling.patch(name, changes, runner.context)))


@router.delete("/schedules/{name}", status_code=204)
async def delete_schedule(name: str, runner: Runner) -> None:
    """Delete a schedule. It is no error if there is none of this name."""
    await runner.run(scheduling.delete(name, runner.context))


@router.post(
    "/schedules/{name}/runs",
    status_code=202,
    response_class=Response,
    responses=_answers(ShownRun, 202),
)
async def run_schedule(name: str, runner: Runner) -> Response:
    """Fire a schedule now, also a paused one. Its next time stays as it is."""
    return json_response(await runner.run(scheduling.run(name, runner.context)), 202)


@router.get("/schedules/{name}/runs", response_class=Response, responses=_answers(RunPage, 200))
async def list_runs(
    name: str,
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> Response:
    """Outcomes of a schedule's occurrences, the newest first. `before`: the `next` of the previous page."""
    return json_response(await runner.run(scheduling.runs(name, before, limit, runner.context)))


@router.post("/previews", openapi_extra=_PREVIEW, response_class=Response, responses=_answers(Preview, 200))
async def preview(request: Request, runner: Runner) -> Response:
    """The meaning of an expression in words, and its next times. Nothing is stored."""
    wanted = read_preview(await request.body())
    return json_response(await runner.run(scheduling.preview(wanted, runner.context)))


def located(schedule: ShownSchedule, status: int) -> Response:
    """A response with the schedule, and its path in the header Location."""
    response = json_response(schedule, status)
    response.headers["location"] = f"/v1/schedules/{schedule.name}"
    return response
