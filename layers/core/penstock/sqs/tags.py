"""Tags of queues: TagQueue, UntagQueue, ListQueueTags."""

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.queues import TAG_QUEUE, UNTAG_QUEUE

from . import validation
from .queues import describe
from .sql_errors import build_sql_error
from .types import ListQueueTagsRequest, ListQueueTagsResult, TagQueueRequest, UntagQueueRequest

_string_map = msgspec.json.Decoder(dict[str, str])


@audited(
    lambda request, context: Act(
        "sqs:TagQueue", context.queue_arn(request.queue_url), {"tags": request.tags}, when_changed=True
    )
)
def tag_queue(request: TagQueueRequest, context: Context) -> Operation[None]:
    """Adds tags. An existing tag receives the new value."""
    arn = context.queue_arn(request.queue_url)
    validation.check_tags(request.tags)
    (row,) = yield from Call(TAG_QUEUE, (arn, encode_jsonb(request.tags), validation.MAX_TAGS))
    if row.error is not None:
        raise build_sql_error(row.error, row.detail)


@audited(
    lambda request, context: Act(
        "sqs:UntagQueue", context.queue_arn(request.queue_url), {"keys": request.tag_keys}, when_changed=True
    )
)
def untag_queue(request: UntagQueueRequest, context: Context) -> Operation[None]:
    """Removes tags. Missing tags are ignored."""
    arn = context.queue_arn(request.queue_url)
    if not request.tag_keys:  # the Query protocol reads a missing list as an empty list
        raise errors.MissingParameter.named("TagKeys")
    validation.check_tags(dict.fromkeys(request.tag_keys, ""))
    (row,) = yield from Call(UNTAG_QUEUE, (arn, request.tag_keys))
    if row.error is not None:
        raise build_sql_error(row.error, None)


def list_queue_tags(request: ListQueueTagsRequest, context: Context) -> Operation[ListQueueTagsResult]:
    queue = yield from describe(context.queue_arn(request.queue_url))
    return ListQueueTagsResult(tags=_string_map.decode(queue.tags) or None)
