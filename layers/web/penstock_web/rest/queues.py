"""Serves /v1/queues."""

from typing import Annotated, Final

import msgspec
from fastapi import Query, Response

from penstock import errors
from penstock.documents.decoding import build_reader
from penstock.management import queues
from penstock.management.queues import Attributes, NewQueue, QueueDescription, QueuePage, ReceiverDescription
from penstock.management.rights import right_of, show
from penstock_web.routing.routes import CHANGED, Routes, Runner, json_response


class QueueChange(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the attributes to change. Other attributes stay unchanged."""

    attributes: Attributes


class Purged(msgspec.Struct):
    """Holds the number of messages that a purge deleted."""

    deleted: int


routes = Routes("queues", prefix="/queues")

UNKNOWN: Final = (errors.QueueDoesNotExist,)

_read_queue = build_reader(NewQueue)
_read_change = build_reader(QueueChange)


@routes.post(
    "",
    right=right_of(queues.create_queue),
    status=201,
    body=NewQueue,
    response=QueueDescription,
    raises=(errors.QueueNameExists, errors.QueueDeletedRecently, errors.OverLimit),
)
async def create_queue(runner: Runner) -> Response:
    """Create a queue. If a queue with this name exists, the response is 409 `queue_exists`. A caller without
    `sqs:GetQueueAttributes` receives an empty body."""
    new = await runner.read(_read_queue)
    name = await runner.run(queues.create_queue(new, runner.context))
    made = await runner.run(show(queues.describe_queue(name, runner.context)))
    return json_response(made, 201, f"/v1/queues/{name}")


@routes.get("", right=right_of(queues.list_queues), response=QueuePage)
async def list_queues(
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    next: str | None = None,  # noqa: A002
) -> QueuePage:
    """List queues by name, `limit` on each page. `next` is the value of `next` from the previous page."""
    return await runner.run(queues.list_queues(limit, next, runner.context))


@routes.get("/{name}", right=right_of(queues.describe_queue), response=QueueDescription, raises=UNKNOWN)
async def describe_queue(name: str, runner: Runner) -> QueueDescription:
    """Describe a queue, its attributes and its counts."""
    return await runner.run(queues.describe_queue(name, runner.context))


@routes.patch(
    "/{name}",
    right=right_of(queues.change_queue),
    body=QueueChange,
    response=QueueDescription,
    statuses=CHANGED,
    raises=UNKNOWN,
)
async def change_queue(name: str, runner: Runner) -> QueueDescription | None:
    """Change the given attributes. Other attributes stay unchanged."""
    change = await runner.read(_read_change)
    operation = queues.change_queue(name, change.attributes, runner.context)
    return await runner.run(operation)


@routes.delete("/{name}", right=right_of(queues.delete_queue), status=204, raises=UNKNOWN)
async def delete_queue(name: str, runner: Runner) -> None:
    """Delete a queue and its messages."""
    operation = queues.delete_queue(name, runner.context)
    await runner.run(operation)


@routes.get(
    "/{name}/receivers", right=right_of(queues.list_receivers), response=list[ReceiverDescription], raises=UNKNOWN
)
async def list_receivers(name: str, runner: Runner) -> list[ReceiverDescription]:
    """List up to 100 consumers that received from the queue in the last day, starting with the latest consumer. The
    list can be a minute old."""
    return await runner.run(queues.list_receivers(name, runner.context))


@routes.post(
    "/{name}/purge", right=right_of(queues.purge_queue), response=Purged, raises=(*UNKNOWN, errors.PurgeQueueInProgress)
)
async def purge_queue(name: str, runner: Runner) -> Purged:
    """Delete every message in a queue."""
    operation = queues.purge_queue(name, runner.context)
    return Purged(await runner.run(operation))


@routes.post("/{name}/pause", right=right_of(queues.set_paused), status=204, raises=UNKNOWN)
async def pause_queue(name: str, runner: Runner) -> None:
    """Pause a queue. Receives return no messages, and new messages stay in the queue. Consumers can still delete
    messages in flight."""
    operation = queues.set_paused(name, paused=True, context=runner.context)
    await runner.run(operation)


@routes.post("/{name}/resume", right=right_of(queues.set_paused), status=204, raises=UNKNOWN)
async def resume_queue(name: str, runner: Runner) -> None:
    """Resume a queue, so that receives return messages again. Resuming a queue that is not paused succeeds."""
    operation = queues.set_paused(name, paused=False, context=runner.context)
    await runner.run(operation)
