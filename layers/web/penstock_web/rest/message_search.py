"""Serves /v1/queues/{name}/messages/search and /failures, /v1/queues/{name}/messages/{id} and /v1/messages/{id}, which
read messages without receiving them."""

from typing import Annotated, Final

import msgspec
from fastapi import Path, Query

from penstock import errors
from penstock.documents.queue_names import build_queue_arn
from penstock.management.errors import MessageNotFound
from penstock.management.messages import life
from penstock.management.messages import search as searching
from penstock.management.messages.search import PLACE, SearchRequest, SearchResponse, ShownGroup
from penstock.management.messages.types import MessageLife
from penstock.management.rights import right_of
from penstock.search import failures as grouping
from penstock.search.messages import MAX_SCANNED
from penstock_web.routing.routes import Routes, Runner


class FailureResponse(msgspec.Struct):
    """Holds the groups, from the largest to the smallest. `group_count` counts all groups among the examined
    messages."""

    groups: list[ShownGroup]
    group_count: int
    looked_at: int
    of: int | None
    next: str | None


routes = Routes("messages", prefix="/queues/{name}")
routes_of_all_queues = Routes("messages")

UNKNOWN: Final = (errors.QueueDoesNotExist,)
IdInQueue = Annotated[str, Path(description="the message's number in the queue, or its id, a UUID", max_length=64)]
MessageIdInPath = Annotated[str, Path(description="the message's id, a UUID", max_length=64)]


@routes.post(
    "/messages/search",
    right=right_of(searching.find_messages),
    body=SearchRequest,
    response=SearchResponse,
    raises=UNKNOWN,
)
async def search(name: str, runner: Runner) -> SearchResponse:
    """Find messages that match a filter, without receiving them. A request examines a limited number of messages, which
    `looked_at` shows. To continue the search, send `next` in another request.
    """
    request = await runner.read(searching.read_search)
    return await runner.run(searching.find_messages(name, request, runner.context))


@routes.get("/failures", right=right_of(searching.find_failures), response=FailureResponse, raises=UNKNOWN)
async def failures(  # noqa: PLR0913, PLR0917 - each is a parameter
    name: str,
    runner: Runner,
    by: Annotated[list[grouping.By] | None, Query(max_length=5)] = None,
    attribute: Annotated[str | None, Query(min_length=1, max_length=256, pattern=r"^[\w.-]*$")] = None,
    scan: Annotated[int, Query(ge=1, le=MAX_SCANNED)] = grouping.SCANNED,
    groups: Annotated[int, Query(ge=1, le=100)] = 50,
    after: Annotated[str | None, Query(pattern=PLACE)] = None,
    filter: Annotated[str, Query(description="JSON, as in a search")] = "{}",  # noqa: A002
) -> FailureResponse:
    """Group dead letters, with three samples in each group. `by` defaults to the cause, the source queue and the
    body's shape.
    `filter` selects the messages to group.
    """
    arn = build_queue_arn(name, runner.context)
    selected = searching.read_filter(filter)
    wanted = grouping.Grouping(arn, by or grouping.BY_DEFAULT, attribute, after, scan, groups, selected)
    found = await runner.run(searching.find_failures(name, wanted, runner.context))
    shown = [searching.show_group(group, wanted) for group in found.groups]
    return FailureResponse(shown, found.group_count, found.looked_at, found.of, found.next)


@routes.get("/messages/{id}", right=right_of(life.read_life), response=MessageLife, raises=(*UNKNOWN, MessageNotFound))
async def read_message(name: str, id: IdInQueue, runner: Runner) -> MessageLife:  # noqa: A002
    """Show the life of a message that is or was in this queue: sends, receives, failures, moves and the end."""
    return await runner.run(life.read_life(name, *life.parse_message(id), runner.context))


@routes_of_all_queues.get(
    "/messages/{id}", right=right_of(life.find_message), response=MessageLife, raises=(*UNKNOWN, MessageNotFound)
)
async def read_message_anywhere(id: MessageIdInPath, runner: Runner) -> MessageLife:  # noqa: A002
    """Show the life of a message in one of the account's queues. The service examines at most 100,000 messages. The
    error says how many messages the service examined.
    """
    message_id = life.read_message_id(id)
    place = await runner.run(life.find_message(message_id, runner.context))
    return await runner.run(life.read_life(place.queue, place.id, message_id, runner.context))
