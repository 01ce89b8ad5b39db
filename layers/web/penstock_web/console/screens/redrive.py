"""Sends all dead letters of a queue back to where they came from, at a rate; shows how far it is, and stops it."""

from fastapi import APIRouter, Response

from penstock.audit import Act
from penstock.context import Context
from penstock.effects import Operation
from penstock.errors import InvalidParameterValue
from penstock.sqs.move_tasks import cancel_message_move_task, list_message_move_tasks, start_message_move_task
from penstock.sqs.types import (
    CancelMessageMoveTaskRequest,
    ListMessageMoveTasksRequest,
    ListMessageMoveTasksResultEntry,
    StartMessageMoveTaskRequest,
)
from penstock_web.console.console_route import ConsoleRoute, CurrentPage, redirect
from penstock_web.console.messages import moment_of
from penstock_web.native.operations import arn_of

router = APIRouter(route_class=ConsoleRoute, include_in_schema=False)

MOST_TASKS = 5
MOST_RATE = 500


@router.get("/console/queues/{name}/redrive")
async def redrive_page(name: str, page: CurrentPage) -> Response:
    """The form, and the last tasks with their progress."""
    arn = arn_of(name, page.context)
    tasks = await page.read(("tasks", name), lambda: list_tasks(arn, page.context))
    return page.show(
        "redrive.html", title=f"Redrive {name}", name=name, tasks=tasks, done=page.query.get("done", ""),
        moment_of=moment_of, is_running=any(task.status in ("RUNNING", "CANCELLING") for task in tasks),
        may_start=page.may("sqs:StartMessageMoveTask", arn), may_cancel=page.may("sqs:CancelMessageMoveTask", arn),
    )  # fmt: skip


def list_tasks(arn: str, context: Context) -> Operation[list[ListMessageMoveTasksResultEntry]]:
    """The last tasks of the queue, the newest first."""
    found = yield from list_message_move_tasks(ListMessageMoveTasksRequest(arn, MOST_TASKS), context)
    return found.results or []


@router.post("/console/queues/{name}/redrive")
async def redrive(name: str, page: CurrentPage) -> Response:
    """Starts a task for all messages of the queue."""
    text = page.field("rate").strip()
    if text and not (text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= MOST_RATE):
        raise InvalidParameterValue(f"Nothing was done: the rate is a number from 1 to {MOST_RATE}.")
    rate = int(text) if text else None
    request = StartMessageMoveTaskRequest(arn_of(name, page.context), max_number_of_messages_per_second=rate)
    operation = start_message_move_task(request, page.context)
    await page.act(Act("sqs:StartMessageMoveTask", name, {"rate": rate}), operation, lambda _: None)
    return redirect(f"/console/queues/{name}/redrive?done=redriving")


@router.post("/console/queues/{name}/redrive/cancel")
async def cancel_redrive(name: str, page: CurrentPage) -> Response:
    """Stops the task that runs: what was moved stays moved, all else stays in the queue."""
    tasks = await page.run(list_tasks(arn_of(name, page.context), page.context))
    handles = [task.task_handle for task in tasks if task.task_handle is not None]
    if not handles:
        raise InvalidParameterValue("Nothing was done: no redrive is under way.")
    operation = cancel_message_move_task(CancelMessageMoveTaskRequest(handles[0]), page.context)
    act = Act("sqs:CancelMessageMoveTask", name)
    await page.act(act, operation, lambda result: result.approximate_number_of_messages_moved)
    return redirect(f"/console/queues/{name}/redrive?done=cancelled")
