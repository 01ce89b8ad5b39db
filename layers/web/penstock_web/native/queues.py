"""/v1/queues: make, list, describe, change, delete, purge."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from penstock.sqs import queues
from penstock.sqs.types import DeleteQueueRequest

from . import operations
from .calling import Call, NativeRoute
from .shapes import NewQueue, Purged, QueueChange, QueueDescription, QueuePage

router = APIRouter(prefix="/queues", tags=["queues"], route_class=NativeRoute)


@router.post("", status_code=201)
async def create_queue(new: NewQueue, call: Call, response: Response) -> QueueDescription:
    """Make a queue. A name that is taken is 409 `queue_exists`."""
    name = await call.run(operations.create_queue(new, call.context))
    response.headers["location"] = f"/v1/queues/{name}"
    return await call.run(operations.describe_queue(name, call.context))


@router.get("", response_model_exclude_none=True)
async def list_queues(
    call: Call,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    next: str | None = None,  # noqa: A002
) -> QueuePage:
    """Queues in the order of their names, `limit` a page; `next` of one page asks for the following one."""
    return await call.run(operations.list_queues(limit, next, call.context))


@router.get("/{name}")
async def describe_queue(name: str, call: Call) -> QueueDescription:
    """A queue, its attributes and its counts."""
    return await call.run(operations.describe_queue(name, call.context))


@router.patch("/{name}")
async def change_queue(name: str, change: QueueChange, call: Call) -> QueueDescription:
    """Change attributes; those that are not named stay as they are."""
    return await call.run(operations.change_queue(name, change.attributes, call.context))


@router.delete("/{name}", status_code=204)
async def delete_queue(name: str, call: Call) -> None:
    """Delete a queue and its messages."""
    await call.run(queues.delete_queue(DeleteQueueRequest(name), call.context))


@router.post("/{name}/purge")
async def purge_queue(name: str, call: Call) -> Purged:
    """Delete every message of a queue."""
    deleted = await call.run(queues.purge(operations.arn_of(name, call.context), call.context))
    return Purged(deleted=deleted)
