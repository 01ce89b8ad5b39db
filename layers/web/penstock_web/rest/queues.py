"""/v1/queues: make, list, describe, change, delete, purge."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from penstock.audit import Act
from penstock.sqs import queues
from penstock.sqs.types import DeleteQueueRequest

from . import operations
from .rest_route import RestRoute, Runner
from .shapes import NewQueue, Purged, QueueChange, QueueDescription, QueuePage, ReceiverDescription

router = APIRouter(prefix="/queues", tags=["queues"], route_class=RestRoute)


@router.post("", status_code=201)
async def create_queue(new: NewQueue, runner: Runner, response: Response) -> QueueDescription:
    """Make a queue. A name that is taken is 409 `queue_exists`."""
    name = await runner.run(operations.create_queue(new, runner.context))
    response.headers["location"] = f"/v1/queues/{name}"
    return await runner.run(operations.describe_queue(name, runner.context))


@router.get("", response_model_exclude_none=True)
async def list_queues(
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    next: str | None = None,  # noqa: A002
) -> QueuePage:
    """Queues in the order of their names, `limit` a page; `next` of one page asks for the following one."""
    return await runner.run(operations.list_queues(limit, next, runner.context))


@router.get("/{name}")
async def describe_queue(name: str, runner: Runner) -> QueueDescription:
    """A queue, its attributes and its counts."""
    return await runner.run(operations.describe_queue(name, runner.context))


@router.patch("/{name}")
async def change_queue(name: str, change: QueueChange, runner: Runner) -> QueueDescription:
    """Change attributes; those that are not named stay as they are."""
    operation = operations.change_queue(name, change.attributes, runner.context)
    act = Act("sqs:SetQueueAttributes", name, {"attributes": change.attributes})
    return await runner.act(act, operation, lambda _: len(change.attributes))


@router.delete("/{name}", status_code=204)
async def delete_queue(name: str, runner: Runner) -> None:
    """Delete a queue and its messages."""
    operation = queues.delete_queue(DeleteQueueRequest(name), runner.context)
    await runner.act(Act("sqs:DeleteQueue", name), operation, lambda _: 1)


@router.get("/{name}/receivers")
async def list_receivers(name: str, runner: Runner) -> list[ReceiverDescription]:
    """Who received from the queue in the last day, up to 100, the last one first; up to a minute old."""
    return await runner.run(operations.receivers(name, runner.context))


@router.post("/{name}/purge")
async def purge_queue(name: str, runner: Runner) -> Purged:
    """Delete every message of a queue."""
    operation = queues.purge(operations.arn_of(name, runner.context), runner.context)
    return Purged(deleted=await runner.act(Act("sqs:PurgeQueue", name), operation, int))


@router.post("/{name}/pause", status_code=204)
async def pause_queue(name: str, runner: Runner) -> None:
    """From now on receives get nothing; messages are accepted, and wait. What is in flight may be deleted."""
    operation = operations.set_paused(
        operations.arn_of(name, runner.context), paused=True, context=runner.context
    )
    await runner.act(Act("penstock:PauseQueue", name, {"status": "paused"}), operation, lambda _: 1)


@router.post("/{name}/resume", status_code=204)
async def resume_queue(name: str, runner: Runner) -> None:
    """Receives get messages again. It is no error if the queue is not paused."""
    operation = operations.set_paused(
        operations.arn_of(name, runner.context), paused=False, context=runner.context
    )
    await runner.act(Act("penstock:PauseQueue", name, {"status": "active"}), operation, lambda _: 1)
