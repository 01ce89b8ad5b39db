"""/v1/queues/{name}/messages/search and /failures: look at messages without receiving them."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response

from penstock.context import Context
from penstock.effects import Operation
from penstock.postgres.statements.stored_messages import FailureRow, FoundRow
from penstock.search import failures as grouping
from penstock.search.filters import MessageFilter
from penstock.search.messages import MOST_SCANNED, SCANNED, Search, search_messages

from . import operations
from .documents import (
    FoundMessage,
    decode_document,
    format_timestamp,
    json_or_string,
    json_string,
    to_headers,
)
from .openapi import json_answers, request_body_schema
from .rest_route import RestRoute, Runner, json_response

router = APIRouter(prefix="/queues/{name}", tags=["messages"], route_class=RestRoute)

PLACE = r"^-?\d{1,2}:\d{1,18}:[!-~]{0,128}$"
After = Annotated[str, msgspec.Meta(pattern=PLACE)]


class SearchRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What to look for. `limit`: messages in the answer; `scan`: messages to look at; `after`: the `next` of the answer
    before.
    """

    filter: MessageFilter = msgspec.field(default_factory=MessageFilter)
    after: After | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 10
    scan: Annotated[int, msgspec.Meta(ge=1, le=MOST_SCANNED)] = SCANNED


class SearchAnswer(msgspec.Struct):
    """The messages that pass, and how many were looked at, of how many (null: not known).

    `next`: the `after` of the search that goes on, null when all have been looked at.
    """

    messages: list[FoundMessage]
    looked_at: int
    of: int | None
    next: str | None


class GroupKey(msgspec.Struct, omit_defaults=True):
    """What the messages of a group have in common, as far as they were grouped by it; null: they have none of it."""

    source_queue: str | msgspec.UnsetType | None = msgspec.UNSET
    receive_count: int | msgspec.UnsetType = msgspec.UNSET
    attribute: str | msgspec.UnsetType | None = msgspec.UNSET
    shape: str | msgspec.UnsetType = msgspec.UNSET


class Sample(FoundMessage, omit_defaults=True, kw_only=True):
    """A message of a group. `truncated`: its `message` is a text with the first 16,384 characters of it."""

    truncated: bool = False


class ShownGroup(msgspec.Struct):
    """Messages that failed alike. `filter`: passes these, for searches and moves; null when no filter tells them apart.

    `count`: of those looked at; `oldest_at`, `newest_at`: when the first and the last of them came into this queue.
    """

    by: GroupKey
    count: int
    oldest_at: str
    newest_at: str
    filter: MessageFilter | None
    samples: list[Sample]


class FailureAnswer(msgspec.Struct):
    """The largest groups, the largest first. `group_count`: how many there are among the messages looked at."""

    groups: list[ShownGroup]
    group_count: int
    looked_at: int
    of: int | None
    next: str | None


_search = msgspec.json.Decoder(SearchRequest)


def read_search(body: bytes) -> SearchRequest:
    """The search of a request. Raises InvalidParameterValue."""
    return decode_document(_search, body)


@router.post(
    "/messages/search",
    openapi_extra=request_body_schema(SearchRequest),
    response_class=Response,
    responses=json_answers(SearchAnswer),
)
async def search(name: str, runner: Runner) -> Response:
    """Look at messages that pass a filter, without receiving them. A search is bounded: see `looked_at` and `next`."""
    request = await runner.read(read_search)
    return json_response(await runner.run(find(name, request, runner.context)))


def find(name: str, request: SearchRequest, context: Context) -> Operation[SearchAnswer]:
    """One page of a search, as long as the answer may be."""
    wanted = Search(
        operations.arn_of(name, context), request.filter, request.after, request.limit, request.scan
    )
    found = yield from search_messages(wanted, operations.page_bytes(context), context)
    messages = [found_message(row) for row in found.rows]
    fitted = operations.fitting(messages, context)
    following = found.next
    if len(fitted) < len(messages):
        following = place_of(found.rows[len(fitted) - 1])
    return SearchAnswer(fitted, found.looked_at, found.of, following)


def place_of(row: FoundRow) -> str:
    """The place after this message, as `queue.scan_messages` has it."""
    shard = (row.public_id & 255) - 2
    return f"{shard}:{row.public_id >> 8}:{row.group_id if shard == -2 else ''}"


def found_message(row: FoundRow | FailureRow) -> FoundMessage:
    """A message that was looked at, as a document."""
    return FoundMessage(
        id=row.public_id,
        read_count=row.receive_count,
        enqueued_at=format_timestamp(row.sent_at_ms),
        visible_at=format_timestamp(row.visible_at_ms),
        message=json_or_string(row.body),
        headers=to_headers(row.attributes),
        group_id=row.group_id,
        entered_at=format_timestamp(row.entered_at_ms),
        entered_by=row.entered_by,
        state=row.state,
        receive_count=row.total_receive_count,
        source_queue=_queue_name(row.source_arn),
    )


@router.get("/failures", response_class=Response, responses=json_answers(FailureAnswer))
async def failures(
    name: str,
    runner: Runner,
    by: Annotated[list[grouping.By] | None, Query(max_length=4)] = None,
    attribute: Annotated[str | None, Query(min_length=1, max_length=256, pattern=r"^[\w.-]*$")] = None,
    scan: Annotated[int, Query(ge=1, le=MOST_SCANNED)] = grouping.SCANNED,
    groups: Annotated[int, Query(ge=1, le=100)] = 50,
    after: Annotated[str | None, Query(pattern=PLACE)] = None,
) -> Response:
    """Dead letters in groups, with three samples each: `by` source (queue) and shape (of the body) when not given."""
    wanted = grouping.Grouping(
        operations.arn_of(name, runner.context), by or ["source", "shape"], attribute, after, scan, groups
    )
    found = await runner.run(grouping.group_failures(wanted))
    shown = [shown_group(group, wanted) for group in found.groups]
    return json_response(FailureAnswer(shown, found.group_count, found.looked_at, found.of, found.next))


def shown_group(group: grouping.FailureGroup, wanted: grouping.Grouping) -> ShownGroup:
    """A group as a document."""
    first = group.samples[0]
    key = GroupKey(
        source_queue=_queue_name(first.group_source_arn) if "source" in wanted.by else msgspec.UNSET,
        receive_count=first.group_receive_count if first.group_receive_count is not None else msgspec.UNSET,
        attribute=first.group_attribute if "attribute" in wanted.by else msgspec.UNSET,
        shape=first.group_shape if first.group_shape is not None else msgspec.UNSET,
    )
    return ShownGroup(
        key,
        group.messages,
        format_timestamp(group.oldest_ms),
        format_timestamp(group.newest_ms),
        group.filter,
        [_sample(row) for row in group.samples],
    )


def _sample(row: FailureRow) -> Sample:
    truncated = len(row.body.encode()) < row.body_length
    found = found_message(row)
    message = json_string(row.body) if truncated else found.message
    return Sample(**{**msgspec.structs.asdict(found), "message": message}, truncated=truncated)


def _queue_name(arn: str | None) -> str | None:
    return None if arn is None else arn.rpartition(":")[2]
