"""/v1/schedules and /v1/previews: messages at set times."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from penstock.audit import Act
from penstock_web.rest.openapi import json_answers, request_body_schema
from penstock_web.rest.rest_route import RestRoute, Runner, json_response

from . import operations as scheduling
from .documents import (
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

router = APIRouter(tags=["schedules"], route_class=RestRoute)

# Only for the OpenAPI document: the operation checks it. Other routes know the names that EventBridge Scheduler allows.
NewName = Annotated[str, Path(json_schema_extra={"pattern": f"^{NAME}$"})]

_NEW = request_body_schema(Annotated[NewSchedule, NAMED])
_REPLACEMENT = request_body_schema(Annotated[NewSchedule, ONE_EXPRESSION])
_NEWS = request_body_schema(NewSchedules)
_PATCH = request_body_schema(SchedulePatch)
_PREVIEW = request_body_schema(Annotated[PreviewRequest, ONE_EXPRESSION])


@router.post(
    "/schedules",
    status_code=201,
    openapi_extra=_NEW,
    response_class=Response,
    responses=json_answers(ShownSchedule, statuses=(201,)),
)
async def create_schedule(runner: Runner) -> Response:
    """Make a schedule. A name that is taken is 409 `schedule_conflict`."""
    made = await runner.run(scheduling.create(await runner.read(read_schedule), runner.context))
    return located(made, 201)


@router.get("/schedules", response_class=Response, responses=json_answers(SchedulePage))
async def list_schedules(
    runner: Runner,
    status: Literal["active", "paused"] | None = None,
    target_kind: Literal["queue", "topic", "function"] | None = None,
    name_prefix: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """Schedules in the order of their names, at most QUEUE_SCHEDULE_LIST_MAX."""
    return json_response(
        await runner.run(scheduling.list_schedules(status, target_kind, name_prefix, runner.context))
    )


@router.put("/schedules", openapi_extra=_NEWS, response_class=Response, responses=json_answers(Synced))
async def sync_schedules(runner: Runner, prune: bool = False) -> Response:
    """Make or replace up to 1,000 schedules: all, or none. `prune`: delete others that this API made."""
    news = await runner.read(read_schedules)
    return json_response(await runner.run(scheduling.sync(news, prune, runner.context)))


@router.get("/schedules/{name}", response_class=Response, responses=json_answers(ShownSchedule))
async def describe_schedule(name: str, runner: Runner) -> Response:
    """A schedule, its meaning in words, and its next times."""
    return json_response(await runner.run(scheduling.describe(name, runner.context)))


@router.put(
    "/schedules/{name}",
    openapi_extra=_REPLACEMENT,
    response_class=Response,
    responses=json_answers(ShownSchedule, statuses=(200, 201)),
)
async def replace_schedule(name: NewName, runner: Runner) -> Response:
    """Make a schedule (201) or replace it (200). Its next time stays unless its expression changes."""
    new = await runner.read(read_schedule)
    schedule, created = await runner.run(scheduling.replace(name, new, runner.context))
    return located(schedule, 201) if created else json_response(schedule)


@router.patch(
    "/schedules/{name}",
    openapi_extra=_PATCH,
    response_class=Response,
    responses=json_answers(ShownSchedule),
)
async def change_schedule(name: str, runner: Runner) -> Response:
    """Change the given members. `{"status": "paused"}` pauses, `{"status": "active"}` resumes."""
    changes = await runner.read(read_patch)
    return json_response(await runner.run(scheduling.patch(name, changes, runner.context)))


@router.delete("/schedules/{name}", status_code=204)
async def delete_schedule(name: str, runner: Runner) -> None:
    """Delete a schedule. It is no error if there is none of this name."""
    act = Act("scheduler:DeleteSchedule", name)
    await runner.act(act, scheduling.delete(name, runner.context), lambda _: 1)


@router.post(
    "/schedules/{name}/runs",
    status_code=202,
    response_class=Response,
    responses=json_answers(ShownRun, statuses=(202,)),
)
async def run_schedule(name: str, runner: Runner) -> Response:
    """Fire a schedule now, also a paused one. Its next time stays as it is."""
    act = Act("penstock:RunSchedule", name)
    return json_response(await runner.act(act, scheduling.run(name, runner.context), lambda _: 1), 202)


@router.get("/schedules/{name}/runs", response_class=Response, responses=json_answers(RunPage))
async def list_runs(
    name: str,
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> Response:
    """Outcomes of a schedule's occurrences, the newest first. `before`: the `next` of the previous page."""
    return json_response(await runner.run(scheduling.runs(name, before, limit, runner.context)))


@router.post("/previews", openapi_extra=_PREVIEW, response_class=Response, responses=json_answers(Preview))
async def preview(runner: Runner) -> Response:
    """The meaning of an expression in words, and its next times. Nothing is stored."""
    wanted = await runner.read(read_preview)
    return json_response(await runner.run(scheduling.preview(wanted, runner.context)))


def located(schedule: ShownSchedule, status: int) -> Response:
    """A response with the schedule, and its path in the header Location."""
    response = json_response(schedule, status)
    response.headers["location"] = f"/v1/schedules/{schedule.name}"
    return response
