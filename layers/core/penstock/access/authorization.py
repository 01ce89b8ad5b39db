"""Authorization for QUEUE_ACCESS=sigv4: whether policies let the caller's account perform an action.

An account may do everything with its own queues and topics that their policies do not deny, and may always read and
change these policies. Another account needs an Allow; a resource that does not exist is denied to it like one without a
policy. A schedule may send to a target if the account that sets it may do so at that moment; on AWS a role decides when
the schedule fires.
"""

from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec

from penstock.aws.arn import is_account_id, parse_queue_arn, queue_arn
from penstock.aws.schedule_arn import DEFAULT_GROUP, schedule_arn
from penstock.aws.topic_arn import parse_topic_arn, topic_of_subscription
from penstock.effects import BatchCall, BatchStatement, Operation
from penstock.errors import AccessDenied
from penstock.http import HttpRequest
from penstock.postgres.statements.access import (
    READ_POLICIES,
    READ_TOPIC_POLICIES,
    PolicyRow,
    ResourceEntry,
)

from .policy.evaluation import Verdict, evaluate
from .policy.requests import AccessRequest, Principal
from .topic_actions import OWNER_ACTIONS

LONGEST_TASK_HANDLE = 1_024
# Members that name a topic by its ARN.
TOPIC_MEMBERS = ("topic_arn", "target_arn", "resource_arn", "subscription_arn")


class RequestContext(Protocol):
    """The context of a request, as far as it matters here: `penstock.context.Context`."""

    account_id: str
    region: str
    http: HttpRequest
    user: Principal | None

    @property
    def principal(self) -> Principal:
        """The caller."""

    @property
    def condition_keys(self) -> dict[str, str]:
        """What conditions may compare."""

    def queue_arn(self, queue_url: str, /) -> str:
        """The ARN of the queue at an address. Raises InvalidAddress or QueueDoesNotExist."""


ResourceArns = Callable[[object, RequestContext], list[str]]


@dataclass(frozen=True, slots=True)
class ServiceRules:
    """The access rules of one service. Actions are given by name.

    `account_actions` concern the caller's account and no existing queue or topic. `grantable_actions` are those that an
    owner can permit to other accounts; every other action, and so every new one, is for the owner alone.
    `owner_always_allowed`: no policy denies these to the owner's account (on AWS the root user can always do them, "AWS
    actions for project owners"). `receiver_actions`: the account whose queue a subscription delivers to may do these
    with the subscription. `policy_statement` reads the policies of the resources that `resource_arns` finds.
    """

    account_actions: frozenset[str]
    grantable_actions: frozenset[str]
    owner_always_allowed: frozenset[str]
    receiver_actions: frozenset[str]
    resource_arns: ResourceArns
    policy_statement: BatchStatement[ResourceEntry, PolicyRow]


def authorize(service: str, action: str, request: object, context: RequestContext) -> Operation[None]:
    """Raises AccessDenied (which SNS calls AuthorizationError) unless the caller's account may do this.

    Policies are read for each request, those of concurrent requests in one call.
    """
    if service == "scheduler":
        yield from authorize_targets(request, context)
        return
    rules = RULES[service]
    if action not in rules.account_actions:
        for arn in rules.resource_arns(request, context):
            yield from authorize_one(service, action, arn, context)
    if action == "StartMessageMoveTask":
        destination = getattr(request, "destination_arn", None)
        if destination and parse_queue_arn(destination) is not None:
            yield from authorize_one("sqs", "SendMessage", destination, context)


def authorize_targets(request: object, context: RequestContext) -> Operation[None]:
    """Raises AccessDenied unless a schedule may send to its target and its dead-letter queue."""
    for arn in invoked_arns(request):
        invoked = INVOKES.get(arn.split(":")[2])
        if invoked is not None:
            yield from authorize_one(*invoked, arn, context, acting_schedule(request, context))
        elif arn.split(":")[4] != context.account_id:
            raise AccessDenied(f"Access to the resource {arn} is denied.")


class ActingService(NamedTuple):
    """A service that does it later, for a resource of the caller's: policies may allow it instead of the caller."""

    principal: Principal
    keys: dict[str, str]


def acting_schedule(request: object, context: RequestContext) -> ActingService:
    """EventBridge Scheduler, for the schedule that a request makes or changes."""
    group = getattr(request, "group_name", None) or DEFAULT_GROUP
    arn = schedule_arn(context.region, context.account_id, group, getattr(request, "name", ""))
    keys = {
        "aws:sourcearn": arn,
        "aws:sourceaccount": context.account_id,
        "aws:securetransport": "true",  # the message does not leave the database
    }
    return ActingService(Principal(None, None, "scheduler.amazonaws.com"), keys)


def authorize_one(
    service: str, action: str, arn: str, context: RequestContext, acting: ActingService | None = None
) -> Operation[None]:
    """Raises AccessDenied unless the caller may do this with the queue or topic, or the service that acts for it."""
    rules = RULES[service]
    rows = yield from BatchCall(rules.policy_statement, [ResourceEntry(arn)])
    account_id = arn.split(":")[4]
    (row,) = rows or [PolicyRow(1, None, account_id, None)]
    if context.account_id == row.receiver and action in rules.receiver_actions:
        return
    foreign = context.account_id not in (row.owner, account_id)
    if not foreign and action in rules.owner_always_allowed:
        return
    verdicts: list[Verdict] = []
    if row.policy is not None:
        name = f"{service}:{action.removesuffix('Batch')}".lower()
        verdicts.append(
            evaluate(row.policy, AccessRequest(context.principal, name, arn, context.condition_keys))
        )
        if acting is not None:
            verdicts.append(evaluate(row.policy, AccessRequest(acting.principal, name, arn, acting.keys)))
    allowed = action in rules.grantable_actions and Verdict.ALLOWED in verdicts
    if Verdict.DENIED in verdicts or (foreign and not allowed):
        raise AccessDenied(f"Access to the resource {arn} is denied.")


def queues_of(request: object, context: RequestContext) -> list[str]:
    """ARNs of the queues that a request is about. Raises AccessDenied for a request that names none."""
    queue_url = getattr(request, "queue_url", None)
    if queue_url is not None:
        return [context.queue_arn(queue_url)]
    source = getattr(request, "source_arn", None)
    arns = [source] if source else []
    task_handle = getattr(request, "task_handle", None)
    if task_handle is not None:
        arns = [source_of_task(task_handle)]
    if arns:
        # The operation refuses a text that is no ARN of a queue.
        return [str(parsed) for arn in arns if (parsed := parse_queue_arn(arn)) is not None]
    if not (hasattr(request, "queue_owner_aws_account_id") and hasattr(request, "queue_name")):
        raise AccessDenied
    owner = request.queue_owner_aws_account_id or context.account_id
    arn = queue_arn(context.region, owner, request.queue_name) if is_account_id(owner) else None
    return [] if arn is None else [arn]  # the operation refuses a name that no queue can have


def source_of_task(task_handle: str) -> str:
    """The queue of a message move task, which its handle names (base64 of JSON); else an empty text."""
    try:
        document = msgspec.json.decode(b64decode(task_handle[:LONGEST_TASK_HANDLE], validate=True))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return ""
    return str(document.get("sourceArn", "")) if isinstance(document, dict) else ""


def topics_of(request: object, context: RequestContext) -> list[str]:  # noqa: ARG001 - the signature of queues_of
    """ARNs of the topic, or the subscription, that a request is about. The operation refuses other texts."""
    for member in TOPIC_MEMBERS:
        arn = getattr(request, member, None)
        if arn:
            known = parse_topic_arn(arn) if member != "subscription_arn" else topic_of_subscription(arn)
            return [arn] if known is not None else []
    return []


# The action of a schedule of EventBridge Scheduler on its target and its dead-letter queue, by service. Targets of
# other services have no policies: they must be the caller's own. So must schedules and groups themselves.
INVOKES = {"sqs": ("sqs", "SendMessage"), "sns": ("sns", "Publish")}


def invoked_arns(request: object) -> list[str]:
    """ARNs of the target and the dead-letter queue of a schedule. The operation refuses texts that are no ARNs."""
    target = getattr(request, "target", None)
    if target is None:
        return []
    dead_letters = None if target.dead_letter_config is None else target.dead_letter_config.arn
    return [
        arn
        for arn in (target.arn, dead_letters)
        if arn is not None
        and (parse_queue_arn(arn) is not None or parse_topic_arn(arn) is not None or is_other_arn(arn))
    ]


def is_other_arn(text: str) -> bool:
    """Whether this is an ARN of a service other than SQS and SNS."""
    parts = text.split(":", 5)
    return len(parts) == 6 and parts[0] == "arn" and parts[2] not in INVOKES


RULES = {
    "sqs": ServiceRules(
        account_actions=frozenset(("CreateQueue", "ListQueues")),
        grantable_actions=frozenset((
            "ChangeMessageVisibility", "ChangeMessageVisibilityBatch", "DeleteMessage", "DeleteMessageBatch",
            "GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage",
            "SendMessage", "SendMessageBatch",
        )),  # "Overview of managing access", SQS Developer Guide
        owner_always_allowed=frozenset(("GetQueueAttributes", "SetQueueAttributes")),
        receiver_actions=frozenset(),
        resource_arns=queues_of,
        policy_statement=READ_POLICIES,
    ),
    "sns": ServiceRules(
        account_actions=frozenset(("CreateTopic", "ListTopics", "ListSubscriptions")),
        grantable_actions=frozenset((*OWNER_ACTIONS, "PublishBatch")),
        owner_always_allowed=frozenset(("GetTopicAttributes", "SetTopicAttributes")),
        receiver_actions=frozenset(("GetSubscriptionAttributes", "Unsubscribe")),
        resource_arns=topics_of,
        policy_statement=READ_TOPIC_POLICIES,
    ),
}  # fmt: skip
