"""Searches a queue's messages, and groups dead letters. The search does not receive messages."""

from typing import Annotated

import msgspec

from penstock import errors
from penstock.context import Context
from penstock.documents import queue_names
from penstock.documents.decoding import decode_document
from penstock.documents.times import format_timestamp
from penstock.effects import Operation
from penstock.management.rights import needs
from penstock.postgres.statements.stored_messages import FailureRow, FoundRow
from penstock.search import failures as grouping
from penstock.search.filters import MessageFilter
from penstock.search.messages import MAX_SCANNED, SCANNED, Search, search_messages

from .conversion import convert_to_json, encode_string, fit_page, limit_page_bytes, to_headers
from .types import FoundMessage

PLACE = r"^-?\d{1,2}:\d{1,18}:[!-~]{0,128}$"
After = Annotated[str, msgspec.Meta(pattern=PLACE)]


class SearchRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A search. `limit` is the maximum number of messages in the response, and `scan` is the maximum number of messages
    to examine.

    `after` is the `next` of the previous response.
    """

    filter: MessageFilter = msgspec.field(default_factory=MessageFilter)
    after: After | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 10
    scan: Annotated[int, msgspec.Meta(ge=1, le=MAX_SCANNED)] = SCANNED


class SearchResponse(msgspec.Struct):
    """The matching messages. `looked_at` counts the examined messages. `of` counts all messages, or is null if the
    number is unknown.

    `next` is the `after` of the next request, or null if all messages have been examined.
    """

    messages: list[FoundMessage]
    looked_at: int
    of: int | None
    next: str | None


class GroupKey(msgspec.Struct, omit_defaults=True):
    """The common features of a group's messages. A feature is null if the request did not select the feature or the
    messages do not have it."""

    source_queue: str | msgspec.UnsetType | None = msgspec.UNSET
    receive_count: int | msgspec.UnsetType = msgspec.UNSET
    attribute: str | msgspec.UnsetType | None = msgspec.UNSET
    shape: str | msgspec.UnsetType = msgspec.UNSET
    cause: str | msgspec.UnsetType | None = msgspec.UNSET


class Sample(FoundMessage, omit_defaults=True, kw_only=True):
    """A message of a group. A `truncated` message is a text with the first 16,384 characters."""

    truncated: bool = False


class ShownGroup(msgspec.Struct):
    """Messages that failed in a similar way. `filter` selects the group in searches and moves, and is null if no filter
    can select the group.

    `count` counts the examined messages. `oldest_at` and `newest_at` are the times at which the group's first and last
    messages entered this queue. `title` is true of all examined messages of the group: the cause, else an attribute
    that the messages share, else a field in which the groups differ. It begins with `mixed` and lists the most frequent
    causes if the messages have different ones. Without a cause, attribute or field, `title` is null.
    """

    title: str | None
    by: GroupKey
    count: int
    oldest_at: str
    newest_at: str
    filter: MessageFilter | None
    samples: list[Sample]


_search = msgspec.json.Decoder(SearchRequest)
_filter = msgspec.json.Decoder(MessageFilter)


def read_search(body: bytes) -> SearchRequest:
    """Decodes the search of a request. Raises InvalidParameterValue."""
    return decode_document(_search, body)


def read_filter(text: str) -> MessageFilter:
    """Decodes the filter in a query parameter. Raises InvalidParameterValue."""
    try:
        return decode_document(_filter, text.encode())
    except errors.InvalidParameterValue as error:
        raise errors.InvalidParameterValue(f"filter: {error.message.removeprefix('body: ')}") from error


@needs("queue", "sqs:ReceiveMessage")
def find_messages(name: str, request: SearchRequest, context: Context) -> Operation[SearchResponse]:
    """Returns one page of a search. The page fits into the response."""
    wanted = Search(
        queue_names.build_queue_arn(name, context), request.filter, request.after, request.limit, request.scan
    )
    found = yield from search_messages(wanted, limit_page_bytes(context), context)
    messages = [show_message(row) for row in found.rows]
    fitted = fit_page(messages, context)
    following = found.next
    if len(fitted) < len(messages):
        following = format_place(found.rows[len(fitted) - 1])
    return SearchResponse(fitted, found.looked_at, found.of, following)


@needs("queue", "sqs:ReceiveMessage")
def find_failures(_name: str, wanted: grouping.Grouping, context: Context) -> Operation[grouping.Failures]:
    """Groups the messages of the queue in `wanted`. Raises QueueDoesNotExist."""
    return (yield from grouping.group_failures(wanted, context))


def format_place(row: FoundRow) -> str:
    """Returns the place after this message, in the format of `queue.scan_messages`."""
    shard = (row.public_id & 255) - 2
    return f"{shard}:{row.public_id >> 8}:{row.group_id if shard == -2 else ''}"


def show_message(row: FoundRow | FailureRow) -> FoundMessage:
    return FoundMessage(
        id=row.public_id,
        read_count=row.receive_count,
        enqueued_at=format_timestamp(row.sent_at_ms),
        visible_at=format_timestamp(row.visible_at_ms),
        message=convert_to_json(row.body),
        headers=to_headers(row.attributes),
        message_id=row.message_id,
        group_id=row.group_id,
        entered_at=format_timestamp(row.entered_at_ms),
        entered_by=row.entered_by,
        state=row.state,
        receive_count=row.total_receive_count,
        source_queue=_name_queue(row.source_arn),
    )


def show_group(group: grouping.FailureGroup, wanted: grouping.Grouping) -> ShownGroup:
    first = group.samples[0]
    key = GroupKey(
        source_queue=_name_queue(first.group_source_arn) if "source" in wanted.by else msgspec.UNSET,
        receive_count=first.group_receive_count if first.group_receive_count is not None else msgspec.UNSET,
        attribute=first.group_attribute if "attribute" in wanted.by else msgspec.UNSET,
        shape=first.group_shape if first.group_shape is not None else msgspec.UNSET,
        cause=first.group_cause if "cause" in wanted.by else msgspec.UNSET,
    )
    return ShownGroup(
        group.title,
        key,
        group.messages,
        format_timestamp(group.oldest_ms),
        format_timestamp(group.newest_ms),
        group.filter,
        [_show_sample(row) for row in group.samples],
    )


def _show_sample(row: FailureRow) -> Sample:
    truncated = len(row.body.encode()) < row.body_length
    found = show_message(row)
    message = encode_string(row.body) if truncated else found.message
    return Sample(**{**msgspec.structs.asdict(found), "message": message}, truncated=truncated)


def _name_queue(arn: str | None) -> str | None:
    return None if arn is None else arn.rpartition(":")[2]
