"""Authorization for QUEUE_ACCESS=sigv4: whether policies let the caller's account perform an action.

An account may do everything with its own queues and topics unless their policies deny it, and may always read and
change these policies. Another account needs an Allow; it is refused a missing resource like one without a policy. A
schedule may send to a target if its account may do so when it sets the schedule; on AWS a role decides when the
schedule fires.
"""

from base64 import b64decode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec

from penstock.aws.arn import is_account_id, parse_queue_arn, queue_arn
from penstock.aws.schedule_arn import DEFAULT_GROUP, GroupArn, schedule_arn
from penstock.aws.sns_arn import (
    parse_application_arn,
    parse_endpoint_arn,
    parse_topic_arn,
    topic_of_subscription,
)
from penstock.effects import BatchCall, BatchStatement, Operation
from penstock.errors import AccessDenied
from penstock.http import HttpRequest
from penstock.postgres.statements.access import (
    READ_POLICIES,
    READ_TOPIC_POLICIES,
    PolicyRow,
    ResourceEntry,
)

from . import request_rate
from .denial import Policies, make_denial
from .policy.evaluation import Decision, evaluate
from .policy.requests import AccessRequest, Principal
from .topic_actions import OWNER_ACTIONS
from .users import User

LONGEST_TASK_HANDLE = 1_024
# The resource for a user's policy if a request names none.
ANY = "*"
# Members that name a topic by its ARN.
TOPIC_MEMBERS = ("topic_arn", "target_arn", "resource_arn", "subscription_arn")
# Members that name a platform application or one of its endpoints. These have no policies: only their account uses
# them.
PLATFORM_MEMBERS = {
    "platform_application_arn": parse_application_arn,
    "endpoint_arn": parse_endpoint_arn,
    "target_arn": parse_endpoint_arn,
}


class RequestContext(Protocol):
    """The part of a request's context (`penstock.context.Context`) that this module uses."""

    account_id: str
    region: str
    http: HttpRequest
    user: User | None

    @property
    def caller(self) -> User:
        """The caller."""

    @property
    def client_address(self) -> str:
        """The caller's address; empty if unknown."""

    @property
    def condition_keys(self) -> dict[str, str]:
        """The values that conditions may compare."""

    @property
    def environment(self) -> request_rate.RateEnvironment:
        """The state that the requests of the process share."""

    def queue_arn(self, queue_url: str, /) -> str:
        """Returns the ARN of the queue at an address. Raises QueueDoesNotExist."""


NO_TOKENS = (
    "This service has no roles and gives no session tokens: it knows the access keys of `penstock keys`. If AWS itself "
    "was meant, AWS_ENDPOINT_URL moves every service here: set AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL_SNS and "
    "AWS_ENDPOINT_URL_SCHEDULER instead."
)

ResourceArns = Callable[[object, RequestContext], list[str]]


@dataclass(frozen=True, slots=True)
class ServiceRules:
    """The access rules of one service. The fields have names of actions.

    `account_actions` concern the caller's account and no existing queue or topic. An owner can permit
    `grantable_actions` to other accounts; every other action, and so every new one, is for the owner alone.
    `owner_always_allowed`: no policy denies these to the owner's account (on AWS the root user can always do them, "AWS
    actions for project owners"). `receiver_actions`: the account of the queue that a subscription delivers to may do
    these with the subscription. `policy_statement` reads the policies of the resources that `resource_arns` finds.
    """

    account_actions: frozenset[str]
    grantable_actions: frozenset[str]
    owner_always_allowed: frozenset[str]
    receiver_actions: frozenset[str]
    resource_arns: ResourceArns
    policy_statement: BatchStatement[ResourceEntry, PolicyRow]


def authorize(service: str, action: str, request: object, context: RequestContext) -> Operation[None]:
    """Raises AccessDenied (which SNS calls AuthorizationError) unless the caller may do this.

    It reads the policies for each request; concurrent requests share one call.
    """
    if service not in RULES:
        yield from authorize_other(service, action, request, context)
        return
    rules = RULES[service]
    if action in rules.account_actions:
        check_user(service, action, new_resource(service, request, context), context)
        return
    arns = rules.resource_arns(request, context)
    if not arns:  # the operation refuses the request
        check_user(service, action, ANY, context)
    for arn in arns:
        yield from authorize_one(service, action, arn, context)
    if getattr(request, "phone_number", None) is not None:  # of Publish
        check_user("penstock", "PublishToPhoneNumber", ANY, context)
    if action == "StartMessageMoveTask":
        destination = getattr(request, "destination_arn", None)
        if destination and parse_queue_arn(destination) is not None:
            yield from authorize_one("sqs", "SendMessage", destination, context)


def authorize_other(service: str, action: str, request: object, context: RequestContext) -> Operation[None]:
    """Returns the same for services without resource policies: Scheduler, and STS, which requires no permission."""
    if service == "scheduler":
        check_user("scheduler", action, find_schedule_arn(action, request, context), context)
        yield from authorize_targets(request, context)
    elif service == "lambda":  # the operations check the queue
        check_user("lambda", action, find_mapping_arn(request, context), context)
    elif action != "GetCallerIdentity":
        raise AccessDenied(NO_TOKENS)


def new_resource(service: str, request: object, context: RequestContext) -> str:
    """Returns the ARN of the queue, topic or application that a request creates; `*` if it concerns the account."""
    name = getattr(request, "queue_name", None) or getattr(request, "name", None)
    platform = getattr(request, "platform", None)
    if platform is not None:
        name = f"app/{platform}/{name}"
    return ANY if name is None else f"arn:aws:{service}:{context.region}:{context.account_id}:{name}"


def check_user(service: str, action: str, arn: str, context: RequestContext) -> None:
    """Raises AccessDenied unless the user's policies allow an action that no other policy can allow."""
    request = access_request(service, action, arn, context)
    verdict = context.caller.verdict(request)
    if verdict is not Decision.ALLOWED:
        explicit = verdict is Decision.DENIED
        raise make_denial(service, action, arn, request.principal, Policies.IDENTITY, explicit=explicit)


def is_user_allowed(service: str, action: str, arn: str, context: RequestContext) -> bool:
    """Returns whether `check_user` would accept the caller."""
    return context.caller.verdict(access_request(service, action, arn, context)) is Decision.ALLOWED


def access_request(service: str, action: str, arn: str, context: RequestContext) -> AccessRequest:
    """Returns the request in the form that policies evaluate. A batch has the name of its single action."""
    name = f"{service}:{action.removesuffix('Batch')}".lower()
    return AccessRequest(context.caller.principal, name, arn, context.condition_keys)


def authorize_targets(request: object, context: RequestContext) -> Operation[None]:
    """Raises AccessDenied unless a schedule may send to its target and its dead-letter queue."""
    for arn in list_invoked_arns(request):
        invoked = INVOKES.get(arn.split(":")[2])
        if invoked is not None:
            yield from authorize_one(*invoked, arn, context, acting_schedule(request, context))
        elif arn.split(":")[4] != context.account_id:
            raise AccessDenied(f"Access to the resource {arn} is denied.")


class ActingService(NamedTuple):
    """A service that acts later for the caller's resource: policies may allow the service instead of the caller."""

    principal: Principal
    keys: dict[str, str]


def acting_schedule(request: object, context: RequestContext) -> ActingService:
    """EventBridge Scheduler, for the schedule that a request creates or changes."""
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
    """Raises AccessDenied unless the caller, or the service that acts for it, may do this with the queue or topic."""
    rows = yield from BatchCall(RULES[service].policy_statement, [ResourceEntry(arn)])
    row = rows[0] if rows else PolicyRow(1, None, arn.split(":")[4], None)
    check_policies(service, action, arn, row, context, acting)


def authorize_each(
    service: str, action: str, arns: Sequence[str], context: RequestContext
) -> Operation[None]:
    """Raises AccessDenied unless the caller may do this with every one of these queues or topics."""
    entries = [ResourceEntry(arn) for arn in arns]
    found = {row.n: row for row in (yield from BatchCall(RULES[service].policy_statement, entries))}
    for number, arn in enumerate(arns, 1):
        row = found.get(number) or PolicyRow(number, None, arn.split(":")[4], None)
        check_policies(service, action, arn, row, context, None)


def check_policies(
    service: str,
    action: str,
    arn: str,
    row: PolicyRow,
    context: RequestContext,
    acting: ActingService | None,
) -> None:
    """Raises AccessDenied unless policies of the caller and of the queue or topic in `row` allow this."""
    rules = RULES[service]
    request = access_request(service, action, arn, context)
    of_user = context.caller.verdict(request)
    if context.account_id == row.receiver and action in rules.receiver_actions:
        row = row._replace(owner=context.account_id)
    foreign = context.account_id not in (row.owner, arn.split(":")[4])
    if request.principal.is_root and not foreign and action in rules.owner_always_allowed:
        return
    verdicts = [evaluate(row.policy, request)]
    if acting is not None:
        verdicts.append(evaluate(row.policy, request._replace(principal=acting.principal, keys=acting.keys)))
    if not is_permitted(of_user, verdicts, foreign=foreign, grantable=action in rules.grantable_actions):
        policies, explicit = refusing_policies(of_user, verdicts, foreign=foreign)
        raise make_denial(service, action, arn, request.principal, policies, explicit=explicit)


def is_permitted(of_user: Decision, of_resource: list[Decision], *, foreign: bool, grantable: bool) -> bool:
    """Returns whether the policies of a user and of a queue or topic let the user do something with it.

    `foreign`: it belongs to another account, so both policies have to allow the action; otherwise one of them ("Policy
    evaluation logic", IAM User Guide). `grantable`: the owner can permit this to others. A Deny of either policy
    decides.
    """
    if Decision.DENIED in (of_user, *of_resource):
        return False
    if foreign:
        granted = Decision.ALLOWED in of_resource or Decision.ACCOUNT_ALLOWED in of_resource
        return grantable and granted and of_user is Decision.ALLOWED
    return of_user is Decision.ALLOWED or (grantable and Decision.ALLOWED in of_resource)


def refusing_policies(
    of_user: Decision, of_resource: list[Decision], *, foreign: bool
) -> tuple[Policies, bool]:
    """Returns the policies that the refusal names, and whether their Deny decided.

    Other accounts do not see a Deny of the resource, since it would reveal that the resource exists.
    """
    if of_user is Decision.DENIED:
        return Policies.IDENTITY, True
    if foreign:
        return (Policies.RESOURCE if of_user is Decision.ALLOWED else Policies.IDENTITY), False
    is_denied = Decision.DENIED in of_resource
    return (Policies.RESOURCE if is_denied else Policies.IDENTITY), is_denied


def list_queues(request: object, context: RequestContext) -> list[str]:
    """ARNs of the queues of a request. Raises AccessDenied for a request that names none."""
    queue_url = getattr(request, "queue_url", None)
    if queue_url is not None:
        return [context.queue_arn(queue_url)]
    source = getattr(request, "source_arn", None)
    arns = [source] if source else []
    task_handle = getattr(request, "task_handle", None)
    if task_handle is not None:
        arns = [source_of_task(task_handle)]
    if arns:
        # The operation refuses a text that is not a queue's ARN.
        return [str(parsed) for arn in arns if (parsed := parse_queue_arn(arn)) is not None]
    if not (hasattr(request, "queue_owner_aws_account_id") and hasattr(request, "queue_name")):
        raise AccessDenied
    owner = request.queue_owner_aws_account_id or context.account_id
    arn = queue_arn(context.region, owner, request.queue_name) if is_account_id(owner) else None
    return [] if arn is None else [arn]  # the operation refuses a name that no queue can have


def source_of_task(task_handle: str) -> str:
    """Returns the queue of a message move task, which its handle names (base64 of JSON); else an empty text."""
    try:
        document = msgspec.json.decode(b64decode(task_handle[:LONGEST_TASK_HANDLE], validate=True))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return ""
    return str(document.get("sourceArn", "")) if isinstance(document, dict) else ""


def list_topics(request: object, context: RequestContext) -> list[str]:  # noqa: ARG001 - the signature of list_queues
    """ARNs of a request's topic, subscription, platform application or endpoint.

    The operation refuses other texts.
    """
    for member in TOPIC_MEMBERS:
        arn = getattr(request, member, None)
        if arn:
            known = parse_topic_arn(arn) if member != "subscription_arn" else topic_of_subscription(arn)
            if known is not None:
                return [arn]
    for member, parse in PLATFORM_MEMBERS.items():
        arn = getattr(request, member, None)
        if arn and parse(arn) is not None:
            return [arn]
    return []


def find_mapping_arn(request: object, context: RequestContext) -> str:
    """Returns the ARN of a request's event source mapping; with `*` for its id if the request names none."""
    given = getattr(request, "resource", None)
    name = getattr(request, "uuid", None) or "*"
    return str(given or f"arn:aws:lambda:{context.region}:{context.account_id}:event-source-mapping:{name}")


def find_schedule_arn(action: str, request: object, context: RequestContext) -> str:
    """Returns the ARN of a request's schedule or group; with `*` for its name if the request concerns all."""
    given = getattr(request, "resource_arn", None)
    if given is not None:
        return str(given)
    name, group = getattr(request, "name", None) or "*", getattr(request, "group_name", None)
    if action.endswith("ScheduleGroup") or action == "ListScheduleGroups":
        return str(GroupArn(context.region, context.account_id, name))
    return schedule_arn(context.region, context.account_id, group or DEFAULT_GROUP, name)


# The action of a schedule of EventBridge Scheduler on its target and its dead-letter queue, by service. Targets of
# other services have no policies, so they must belong to the caller, as must schedules and groups.
INVOKES = {"sqs": ("sqs", "SendMessage"), "sns": ("sns", "Publish")}


def list_invoked_arns(request: object) -> list[str]:
    """ARNs of the target and the dead-letter queue of a schedule. The operation refuses texts that are not ARNs."""
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
    """Returns whether this is an ARN of a service other than SQS and SNS."""
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
        resource_arns=list_queues,
        policy_statement=READ_POLICIES,
    ),
    "sns": ServiceRules(
        account_actions=frozenset((
            "CreateTopic", "ListTopics", "ListSubscriptions", "CreatePlatformApplication", "ListPlatformApplications",
            "SetSMSAttributes", "GetSMSAttributes", "CheckIfPhoneNumberIsOptedOut", "ListPhoneNumbersOptedOut",
            "OptInPhoneNumber", "ListOriginationNumbers", "GetSMSSandboxAccountStatus", "CreateSMSSandboxPhoneNumber",
            "VerifySMSSandboxPhoneNumber", "DeleteSMSSandboxPhoneNumber", "ListSMSSandboxPhoneNumbers",
        )),
        grantable_actions=frozenset((*OWNER_ACTIONS, "PublishBatch")),
        owner_always_allowed=frozenset(("GetTopicAttributes", "SetTopicAttributes")),
        receiver_actions=frozenset(("GetSubscriptionAttributes", "Unsubscribe")),
        resource_arns=list_topics,
        policy_statement=READ_TOPIC_POLICIES,
    ),
}  # fmt: skip
