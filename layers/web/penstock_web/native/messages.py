"""/v1/queues/{name}/messages and /archive: send, receive, delete, hide and peek."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response

from penstock import errors

from . import operations
from .documents import NewMessage, StoredMessage, read_messages
from .native_route import NativeRoute, Runner, json_response, request_body_schema, schema_of
from .shapes import Deleted, Deletion, Hidden, MessageId, Seconds12h, State, Visibility

router = APIRouter(prefix="/queues/{name}", tags=["messages"], route_class=NativeRoute)

_SEND_BODY = request_body_schema(NewMessage | Annotated[list[NewMessage], msgspec.Meta(min_length=1)])
_READ: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": schema_of(list[StoredMessage])}}}
}

Limit = Annotated[int, Query(ge=1, le=1_000)]
After = Annotated[int | None, Query(ge=0, lt=2**63)]


@router.post("/messages", status_code=201, openapi_extra=_SEND_BODY, response_class=Response)
async def send(name: str, request: Request, runner: Runner, async_commit: bool = False) -> Response:
    """Send one message, or a list of them: all are stored, or none. `async_commit`: do not wait for the disk."""
    messages, is_list = read_messages(await request.body())
    ids = await runner.run(operations.send(name, messages, async_commit, runner.context))
    return json_response({"ids": ids} if is_list else {"id": ids[0]}, 201)


@router.get("/messages", response_class=Response, responses=_READ)
async def receive(
    name: str,
    runner: Runner,
    max: Limit = 1,  # noqa: A002
    vt: Seconds12h | None = None,
    wait: Annotated[int, Query(ge=0, le=20)] = 0,
) -> Response:
    """Receive messages. `vt`: seconds until they are visible again (the queue's own when it is not given)."""
    return json_response(await runner.run(operations.receive(name, max, vt, wait, runner.context)))


@router.delete("/messages")
async def delete(name: str, deletion: Deletion, runner: Runner) -> Deleted:
    """Delete messages by `ids` or by `receipts`; those that existed are in the answer."""
    if (deletion.ids is None) == (deletion.receipts is None):
        raise errors.InvalidParameterValue("body: either ids or receipts")
    if deletion.ids is not None:
        return Deleted(deleted=await runner.run(operations.delete_ids(name, deletion.ids, runner.context)))
    receipts = deletion.receipts or []
    return Deleted(deleted=await runner.run(operations.delete_receipts(name, receipts, runner.context)))


@router.get("/messages/peek", response_class=Response, responses=_READ)
async def peek(
    name: str, runner: Runner, state: State = "visible", limit: Limit = 10, after: After = None
) -> Response:
    """Look at messages without receiving them. `after`: the id that the previous page ended with."""
    return json_response(await runner.run(operations.peek(name, state, after, limit, runner.context)))


@router.delete("/messages/{id}", status_code=204)
async def delete_one(name: str, id: MessageId, runner: Runner) -> None:  # noqa: A002
    """Delete one message."""
    await runner.run(operations.delete_one(name, id, runner.context))


@router.patch("/messages/{id}")
async def change_visibility(name: str, id: MessageId, visibility: Visibility, runner: Runner) -> Hidden:  # noqa: A002
    """Hide a message for `vt` seconds from now; 0 makes it visible."""
    return await runner.run(operations.change_visibility(name, id, visibility.vt, runner.context))


@router.get("/archive", response_class=Response, responses=_READ)
async def read_archive(name: str, runner: Runner, limit: Limit = 100, after: After = None) -> Response:
    """Deleted messages of a queue with the attribute `archive`. `after`: the last `archive_id` of the page before."""
    return json_response(await runner.run(operations.read_archive(name, after, limit, runner.context)))
