"""/v1/queues/{name}/messages and /archive: send, receive, delete, hide, look."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response

from penstock import errors

from . import operations
from .calling import Call, NativeRoute, body_of_type, json_response, schema_of
from .documents import NewMessage, StoredMessage, read_messages
from .shapes import Deleted, Deletion, Hidden, MessageId, Seconds12h, State, Visibility

router = APIRouter(prefix="/queues/{name}", tags=["messages"], route_class=NativeRoute)

_SEND_BODY = body_of_type(NewMessage | Annotated[list[NewMessage], msgspec.Meta(min_length=1)])
_READ: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": schema_of(list[StoredMessage])}}}
}

Limit = Annotated[int, Query(ge=1, le=1_000)]
After = Annotated[int | None, Query(ge=0, lt=2**63)]


@router.post("/messages", status_code=201, openapi_extra=_SEND_BODY, response_class=Response)
async def send(name: str, request: Request, call: Call, async_commit: bool = False) -> Response:
    """Send one message, or a list of them: all are stored, or none. `async_commit`: do not wait for the disk."""
    messages, is_list = read_messages(await request.body())
    ids = await call.run(operations.send(name, messages, async_commit, call.context))
    return json_response({"ids": ids} if is_list else {"id": ids[0]}, 201)


@router.get("/messages", response_class=Response, responses=_READ)
async def receive(
    name: str,
    call: Call,
    max: Limit = 1,  # noqa: A002
    vt: Seconds12h | None = None,
    wait: Annotated[int, Query(ge=0, le=20)] = 0,
) -> Response:
    """Receive messages. `vt`: seconds until they are visible again (the queue's own when it is not given)."""
    return json_response(await call.run(operations.receive(name, max, vt, wait, call.context)))


@router.delete("/messages")
async def delete(name: str, deletion: Deletion, call: Call) -> Deleted:
    """Delete messages by `ids` or by `receipts`; those that existed are in the answer."""
    if (deletion.ids is None) == (deletion.receipts is None):
        raise errors.InvalidParameterValue("body: either ids or receipts")
    if deletion.ids is not None:
        return Deleted(deleted=await call.run(operations.delete_ids(name, deletion.ids, call.context)))
    receipts = deletion.receipts or []
    return Deleted(deleted=await call.run(operations.delete_receipts(name, receipts, call.context)))


@router.get("/messages/peek", response_class=Response, responses=_READ)
async def peek(
    name: str, call: Call, state: State = "visible", limit: Limit = 10, after: After = None
) -> Response:
    """Look at messages without receiving them. `after`: the id that the previous page ended with."""
    return json_response(await call.run(operations.peek(name, state, after, limit, call.context)))


@router.delete("/messages/{id}", status_code=204)
async def delete_one(name: str, id: MessageId, call: Call) -> None:  # noqa: A002
    """Delete one message."""
    await call.run(operations.delete_one(name, id, call.context))


@router.patch("/messages/{id}")
async def change_visibility(name: str, id: MessageId, visibility: Visibility, call: Call) -> Hidden:  # noqa: A002
    """Hide a message for `vt` seconds from now; 0 makes it visible."""
    return Hidden(**await call.run(operations.change_visibility(name, id, visibility.vt, call.context)))


@router.get("/archive", response_class=Response, responses=_READ)
async def read_archive(name: str, call: Call, limit: Limit = 100, after: After = None) -> Response:
    """Deleted messages of a queue with the attribute `archive`. `after`: the last `archive_id` of the page before."""
    return json_response(await call.run(operations.read_archive(name, after, limit, call.context)))
