"""Declares the actions that a caller's policies must allow for an operation, a page or a tool.

    @needs("queue", "sqs:PurgeQueue")
    def purge_queue(name: str, context: Context) -> Operation[int]: ...

An operation checks its own right, so every interface checks it. `right_of` returns the right for routes,
screens and tools. Each check uses the same ARN as the AWS API, so a policy has the same effect at every interface.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Final, Literal, NamedTuple, ParamSpec, TypeVar, cast

from penstock.access.audit.acts import find_context
from penstock.access.authorization import authorize_one, check_anywhere, check_user
from penstock.access.resources import ANY, build_mapping_arn
from penstock.access.users import build_user_arn
from penstock.aws.schedule_arn import schedule_arn, split_schedule_key
from penstock.aws.sns_arn import TopicArn
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Operation
from penstock.errors import AccessDenied

from .actions import KNOWN_ACTIONS

Scope = Literal[
    "account", "queue", "topic", "subscription", "schedule", "schedules", "mapping", "mappings", "user", "operation"
]
P = ParamSpec("P")
T = TypeVar("T")
RIGHT: Final = "penstock_right"


class Right(NamedTuple):
    """The actions that a caller's policies must allow for an operation, a page or a tool. A right without actions is
    granted to every key and session.

    `scope` selects the resource: `*`, or the resource that the request names. The policy of a queue or topic also
    applies. If `scope` is `operation`, only the operation can find the resource. `is_public` means that the request
    needs no key. `is_of_operation` means that the operation, and not the page or the tool, checks the right.
    """

    actions: tuple[str, ...] = ()
    scope: Scope = "account"
    is_public: bool = False
    is_of_operation: bool = False


PUBLIC: Final = Right(is_public=True)
SIGNED_IN: Final = Right()


def require(*actions: str) -> Right:
    """Returns the right for these actions in the account. Raises ValueError for an unknown action."""
    return require_on("account", *actions)


def require_on(scope: Scope, *actions: str) -> Right:
    """Returns the right for these actions on the resource of a scope. Raises ValueError for an unknown action."""
    unknown = [action for action in actions if action not in KNOWN_ACTIONS]
    if unknown or not actions:
        raise ValueError(f"unknown policy actions: {unknown}")
    return Right(actions, scope)


def needs(scope: Scope, *actions: str) -> Callable[[Callable[P, Operation[T]]], Callable[P, Operation[T]]]:
    """Decorates an operation that checks a right first. The operation's first arguments name the resource.

    If the scope is `operation`, the operation checks the right after it has found the resource. Raises ValueError for
    an unknown action.
    """
    right = require_on(scope, *actions)._replace(is_of_operation=True)

    def decorate(function: Callable[P, Operation[T]]) -> Callable[P, Operation[T]]:
        @wraps(function)
        def operation(*arguments: P.args, **named: P.kwargs) -> Operation[T]:
            context = cast("Context", find_context(arguments, named))
            yield from authorize(right, cast("Sequence[str]", arguments), context)
            return (yield from function(*arguments, **named))

        decorated = function if scope == "operation" else operation
        decorated.__dict__[RIGHT] = right
        return decorated

    return decorate


def right_of(operation: Callable[..., object], *further: Callable[..., object]) -> Right:
    """Returns the right that an operation checks, with the actions of further operations on the same resource.

    Raises TypeError if the operation does not declare a right.
    """
    right: Right | None = getattr(operation, RIGHT, None)
    if right is None:
        raise TypeError(f"{operation.__qualname__} checks no right: declare one with @needs")
    actions = (action for other in further for action in right_of(other).actions)
    return right._replace(actions=tuple(dict.fromkeys((*right.actions, *actions))))


def show(reading: Operation[T]) -> Operation[T | None]:
    """Returns the result of an operation that reads, or None if the caller does not have the operation's right.

    An operation that changes a resource shows the resource only to callers who can read it.
    """
    try:
        return (yield from reading)
    except AccessDenied:
        return None


def authorize_request(right: Right, names: Sequence[str], context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller has the right. `names` are the parameters in the request's path.

    If the operation checks a right on a resource, this function refuses only callers whose policies do not allow the
    action on any resource. Such callers learn nothing about the request. Policies of queues and topics can also allow
    an action, so only the operation checks rights on queues and topics.
    """
    if not right.is_of_operation or right.scope == "account":
        yield from authorize(right, names, context)
    elif context.user is not None and right.scope not in OWNED:
        for action in right.actions:
            service, _, action_name = action.partition(":")
            check_anywhere(service, action_name, context)


def authorize(right: Right, names: Sequence[str], context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller has the right on the resource at the start of `names`.

    Every caller has every right unless QUEUE_ACCESS is `sigv4`.
    """
    if context.user is None:
        return
    arn = BUILDERS[right.scope](names, context)
    for action in right.actions:
        service, _, action_name = action.partition(":")
        if service == OWNED.get(right.scope) and "\0" not in arn:  # no resource of this name has a policy
            yield from authorize_one(service, action_name, arn, context)
        else:
            check_user(service, action_name, arn, context)


OWNED: Final = {"queue": "sqs", "topic": "sns", "subscription": "sns"}
"""The service whose resources have policies, by scope."""


def build_topic_arn(name: str, context: Context) -> str:
    """Returns the ARN of a topic of the caller's account."""
    return str(TopicArn(context.region, context.account_id, name))


def build_schedule_arn(key: str, context: Context) -> str:
    """Returns the ARN of a schedule. `key` is the schedule's name, or `GROUP:NAME` outside of the group `default`."""
    return schedule_arn(context.region, context.account_id, *split_schedule_key(key))


BUILDERS: Final[dict[Scope, Callable[[Sequence[str], Context], str]]] = {
    "account": lambda _, __: ANY,
    "operation": lambda _, __: ANY,
    "queue": lambda names, context: build_queue_arn(names[0], context),
    "topic": lambda names, context: build_topic_arn(names[0], context),
    "subscription": lambda names, context: f"{build_topic_arn(names[0], context)}:{names[1]}",
    "schedule": lambda names, context: build_schedule_arn(names[0], context),
    "schedules": lambda _, context: build_schedule_arn(ANY, context),
    "mapping": lambda names, context: build_mapping_arn(names[0], context),
    "mappings": lambda _, context: build_mapping_arn(ANY, context),
    "user": lambda names, context: build_user_arn(context.account_id, names[0]),
}
"""The function that builds the resource's ARN, by scope."""
