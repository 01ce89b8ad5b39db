"""/v1/queues/{name}/messages/search: looks at messages that pass a filter, without receiving them."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Response

from penstock.context import Context
from penstock.effects import Operation
from penstock.postgres.statements.native_messages import FoundRow
from penstock.search.filters import MessageFilter
from penstock.search.messages import MOST_SCANNED, SCANNED, Search, search_messages

from . import operations
from .documents import FoundMessage, decode_document, format_timestamp, json_or_string, to_headers
from .native_route import NativeRoute, Runner, json_response
from .openapi import json_answers, request_body_schema

router = APIRouter(prefix="/queues/{name}", tags=["messages"], route_class=NativeRoute)

After = Annotated[str, msgspec.Meta(pattern=r"^-?\d{1,2}:\d{1,18}:[!-~]{0,128}$")]


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


def found_message(row: FoundRow) -> FoundMessage:
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
        source_queue=None if row.source_arn is None else row.source_arn.rpartition(":")[2],
    )
