"""Tags of queues: TagQueue, UntagQueue, ListQueueTags."""

from collections.abc import Generator
from typing import Any

import msgspec

from penstock import errors
from penstock.context import Context
from penstock.effects import Effect, Sql
from penstock.postgres.statements import DESCRIBE_QUEUE, TAG_QUEUE, UNTAG_QUEUE

from . import validation
from .queues import as_json
from .sql_errors import sql_error
from .types import ListQueueTagsRequest, ListQueueTagsResult, TagQueueRequest, UntagQueueRequest

_string_map = msgspec.json.Decoder(dict[str, str])


def tag_queue(request: TagQueueRequest, context: Context) -> Generator[Effect, Any, None]:
    """Adds tags; one that exists gets the new value."""
    arn = context.queue_arn(request.queue_url)
    validation.check_tags(request.tags)
    ((error, detail),) = yield Sql(TAG_QUEUE, (arn, as_json(request.tags), validation.MAXIMUM_TAGS))
    if error is not None:
        raise sql_error(error, detail)


def untag_queue(request: UntagQueueRequest, context: Context) -> Generator[Effect, Any, None]:
    """Removes tags; an absent one is no error."""
    arn = context.queue_arn(request.queue_url)
    if not request.tag_keys:  # the Query protocol reads an absent list as an empty one
        raise errors.MissingParameter.named("TagKeys")
    validation.check_tags(dict.fromkeys(request.tag_keys, ""))
    ((error,),) = yield Sql(UNTAG_QUEUE, (arn, request.tag_keys))
    if error is not None:
        raise sql_error(error, None)


def list_queue_tags(
    request: ListQueueTagsRequest, context: Context
) -> Generator[Effect, Any, ListQueueTagsResult]:
    """All tags of a queue."""
    rows = yield Sql(DESCRIBE_QUEUE, (context.queue_arn(request.queue_url), False))
    if not rows:
        raise errors.QueueDoesNotExist
    return ListQueueTagsResult(tags=_string_map.decode(rows[0][3]) or None)
