"""/v1/schedules and /v1/previews: messages at set times."""

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request, Response

from penstock_web.native.calling import Call, NativeRoute, body_of_type, json_response, schema_of

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
    read_many,
    read_new,
    read_patch,
    read_preview,
)

router = APIRouter(tags=["schedules"], route_class=NativeRoute)


def _answers(kind: type[msgspec.Struct], *statuses: int) -> dict[int | str, dict[str, Any]]:
    schema = schema_of(kind)
    return {status: {"content": {"application/json": {"schema": schema}}} for status in statuses}


_NEW = body_of_type(NewSchedule)
_NEWS = body_of_type(NewSchedules)
_PATCH = body_of_type(SchedulePatch)
_PREVIEW = body_of_type(PreviewRequest)


@router.post(
    "/schedules",
    status_code=201,
    openapi_extra=_NEW,
    response_class=Response,
    responses=_answers(ShownSchedule, 201),
)
async def create_schedule(request: Request, call: Call) -> Response:
    """Make a schedule. A name that is taken is 409 `schedule_conflict`."""
    made = await call.run(scheduling.create(read_new(await request.body()), call.context))
    return located(made, 201)


@router.get("/schedules", response_class=Response, responses=_answers(SchedulePage, 200))
async def list_schedules(
    call: Call,
    status: Literal["active", "paused"] | None = None,
    target_kind: Literal["queue", "topic"] | None = None,
    name_prefix: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """Schedules in the order of their names, at most QUEUE_SCHEDULE_LIST_MAX of them."""
    return json_response(await call.run(scheduling.page(status, target_kind, name_prefix, call.context)))


@router.put("/schedules", openapi_extra=_NEWS, response_class=Response, responses=_answers(Synced, 200))
async def sync_schedules(request: Request, call: Call, prune: bool = False) -> Response:
    """Make or replace up to 1,000 schedules: all of them, or none. `prune`: delete the others that were made here."""
    news = read_many(await request.body())
    return json_response(await call.run(scheduling.sync(news, prune, call.context)))


@router.get("/schedules/{name}", response_class=Response, responses=_answers(ShownSchedule, 200))
async def describe_schedule(name: str, call: Call) -> Response:
    """A schedule, what it means, and when it fires next."""
    return json_response(await call.run(scheduling.describe(name, call.context)))


@router.put(
    "/schedules/{name}",
    openapi_extra=_NEW,
    response_class=Response,
    responses=_answers(ShownSchedule, 200, 201),
)
async def replace_schedule(name: str, request: Request, call: Call) -> Response:
    """Make a schedule (201) or replace it (200). Its next time stays unless its expression changes."""
    new = read_new(await request.body())
    schedule, created = await call.run(scheduling.replace(name, new, call.context))
    return located(schedule, 201) if created else json_response(schedule)


@router.patch(
    "/schedules/{name}",
    openapi_extra=_PATCH,
    response_class=Response,
    responses=_answers(ShownSchedule, 200),
)
async def change_schedule(name: str, request: Request, call: Call) -> Response:
    """Change what is given. `{"status": "paused"}` pauses, `{"status": "active"}` resumes."""
    changes = read_patch(await request.body())
    return json_response(await call.run(scheduling.patch(name, changes, call.context)))


@router.delete("/schedules/{name}", status_code=204)
async def delete_schedule(name: str, call: Call) -> None:
    """Delete a schedule. One that is not there is no error."""
    await call.run(scheduling.delete(name, call.context))


@router.post(
    "/schedules/{name}/runs",
    status_code=202,
    response_class=Response,
    responses=_answers(ShownRun, 202),
)
async def run_schedule(name: str, call: Call) -> Response:
    """Fire a schedule now, also a paused one. Its next time stays as it is."""
    return json_response(await call.run(scheduling.run(name, call.context)), 202)


@router.get("/schedules/{name}/runs", response_class=Response, responses=_answers(RunPage, 200))
async def list_runs(
    name: str,
    call: Call,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> Response:
    """What became of its times, the newest first. `before`: the `next` of the previous page."""
    return json_response(await call.run(scheduling.runs(name, before, limit, call.context)))


@router.post("/previews", openapi_extra=_PREVIEW, response_class=Response, responses=_answers(Preview, 200))
async def preview(request: Request, call: Call) -> Response:
    """What an expression means, and when it would fire. Nothing is stored."""
    wanted = read_preview(await request.body())
    return json_response(await call.run(scheduling.preview(wanted, call.context)))


def located(schedule: ShownSchedule, status: int) -> Response:
    """A schedule that was made, and where it is."""
    response = json_response(schedule, status)
    response.headers["location"] = f"/v1/schedules/{schedule.name}"
    return response
