"""Serves /v1/queues/{name}/messages and /archive, which send, receive, delete, hide and peek at messages."""

from typing import Annotated, Final

import msgspec
from fastapi import Path, Query

from penstock import errors
from penstock.documents.decoding import build_exactly_one_of, build_reader
from penstock.limits.queue_limits import MAX_VISIBILITY_SECONDS, MAX_WAIT_SECONDS
from penstock.management import transactions
from penstock.management.errors import DuplicateMessage, MessageInFlight, MessageNotFound
from penstock.management.messages import editing
from penstock.management.messages import operations as messages
from penstock.management.messages.conversion import is_for_later, read_messages
from penstock.management.messages.types import (
    Hidden,
    MessageId,
    NewMessage,
    Seconds12h,
    SentId,
    SentIds,
    State,
    StoredMessage,
)
from penstock.management.rights import right_of
from penstock.management.transactions import QueuedMessage, Transaction
from penstock_web.routing.routes import Routes, Runner

SendBody = NewMessage | Annotated[list[NewMessage], msgspec.Meta(min_length=1)]


class Deletion(msgspec.Struct, forbid_unknown_fields=True):
    """Lists the messages to delete, by id or by receipt."""

    ids: Annotated[list[MessageId], msgspec.Meta(max_length=1_000)] | None = None
    receipts: Annotated[list[str], msgspec.Meta(max_length=1_000)] | None = None


EITHER: Final = msgspec.Meta(extra_json_schema=build_exactly_one_of("ids", "receipts"))


class DeletedIds(msgspec.Struct):
    """Lists the ids of the deleted messages."""

    deleted: list[int]


class DeletedReceipts(msgspec.Struct):
    """Lists the receipts of the deleted messages."""

    deleted: list[str]


class Visibility(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the number of seconds until the message becomes visible."""

    vt: Seconds12h


class Failure(msgspec.Struct, forbid_unknown_fields=True):
    """Why the receiver of a message failed. A longer `error` is cut to 1,024 characters.

    The message becomes visible after `vt` seconds. Without `vt`, its visibility stays the same.
    """

    error: Annotated[str, msgspec.Meta(min_length=1)]
    vt: Seconds12h | None = None


routes = Routes("messages", prefix="/queues/{name}")

UNKNOWN: Final = (errors.QueueDoesNotExist,)
Limit = Annotated[int, Query(ge=1, le=1_000)]
After = Annotated[int | None, Query(ge=0, lt=2**63)]
IdInPath = Annotated[int, Path(ge=0, lt=2**63)]
SecondsInQuery = Annotated[int, Query(ge=0, le=MAX_VISIBILITY_SECONDS, description="seconds")]

_read_deletion = build_reader(Deletion)
_read_visibility = build_reader(Visibility)
_read_failure = build_reader(Failure)


@routes.post(
    "/messages",
    right=right_of(messages.send),
    status=201,
    body=SendBody,
    response=(SentId, SentIds),
    raises=UNKNOWN,
)
async def send(name: str, runner: Runner, async_commit: bool = False) -> SentId | SentIds:
    """Send one message or a list of messages. The service stores either all messages or no message. With
    `async_commit`, the response does not wait for the disk.
    """
    new, is_list = await runner.read(read_messages)
    if any(map(is_for_later, new)):
        queued = [QueuedMessage(**msgspec.structs.asdict(message), queue=name) for message in new]
        done = await runner.run(transactions.run_transaction(Transaction(send=queued), runner.context))
        ids, schedules = [sent.id for sent in done.sent], [sent.schedule for sent in done.sent]
        return SentIds(ids, schedules) if is_list else SentId(ids[0], schedules[0])
    sent = await runner.run(messages.send(name, new, async_commit, runner.context))
    return SentIds([*sent]) if is_list else SentId(sent[0])


@routes.get(
    "/messages", right=right_of(messages.receive), response=list[StoredMessage], raises=(*UNKNOWN, errors.OverLimit)
)
async def receive(
    name: str,
    runner: Runner,
    max: Limit = 1,  # noqa: A002
    vt: SecondsInQuery | None = None,
    wait: Annotated[int, Query(ge=0, le=MAX_WAIT_SECONDS)] = 0,
) -> list[StoredMessage]:
    """Receive messages. The messages become visible again after `vt` seconds. The default of `vt` is the queue's
    visibility timeout."""
    return await runner.run(messages.receive(name, max, vt, wait, runner.context))


@routes.delete(
    "/messages",
    right=right_of(messages.delete_ids),
    body=Annotated[Deletion, EITHER],
    response=(DeletedIds, DeletedReceipts),
    raises=(*UNKNOWN, errors.ReceiptHandleIsInvalid),
)
async def delete(name: str, runner: Runner) -> DeletedIds | DeletedReceipts:
    """Delete messages by `ids` or by `receipts`. The response lists the deleted messages."""
    deletion = await runner.read(_read_deletion)
    if (deletion.ids is None) == (deletion.receipts is None):
        raise errors.InvalidParameterValue("body: either ids or receipts")
    if deletion.ids is not None:
        return DeletedIds(await runner.run(messages.delete_ids(name, deletion.ids, runner.context)))
    receipts = deletion.receipts or []
    return DeletedReceipts(await runner.run(messages.delete_receipts(name, receipts, runner.context)))


@routes.get("/messages/peek", right=right_of(messages.peek), response=list[StoredMessage], raises=UNKNOWN)
async def peek(
    name: str, runner: Runner, state: State = "visible", limit: Limit = 10, after: After = None
) -> list[StoredMessage]:
    """Read messages without receiving them. `after` is the last id of the previous page.

    A page of long messages ends early, after about 4 MB or at the response limit of a Lambda function. If a page is
    empty, it is the last page.
    """
    return await runner.run(messages.peek(name, state, after, limit, runner.context))


@routes.delete("/messages/{id}", right=right_of(messages.delete_one), status=204, raises=(*UNKNOWN, MessageNotFound))
async def delete_one(name: str, id: IdInPath, runner: Runner) -> None:  # noqa: A002
    """Delete one message."""
    await runner.run(messages.delete_one(name, id, runner.context))


@routes.patch(
    "/messages/{id}",
    right=right_of(messages.change_visibility),
    body=Visibility,
    response=Hidden,
    raises=(*UNKNOWN, MessageNotFound),
)
async def change_visibility(name: str, id: IdInPath, runner: Runner) -> Hidden:  # noqa: A002
    """Hide a message for `vt` seconds from now. The value 0 makes the message visible immediately."""
    seconds = (await runner.read(_read_visibility)).vt
    return await runner.run(messages.change_visibility(name, id, seconds, runner.context))


@routes.post(
    "/messages/{handle}/fail",
    right=right_of(messages.fail),
    status=204,
    body=Failure,
    raises=(*UNKNOWN, errors.ReceiptHandleIsInvalid, errors.InvalidParameterValue, MessageNotFound),
)
async def fail(name: str, handle: str, runner: Runner) -> None:
    """Store why the receiver of a message failed. `handle` is the message's `receipt`. If the message becomes a dead
    letter, it has the header `PenstockError` with the last error."""
    failure = await runner.read(_read_failure)
    await runner.run(messages.fail(name, handle, failure.error, failure.vt, runner.context))


@routes.post(
    "/messages/{id}/edit",
    right=right_of(editing.edit_message),
    status=201,
    body=editing.EditedMessage,
    response=SentId,
    raises=(*UNKNOWN, MessageNotFound, MessageInFlight, DuplicateMessage, errors.RequestEntityTooLarge),
)
async def edit(name: str, id: IdInPath, runner: Runner) -> SentId:  # noqa: A002
    """Send an edited copy of a message and delete the message, in one transaction. A message in flight stays."""
    edited = editing.to_edit(await runner.read(editing.read_edited))
    return SentId(await runner.run(editing.edit_message(name, id, edited, runner.context)))


@routes.post(
    "/messages/replace",
    right=right_of(editing.replace_in_messages),
    body=Annotated[editing.Replacement, msgspec.Meta(extra_json_schema=build_exactly_one_of("ids", "filter"))],
    response=editing.ReplacementResult,
    raises=UNKNOWN,
)
async def replace(name: str, runner: Runner) -> editing.ReplacementResult:
    """Set one value in the JSON bodies of selected messages and send them to their targets. Messages whose body has no
    such path stay. Each message is in one of the two queues at any time."""
    request = await runner.read(editing.read_replacement)
    return await runner.run(editing.replace_in_messages(name, request, runner.context))


@routes.get("/archive", right=right_of(messages.read_archive), response=list[StoredMessage], raises=UNKNOWN)
async def read_archive(name: str, runner: Runner, limit: Limit = 100, after: After = None) -> list[StoredMessage]:
    """List a queue's archived messages: deleted messages of a queue with the attribute `archive`. `after` is the last
    `archive_id` of the previous page.

    A page of long messages ends early, after about 4 MB or at the response limit of a Lambda function. If a page is
    empty, it is the last page.
    """
    return await runner.run(messages.read_archive(name, after, limit, runner.context))
