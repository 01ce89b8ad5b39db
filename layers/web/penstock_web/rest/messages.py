"""/v1/queues/{name}/messages and /archive: send, receive, delete, hide and peek."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response

from penstock import errors

from . import operations
from .documents import (
    NewMessage,
    QueuedMessage,
    SentId,
    SentIds,
    StoredMessage,
    Transaction,
    is_for_later,
    read_messages,
)
from .openapi import json_answers, request_body_schema
from .rest_route import RestRoute, Runner, json_response
from .shapes import Deleted, Deletion, Hidden, MessageId, Seconds12h, State, Visibility
from .transactions import run_transaction

router = APIRouter(prefix="/queues/{name}", tags=["messages"], route_class=RestRoute)

_SEND_BODY = request_body_schema(NewMessage | Annotated[list[NewMessage], msgspec.Meta(min_length=1)])
_SENT = json_answers(SentId, SentIds, statuses=(201,))
_READ = json_answers(list[StoredMessage])

Limit = Annotated[int, Query(ge=1, le=1_000)]
After = Annotated[int | None, Query(ge=0, lt=2**63)]


@router.post("/messages", status_code=201, openapi_extra=_SEND_BODY, response_class=Response, responses=_SENT)
async def send(name: str, runner: Runner, async_commit: bool = False) -> Response:
    """Send one message, or a list of them: all are stored, or none. `async_commit`: do not wait for the disk."""
    messages, is_list = await runner.read(read_messages)
    if any(map(is_for_later, messages)):
        queued = [QueuedMessage(**msgspec.structs.asdict(message), queue=name) for message in messages]
        done = await runner.run(run_transaction(Transaction(send=queued), runner.context))
        ids, schedules = [sent.id for sent in done.sent], [sent.schedule for sent in done.sent]
        return json_response(SentIds(ids, schedules) if is_list else SentId(ids[0], schedules[0]), 201)
    sent = await runner.run(operations.send(name, messages, async_commit, runner.context))
    return json_response(SentIds([*sent]) if is_list else SentId(sent[0]), 201)


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
    """Look at messages without receiving them. `after`: the id that the previous page ended with.

    A page of long messages ends early, after some 4 MB or with what a function may answer; the last page is empty.
    """
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
    """Deleted messages of a queue with the attribute `archive`. `after`: the last `archive_id` of the page before.

    A page of long messages ends early, after some 4 MB or with what a function may answer; the last page is empty.
    """
    return json_response(await runner.run(operations.read_archive(name, after, limit, runner.context)))
