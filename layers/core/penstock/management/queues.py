"""Creates, lists, describes, changes and pauses queues. Lists receivers."""

from time import time
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.authorization import check_user
from penstock.access.resources import build_arn
from penstock.aws.fifo_name import FIFO_ENDING, is_fifo_name
from penstock.aws.paging import build_token
from penstock.calls import decode_texts
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.documents.times import format_timestamp
from penstock.effects import Call, Operation, Wake, Woken
from penstock.postgres.statements.installation import DELETED_QUEUES
from penstock.postgres.statements.queues import LIST_QUEUES, LIST_RECEIVERS, READ_QUEUE_PAGE, QueuePageRow
from penstock.sqs import attributes, handles, queues, validation
from penstock.sqs.types import DeleteQueueRequest

from .rights import needs, show
from .verdicts import KEPT, QUEUES_PER_READ, RECENT, Observed, observe

# Every attribute is a text, as on AWS. A client can also send numbers, booleans and policies as JSON values.
Attributes = Annotated[
    dict[str, str | bool | int | dict[str, Any]],
    msgspec.Meta(
        extra_json_schema={"propertyNames": {"enum": [*attributes.STANDARD, *attributes.FIFO, *attributes.EXTENSIONS]}}
    ),
]


class NewQueue(msgspec.Struct, forbid_unknown_fields=True):
    """A queue to create. A FIFO queue's name ends in `.fifo`. The service appends this suffix if `fifo` is true."""

    name: str
    fifo: bool = False
    attributes: Attributes = {}
    tags: dict[str, str] = {}


class QueueName(msgspec.Struct):
    name: str
    fifo: bool
    created_at: str


class QueuePage(msgspec.Struct, omit_defaults=True):
    """Queues in the order of their names. `next`, if present, requests the next page."""

    queues: list[QueueName]
    next: str | None = None


class QueueDescription(QueueName):
    """A queue with its counts. Ages are in seconds, and are null if the queue is empty."""

    arn: str
    queue_length: int
    visible: int
    in_flight: int
    delayed: int
    newest_msg_age_sec: int | None
    oldest_msg_age_sec: int | None
    total_messages: int
    scrape_time: str
    attributes: dict[str, str]
    tags: dict[str, str]


class ReceiverDescription(msgspec.Struct):
    """A receiver. `messages` counts since `first_received_at`. `last_received_at` includes empty receives.

    `caller` is the user's ARN. If the service requires no keys, `caller` contains the key id in the request.
    """

    caller: str
    user_agent: str
    address: str
    first_received_at: str
    last_received_at: str
    messages: int


@needs("operation", "sqs:CreateQueue")
def create_queue(new: NewQueue, context: Context) -> Operation[str]:
    """Creates a queue. Returns its name.

    Raises AccessDenied, and QueueNameExists even if the existing queue has the same attributes.
    """
    fifo = new.fifo or is_fifo_name(new.name)
    name = f"{new.name}{FIFO_ENDING}" if fifo and not is_fifo_name(new.name) else new.name
    check_user("sqs", "CreateQueue", build_arn("sqs", name, context), context)
    validation.check_queue_name(name, fifo=fifo)
    supplied = convert_attributes(new.attributes)
    if fifo:
        supplied["FifoQueue"] = "true"
    checked = attributes.check_queue_attributes(supplied, fifo, creating=True, extensions=True)
    validation.check_tags(new.tags)
    if not (yield from queues.store_queue(name, checked, new.tags, context)):
        raise errors.QueueNameExists(f"Queue '{name}' exists already", member="QueueName")
    return name


MAX_RECEIVERS = 100


def convert_attributes(values: Attributes) -> dict[str, str]:
    """Converts attributes to texts, as in AWS's API: true to "true", 60 to "60", and a policy to its JSON text."""
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode() for name, value in values.items()
    }


@needs("account", "sqs:ListQueues")
def list_queues(limit: int, after: str | None, context: Context) -> Operation[QueuePage]:
    """Returns a page of queues in the order of their names."""
    last = queues.read_token(after)
    rows = yield from Call(LIST_QUEUES, (context.account_id, context.region, "", last, limit + 1))
    page = [
        QueueName(name=row.name, fifo=row.fifo, created_at=format_timestamp(row.created_at_ms)) for row in rows[:limit]
    ]
    return QueuePage(queues=page, next=build_token(page[-1].name) if len(rows) > limit else None)


@needs("queue", "sqs:GetQueueAttributes")
def describe_queue(name: str, context: Context) -> Operation[QueueDescription]:
    """Returns a queue with its current counts."""
    arn = build_queue_arn(name, context)
    queue = yield from queues.describe(arn, counts=True)
    visible, in_flight, delayed = queue.visible or 0, queue.in_flight or 0, queue.delayed or 0
    return QueueDescription(
        name=name,
        arn=arn,
        fifo=queue.fifo,
        created_at=format_timestamp(queue.created_at_ms),
        queue_length=visible + in_flight + delayed,
        visible=visible,
        in_flight=in_flight,
        delayed=delayed,
        newest_msg_age_sec=queue.newest_age_seconds,
        oldest_msg_age_sec=queue.oldest_age_seconds,
        total_messages=queue.total_messages or 0,
        scrape_time=format_timestamp(int(time() * 1000)),
        attributes=decode_texts(queue.attributes),
        tags=decode_texts(queue.tags),
    )


@needs("queue", "sqs:SetQueueAttributes")
@audited(
    lambda name, changes, context: Act(
        "sqs:SetQueueAttributes", build_queue_arn(name, context), {"attributes": sorted(changes)}, when_changed=True
    )
)
def change_queue(name: str, changes: Attributes, context: Context) -> Operation[QueueDescription | None]:
    """Changes attributes and returns the queue. One database call writes the attributes; another counts the
    messages."""
    arn = build_queue_arn(name, context)
    checked = attributes.check_queue_attributes(convert_attributes(changes), is_fifo_name(arn), extensions=True)
    yield from queues.change_attributes(arn, checked, context)
    return (yield from show(describe_queue(name, context)))


@needs("queue", "penstock:PauseQueue")
@audited(
    lambda name, *, paused, context: Act(
        f"penstock:{'Pause' if paused else 'Resume'}Queue", build_queue_arn(name, context)
    )
)
def set_paused(name: str, *, paused: bool, context: Context) -> Operation[None]:
    """Stops or resumes the delivery of messages. Raises QueueDoesNotExist."""
    arn = build_queue_arn(name, context)
    yield from queues.change_attributes(arn, {"paused": "true" if paused else "false"}, context)
    if not paused:
        yield Wake(arn, 1, Woken.FOR_MORE)


@needs("queue", "sqs:DeleteQueue")
def delete_queue(name: str, context: Context) -> Operation[None]:
    """Deletes a queue and its messages. Raises QueueDoesNotExist."""
    yield from queues.delete_queue(DeleteQueueRequest(name), context)


@needs("queue", "sqs:PurgeQueue")
def purge_queue(name: str, context: Context) -> Operation[int]:
    """Deletes every message of a queue. Returns the number of messages. Raises QueueDoesNotExist,
    PurgeQueueInProgress."""
    return (yield from queues.purge(build_queue_arn(name, context), context))


@needs("queue", "penstock:ListReceivers")
def list_receivers(name: str, context: Context) -> Operation[list[ReceiverDescription]]:
    """Returns a queue's receivers of the last day, up to 100, latest first. Raises QueueDoesNotExist."""
    arn = build_queue_arn(name, context)
    rows = yield from Call(LIST_RECEIVERS, (arn, MAX_RECEIVERS))
    if not rows:
        yield from handles.check_queue(arn)
    return [
        ReceiverDescription(
            caller=row.caller,
            user_agent=row.agent,
            address=row.address,
            first_received_at=format_timestamp(row.first_at_ms),
            last_received_at=format_timestamp(row.last_at_ms),
            messages=row.received,
        )
        for row in rows
    ]


# --- measurements ----------------------------------------------------------------------------------------------------
MAX_OBSERVED: Final = QUEUES_PER_READ[RECENT]
MAX_HISTORIES: Final = QUEUES_PER_READ[KEPT]


class ObservedQueue(NamedTuple):
    """A queue's description, and its last measurement, minutes and verdict."""

    queue: QueueDescription
    seen: Observed


@needs("queue", "sqs:GetQueueAttributes", "penstock:GetQueueMetrics")
def read_queue(name: str, context: Context) -> Operation[ObservedQueue]:
    """Returns a queue. Raises QueueDoesNotExist."""
    described = yield from describe_queue(name, context)
    seen = yield from _observe([described.arn], context)
    if described.arn not in seen:  # Another request has just deleted the queue.
        raise errors.QueueDoesNotExist
    return ObservedQueue(described, seen[described.arn])


class WantedQueues(NamedTuple):
    """A page of a list of queues: up to `limit` queues whose names contain `search`, after the first `skip` queues.

    `sort` is a column of `queue.read_queue_page`, or `trouble` or `dead`, which begin with the queues in `first`. The
    sort `dead` has only dead-letter queues.
    """

    search: str
    sort: str
    descending: bool
    first: list[str]
    skip: int
    limit: int


@needs("account", "sqs:ListQueues", "penstock:GetLag")
def read_queue_page(wanted: WantedQueues, context: Context) -> Operation[list[tuple[QueuePageRow, Observed | None]]]:
    """Returns a page of queues, which is empty beyond the last queue. A queue that another request has just deleted has
    no measurement.
    """
    rows = yield from Call(READ_QUEUE_PAGE, (context.account_id, context.region, *wanted))
    seen = yield from _observe([row.arn for row in rows], context)
    return [(row, seen.get(row.arn)) for row in rows]


def _observe(arns: list[str], context: Context) -> Operation[dict[str, Observed]]:
    """Returns the existing queues by ARN. Reads only the first 60 ARNs, and the complete history of five queues."""
    limit = context.environment.settings.queue_in_flight_limit
    return (yield from observe(arns[:MAX_OBSERVED], limit, histories=MAX_HISTORIES))


def is_queue(arn: str) -> Operation[bool]:
    """Returns whether a queue exists. The caller has checked the user's rights."""
    return not (yield from Call(DELETED_QUEUES, ([arn],)))
