"""Serves /v1/queues/{name}/messages/search and /failures, which read messages without receiving them."""

from typing import Annotated, Final

import msgspec
from fastapi import Query

from penstock import errors
from penstock.documents.queue_names import build_queue_arn
from penstock.management.messages import search as searching
from penstock.management.messages.search import PLACE, SearchRequest, SearchResponse, ShownGroup
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

UNKNOWN: Final = (errors.QueueDoesNotExist,)


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
