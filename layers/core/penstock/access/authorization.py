"""Authorization for QUEUE_ACCESS=sigv4: decides whether policies let the caller perform an action.

An account can use its own queues and topics unless a policy denies the action, and can always read and change their
policies. Another account needs an Allow. The error for another account is the same for a missing resource as for a
resource without a policy. Penstock checks a schedule's target when the schedule is created or updated. AWS checks a
role when the schedule fires.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from penstock.aws.arn import read_account
from penstock.effects import BatchCall, Operation
from penstock.errors import AccessDenied
from penstock.postgres.statement import BatchStatement
from penstock.postgres.statements.access import READ_POLICIES, READ_TOPIC_POLICIES, PolicyRow, ResourceEntry
from penstock.postgres.statements.event_buses import READ_EVENT_POLICIES

from .context import RequestContext
from .denial import Policies, build_action_name, build_denial
from .policy.evaluation import Decision, evaluate
from .policy.requests import AccessRequest
from .resources import ANY, ActingService, Uses
from .topic_actions import OWNER_ACTIONS

T = TypeVar("T")


class AuthorizedAction(Protocol):
    """The columns of an action's row (`penstock.actions.Action`) that authorization reads."""

    @property
    def service(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def resources(self) -> Callable[[Any, Any], Uses]:
        """Returns a function that lists a request's resources."""


@dataclass(frozen=True, slots=True)
class ServiceRules:
    """The access rules of one service. The fields contain action names.

    An owner can permit `grantable_actions` to other accounts. Only the owner can perform actions outside
    `grantable_actions`. No policy can deny `owner_always_allowed` to the owner's account. On AWS the root user can
    always perform the actions in `owner_always_allowed` ("AWS actions for project owners"). The account that owns a
    subscription's queue can perform `receiver_actions` on the subscription. `policy_statement` reads the policies of
    resources.
    """

    grantable_actions: frozenset[str]
    owner_always_allowed: frozenset[str]
    receiver_actions: frozenset[str]
    policy_statement: BatchStatement[ResourceEntry, PolicyRow]


def authorize(action: AuthorizedAction, request: Struct, context: RequestContext) -> Operation[None]:
    """Raises AccessDenied (AuthorizationError in SNS) unless the caller can perform the action.

    Reads the policies for each request. Concurrent requests share a query.
    """
    for use in action.resources(request, context):
        service, name = use.action or (action.service, action.name)
        if use.is_owned:
            yield from authorize_one(service, name, use.arn, context, use.acting, use.entries)
        else:
            check_user(service, name, use.arn, context)


def check_user(service: str, action: str, arn: str, context: RequestContext) -> None:
    """Raises AccessDenied unless the user's own policies allow the action. Callers use this function for actions that
    resource policies cannot allow."""
    request = build_access_request(service, action, arn, context)
    decision = context.caller.decide(request)
    if decision is not Decision.ALLOWED:
        explicit = decision is Decision.DENIED
        raise deny(service, action, arn, context, Policies.IDENTITY, explicit=explicit)


def check_anywhere(service: str, action: str, context: RequestContext) -> None:
    """Raises AccessDenied if the user's policies do not allow the action on any resource."""
    if not context.caller.may_ever(build_action(service, action)):
        raise deny(service, action, ANY, context, Policies.IDENTITY)


def check_everywhere(service: str, action: str, context: RequestContext) -> None:
    """Raises AccessDenied unless the user's policies allow the action on all resources, and deny it for none. Callers
    use this function if only a later time shows the resource."""
    check_user(service, action, ANY, context)
    if context.caller.is_ever_denied(build_action(service, action)):
        raise deny(service, action, ANY, context, Policies.IDENTITY, explicit=True)


def deny(
    service: str, action: str, arn: str, context: RequestContext, policies: Policies, *, explicit: bool = False
) -> AccessDenied:
    """Returns the AccessDenied error for the request's caller. In the REST API and the console the error spells actions
    as policies do."""
    name = build_action_name(service, action, for_policies=context.shows_policy_names)
    return build_denial(name, arn, context.caller.principal, policies, explicit=explicit)


def is_user_allowed(service: str, action: str, arn: str, context: RequestContext) -> bool:
    """Returns whether `check_user` would accept the caller."""
    return context.caller.decide(build_access_request(service, action, arn, context)) is Decision.ALLOWED


def build_access_request(service: str, action: str, arn: str, context: RequestContext) -> AccessRequest:
    """Returns the request for policy evaluation. A batch action has the name of its single action."""
    return AccessRequest(context.caller.principal, build_action(service, action), arn, context.condition_keys)


def build_action(service: str, action: str) -> str:
    """Returns the action's name for policies, in lower case. A batch action has the name of its single action."""
    return f"{service}:{action.removesuffix('Batch')}".lower()


def authorize_one(
    service: str,
    action: str,
    arn: str,
    context: RequestContext,
    acting: ActingService | None = None,
    entries: Sequence[Mapping[str, str]] = (),
) -> Operation[None]:
    """Raises AccessDenied unless the caller, or the service that acts for the resource, can use the queue or topic.

    `entries` contains the further condition keys of each entry of the request.
    """
    rows = yield from BatchCall(RULES[service].policy_statement, [ResourceEntry(arn)])
    row = rows[0] if rows else PolicyRow(1, None, read_account(arn), None)
    request = build_access_request(service, action, arn, context)
    for keys in entries or ({},):
        check_policies(service, action, row, request._replace(keys={**request.keys, **keys}), context, acting)


def authorize_each(service: str, action: str, arns: Sequence[str], context: RequestContext) -> Operation[None]:
    """Raises AccessDenied unless the caller can perform the action on every queue or topic."""
    entries = [ResourceEntry(arn) for arn in arns]
    found = {row.n: row for row in (yield from BatchCall(RULES[service].policy_statement, entries))}
    for number, arn in enumerate(arns, 1):
        row = found.get(number) or PolicyRow(number, None, read_account(arn), None)
        check_policies(service, action, row, build_access_request(service, action, arn, context), context, None)


def check_policies(
    service: str,
    action: str,
    row: PolicyRow,
    request: AccessRequest,
    context: RequestContext,
    acting: ActingService | None,
) -> None:
    """Raises AccessDenied unless the policies of the caller and of the resource in `row` allow the request."""
    rules, arn = RULES[service], request.arn
    of_user = context.caller.decide(request)
    if context.account_id == row.receiver and action in rules.receiver_actions:
        row = row._replace(owner=context.account_id)
    foreign = context.account_id not in (row.owner, read_account(arn))
    if request.principal.is_root and not foreign and action in rules.owner_always_allowed:
        return
    decisions = [evaluate(row.policy, request)]
    if acting is not None:
        decisions.append(evaluate(row.policy, request._replace(principal=acting.principal, keys=acting.keys)))
    if not is_permitted(of_user, decisions, foreign=foreign, grantable=action in rules.grantable_actions):
        policies, explicit = find_refusing_policies(of_user, decisions, foreign=foreign)
        raise deny(service, action, arn, context, policies, explicit=explicit)


def is_permitted(of_user: Decision, of_resource: list[Decision], *, foreign: bool, grantable: bool) -> bool:
    """Returns whether the policies of a user and a resource permit the action.

    A Deny in either policy wins. If the resource belongs to another account (`foreign`), both policies must allow the
    action. Within one account, one Allow suffices ("Policy evaluation logic", IAM User Guide). `grantable` means that
    the owner can permit the action to others.
    """
    if Decision.DENIED in (of_user, *of_resource):
        return False
    if foreign:
        granted = Decision.ALLOWED in of_resource or Decision.ACCOUNT_ALLOWED in of_resource
        return grantable and granted and of_user is Decision.ALLOWED
    return of_user is Decision.ALLOWED or (grantable and Decision.ALLOWED in of_resource)


def find_refusing_policies(of_user: Decision, of_resource: list[Decision], *, foreign: bool) -> tuple[Policies, bool]:
    """Returns the policies that the error names, and whether a Deny caused the refusal.

    The error does not show other accounts a Deny of the resource, because the Deny would reveal that the resource
    exists.
    """
    if of_user is Decision.DENIED:
        return Policies.IDENTITY, True
    if foreign:
        return (Policies.RESOURCE if of_user is Decision.ALLOWED else Policies.IDENTITY), False
    is_denied = Decision.DENIED in of_resource
    return (Policies.RESOURCE if is_denied else Policies.IDENTITY), is_denied


RULES = {
    "sqs": ServiceRules(
        grantable_actions=frozenset((
            "ChangeMessageVisibility", "ChangeMessageVisibilityBatch", "DeleteMessage", "DeleteMessageBatch",
            "GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage",
            "SendMessage", "SendMessageBatch",
        )),  # "Overview of managing access", SQS Developer Guide
        owner_always_allowed=frozenset(("GetQueueAttributes", "SetQueueAttributes")),
        receiver_actions=frozenset(),
        policy_statement=READ_POLICIES,
    ),
    "sns": ServiceRules(
        grantable_actions=frozenset((*OWNER_ACTIONS, "PublishBatch")),
        owner_always_allowed=frozenset(("GetTopicAttributes", "SetTopicAttributes")),
        receiver_actions=frozenset(("GetSubscriptionAttributes", "Unsubscribe")),
        policy_statement=READ_TOPIC_POLICIES,
    ),
    "events": ServiceRules(
        grantable_actions=frozenset((
            "CreateEventSource", "CreateSubscriber", "DescribeEventBus", "ListEventSources", "ListSubscribers",
            "PutEvents", "PutRawEvents", "UpdateSubscriber",
        )),
        owner_always_allowed=frozenset(("GetResourcePolicy", "PutResourcePolicy", "DeleteResourcePolicy")),
        receiver_actions=frozenset(),
        policy_statement=READ_EVENT_POLICIES,
    ),
}  # fmt: skip
