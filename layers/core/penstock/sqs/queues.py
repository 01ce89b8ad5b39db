"""Creates, finds, lists, describes, changes, purges and deletes queues."""

import logging
from collections.abc import Iterable, Mapping
from functools import lru_cache

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.deliveries import Subscriptions, judge_subscriptions
from penstock.access.quotas import check_quota
from penstock.aws.arn import QueueArn, is_account_id, is_queue_name, is_queue_name_prefix, resolve_queue_arn
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.paging import build_token, read_name
from penstock.calls import decode_texts, encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.queues import (
    CREATE_QUEUE,
    DESCRIBE_QUEUE,
    DROP_QUEUE,
    LIST_DEAD_LETTER_SOURCES,
    LIST_QUEUES,
    PURGE_MESSAGES,
    SET_QUEUE_ATTRIBUTES,
    QueueRow,
)

from . import attributes, validation
from .handles import check_queue
from .sql_errors import build_sql_error
from .types import (
    CreateQueueRequest,
    CreateQueueResult,
    DeleteQueueRequest,
    GetQueueAttributesRequest,
    GetQueueAttributesResult,
    GetQueueUrlRequest,
    GetQueueUrlResult,
    ListDeadLetterSourceQueuesRequest,
    ListDeadLetterSourceQueuesResult,
    ListQueuesRequest,
    ListQueuesResult,
    PurgeQueueRequest,
    SetQueueAttributesRequest,
)

MAX_PER_PAGE = 1000
# A request added a subscription while the policy was evaluated for the existing subscriptions.
SUBSCRIPTIONS_CHANGED = "SubscriptionsChanged"
MAX_TOKEN_LENGTH = 1_024  # in characters; a longer token is truncated and therefore invalid

_log = logging.getLogger(__name__)


def create_queue(request: CreateQueueRequest, context: Context) -> Operation[CreateQueueResult]:
    """Creates a queue, or returns an existing queue that has every given attribute."""
    supplied = request.attributes or {}
    # A name with the suffix .fifo requires this attribute (botocore 3058).
    fifo = supplied.get("FifoQueue", "").lower() == "true"
    validation.check_queue_name(request.queue_name, fifo=fifo)
    checked = attributes.check_queue_attributes(supplied, fifo, creating=True)
    validation.check_tags(request.tags or {})
    yield from store_queue(request.queue_name, checked, request.tags or {}, context)
    return CreateQueueResult(queue_url=context.queue_url(request.queue_name))


@audited(
    lambda name, supplied, tags, context: Act(
        "sqs:CreateQueue",
        str(QueueArn(context.region, context.account_id, name)),
        {"attributes": supplied, "tags": tags},
    )
)
def store_queue(name: str, supplied: Mapping[str, str], tags: Mapping[str, str], context: Context) -> Operation[bool]:
    """Creates a queue, and returns False if the queue already exists. Raises QueueNameExists, QueueDeletedRecently and
    other errors."""
    settings = context.environment.settings
    attributes.check_key(supplied, settings)
    yield from check_dead_letter_queue(str(QueueArn(context.region, context.account_id, name)), supplied)
    non_empty = {key: value for key, value in supplied.items() if value != ""}
    yield from check_quota("queues", name, context, errors.OverLimit)
    (row,) = yield from Call(
        CREATE_QUEUE,
        (
            context.account_id,
            context.region,
            name,
            encode_jsonb(non_empty),
            encode_jsonb(attributes.build_defaults(is_fifo_name(name), settings, non_empty)),
            encode_jsonb(tags),
            settings.queue_shards,
            settings.queue_recreate_interval_seconds,
        ),
    )
    if row.error is not None:
        raise build_sql_error(row.error, row.detail)
    # Other accounts can still have subscriptions of an earlier queue with this name.
    if row.created and "Policy" in non_empty:
        yield from change_attributes(row.arn, {"Policy": non_empty["Policy"]}, context)
    if row.created and context.region != settings.queue_region and not settings.queue_regions:
        _tell_of_region(context.region, settings.queue_region)
    return row.created


@lru_cache(maxsize=64)
def _tell_of_region(region: str, own: str) -> None:
    """Logs once per process and region that clients of another region cannot find the queue."""
    _log.warning(
        "a queue was created outside QUEUE_REGION, the only region that commands, REST, SQL and the console show",
        extra={"region": region, "queue_region": own},
    )


@audited(lambda request, context: Act("sqs:DeleteQueue", context.queue_arn(request.queue_url)))
def delete_queue(request: DeleteQueueRequest, context: Context) -> Operation[None]:
    """Deletes a queue and its messages."""
    (row,) = yield from Call(DROP_QUEUE, (context.queue_arn(request.queue_url),))
    if row.error is not None:
        raise build_sql_error(row.error, None)


def get_queue_url(request: GetQueueUrlRequest, context: Context) -> Operation[GetQueueUrlResult]:
    """Returns the URL of a queue in the request's account or the caller's."""
    account_id = request.queue_owner_aws_account_id or context.account_id
    if not is_queue_name(request.queue_name):
        validation.check_queue_name(request.queue_name, fifo=False)
    arn = resolve_queue_arn(context.region, account_id, request.queue_name) if is_account_id(account_id) else None
    if arn is None or not (yield from Call(DESCRIBE_QUEUE, (arn, False))):
        raise errors.QueueDoesNotExist
    return GetQueueUrlResult(queue_url=context.queue_url(request.queue_name, account_id))


def list_queues(request: ListQueuesRequest, context: Context) -> Operation[ListQueuesResult]:
    """Returns the URLs of the account's queues, in pages if the request sets a page size."""
    validation.check_range("MaxResults", request.max_results)
    limit = request.max_results or MAX_PER_PAGE
    prefix, after = request.queue_name_prefix or "", read_token(request.next_token)
    if not is_queue_name_prefix(prefix):
        return ListQueuesResult()
    rows = yield from Call(LIST_QUEUES, (context.account_id, context.region, prefix, after, limit + 1))
    names = [row.name for row in rows[:limit]]
    more = len(rows) > limit and request.max_results is not None
    return ListQueuesResult(
        queue_urls=[context.queue_url(name) for name in names], next_token=build_token(names[-1]) if more else None
    )


def read_token(token: str | None) -> str | None:
    """Returns the name in a token. Raises InvalidParameterValue for a text that is not a token."""
    if token is None:
        return None
    name = read_name(token[:MAX_TOKEN_LENGTH])
    if name is None or not is_queue_name(name):
        raise errors.InvalidParameterValue("Invalid or expired next token.")
    return name


def get_queue_attributes(request: GetQueueAttributesRequest, context: Context) -> Operation[GetQueueAttributesResult]:
    """Returns the attributes that the request selects."""
    arn = context.queue_arn(request.queue_url)
    selection = attributes.check_attribute_names(request.attribute_names)
    queue = yield from describe(arn, counts=selection.counts)
    shown = show_queue_attributes(arn, queue, request.attribute_names or ())
    return GetQueueAttributesResult(attributes=selection.pick(shown) or None)


def describe(arn: str, *, counts: bool = False) -> Operation[QueueRow]:
    """Returns the queue, with or without its counts. Raises QueueDoesNotExist."""
    rows = yield from Call(DESCRIBE_QUEUE, (arn, counts))
    if not rows:
        raise errors.QueueDoesNotExist
    (queue,) = rows
    return queue


def is_content_deduplicated(queue: QueueRow) -> bool:
    """Returns whether the queue derives missing deduplication ids from message bodies."""
    return decode_texts(queue.attributes).get("ContentBasedDeduplication") == "true"


def show_queue_attributes(arn: str, queue: QueueRow, named: Iterable[str]) -> dict[str, str]:
    """Converts a queue's attributes to the client's format. Times are seconds since 1970. Counts are optional. The
    request has `named` attributes."""
    values = attributes.show_attributes(decode_texts(queue.attributes), named)
    values["QueueArn"] = arn
    values["CreatedTimestamp"] = str(queue.created_at_ms // 1000)
    values["LastModifiedTimestamp"] = str(queue.modified_at_ms // 1000)
    if queue.visible is not None:
        values["ApproximateNumberOfMessages"] = str(queue.visible)
        values["ApproximateNumberOfMessagesNotVisible"] = str(queue.in_flight)
        values["ApproximateNumberOfMessagesDelayed"] = str(queue.delayed)
    return values


@audited(
    lambda request, context: Act(
        "sqs:SetQueueAttributes",
        context.queue_arn(request.queue_url),
        {"attributes": sorted(request.attributes or ())},
        when_changed=True,
    )
)
def set_queue_attributes(request: SetQueueAttributesRequest, context: Context) -> Operation[None]:
    """Changes at least one attribute. An empty value removes a policy."""
    arn = context.queue_arn(request.queue_url)
    if not request.attributes:
        raise errors.MissingParameter.named("Attribute.Name")
    checked = attributes.check_queue_attributes(request.attributes, is_fifo_name(arn))
    yield from change_attributes(arn, checked, context)


def change_attributes(arn: str, values: Mapping[str, str], context: Context) -> Operation[None]:
    """Stores validated attributes, and removes attributes with an empty value. Raises QueueDoesNotExist,
    InvalidParameterValue."""
    attributes.check_key(values, context.environment.settings)
    yield from check_dead_letter_queue(arn, values)
    implied = attributes.add_implied(values)
    changed = {name: value if value != "" else None for name, value in implied.items()}
    error: str | None = SUBSCRIPTIONS_CHANGED
    while error == SUBSCRIPTIONS_CHANGED:
        subscriptions: Subscriptions = (None, None)
        if "Policy" in changed:
            subscriptions = yield from judge_subscriptions(arn, changed["Policy"], context)
        (row,) = yield from Call(SET_QUEUE_ATTRIBUTES, (arn, encode_jsonb(changed), *subscriptions))
        error = row.error
    if error is not None:
        raise build_sql_error(error, None)


def check_dead_letter_queue(arn: str, values: Mapping[str, str]) -> Operation[None]:
    """Raises InvalidParameterValue unless the queue `arn` can use the dead-letter queue in RedrivePolicy.

    The check is a separate database call, because clients rarely set redrive policies. The dead-letter queue can change
    after the check in any case.
    """
    text = values.get("RedrivePolicy", "")
    policy = attributes.parse_redrive_policy(text, is_fifo_name(arn))
    if policy is None:
        return
    rows = yield from Call(DESCRIBE_QUEUE, (policy.dead_letter_target_arn, False))
    if not rows:
        raise attributes.build_policy_error("RedrivePolicy", text, "Dead letter target does not exist.")
    (target,) = rows
    stored = decode_texts(target.attributes)
    allowed = attributes.parse_redrive_allow_policy(stored.get("RedriveAllowPolicy", ""))
    if not policy.shares_account_and_region(arn) or not (allowed is None or allowed.permits(arn)):
        raise attributes.build_policy_error("RedrivePolicy", text, "The dead-letter queue is not for this queue.")


def purge_queue(request: PurgeQueueRequest, context: Context) -> Operation[None]:
    """Deletes every message of a queue, at most once in QUEUE_PURGE_INTERVAL_SECONDS, as on AWS."""
    yield from purge(context.queue_arn(request.queue_url), context)


@audited(lambda arn, _context: Act("sqs:PurgeQueue", arn, counted="purged"))
def purge(arn: str, context: Context) -> Operation[int]:
    """Deletes every message and returns the number of deleted messages. Raises QueueDoesNotExist and
    PurgeQueueInProgress."""
    interval = context.environment.settings.queue_purge_interval_seconds
    (row,) = yield from Call(PURGE_MESSAGES, (arn, interval))
    if row.error is not None:
        raise build_sql_error(row.error, row.detail)
    return row.purged


def list_dead_letter_source_queues(
    request: ListDeadLetterSourceQueuesRequest, context: Context
) -> Operation[ListDeadLetterSourceQueuesResult]:
    """Returns the URLs of the queues whose RedrivePolicy names this queue, in pages if the request sets a page size."""
    arn = context.queue_arn(request.queue_url)
    validation.check_range("MaxResults", request.max_results)
    yield from check_queue(arn)
    limit = request.max_results or MAX_PER_PAGE
    rows = yield from Call(LIST_DEAD_LETTER_SOURCES, (arn, read_token(request.next_token), limit + 1))
    names = [row.name for row in rows[:limit]]
    more = len(rows) > limit and request.max_results is not None
    region, account_id = arn.split(":")[3:5]  # the sources have the same region and account
    return ListDeadLetterSourceQueuesResult(
        queue_urls=[context.queue_url(name, account_id, region) for name in names],
        next_token=build_token(names[-1]) if more else None,
    )
