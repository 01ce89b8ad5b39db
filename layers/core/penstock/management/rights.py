"""Declares the rights that a route, a page or a tool requires of the caller's policies.

A right is asked with the ARN that the AWS API asks it with, so that one policy means the same at every interface.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from penstock.access.authorization import authorize_one, check_anywhere, check_user
from penstock.access.resources import ANY, build_mapping_arn
from penstock.access.users import build_user_arn
from penstock.aws.schedule_arn import DEFAULT_GROUP, schedule_arn
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Operation

from .actions import KNOWN_ACTIONS
from .topics import build_topic_arn

Scope = Literal[
    "account",
    "queue",
    "topic",
    "subscription",
    "schedule",
    "schedules",
    "mapping",
    "mappings",
    "user",
    "operation",
]
PathNames = Mapping[str, str]


class Right(NamedTuple):
    """A right. The caller's policies must allow all `actions`. Without actions every key and every session has the
    right.

    `scope` says what the policies must allow them on: `*`, or the resource that the request's path names. The policy of
    a queue or topic counts, too. With `operation`, the operation asks, since only it knows the resource. `is_public`
    means that the request needs no key.
    """

    actions: tuple[str, ...] = ()
    scope: Scope = "account"
    is_public: bool = False


PUBLIC: Final = Right(is_public=True)
SIGNED_IN: Final = Right()


def require(*actions: str) -> Right:
    """Returns the right to perform these actions in the account. Raises ValueError for an unknown action."""
    return require_on("account", *actions)


def require_on_queue(*actions: str) -> Right:
    """Returns the right to perform these actions on the queue that the request names.

    Raises ValueError as `require` does.
    """
    return require_on("queue", *actions)


def require_on_topic(*actions: str) -> Right:
    """Returns the right to perform these actions on the topic that the request names.

    Raises ValueError as `require` does.
    """
    return require_on("topic", *actions)


def require_on(scope: Scope, *actions: str) -> Right:
    """Returns the right to perform these actions on the resource of a scope. Raises ValueError as `require` does."""
    unknown = [action for action in actions if action not in KNOWN_ACTIONS]
    if unknown or not actions:
        raise ValueError(f"a right names actions of policies; these do not exist: {unknown}")
    return Right(actions, scope)


def authorize(right: Right, names: PathNames, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller has the right. `names` are the parameters of the request's path.

    Keys of the account itself have every right here, so that they can repair policies. If the operation asks for the
    right, this function refuses only callers who have it on no resource at all.
    """
    if context.caller.principal.is_root:
        return
    arn = BUILDERS[right.scope](names, context)
    for action in right.actions:
        service, _, action_name = action.partition(":")
        if right.scope == "operation":
            check_anywhere(service, action_name, context)
        elif service == OWNED.get(right.scope) and "\0" not in arn:  # no resource of this name has a policy
            yield from authorize_one(service, action_name, arn, context)
        else:
            check_user(service, action_name, arn, context)


OWNED: Final = {"queue": "sqs", "topic": "sns", "subscription": "sns"}
"""Maps a scope to the service whose resources have policies."""


def _choose_any(_: PathNames, __: Context) -> str:
    return ANY


def _build_subscription(names: PathNames, context: Context) -> str:
    return f"{build_topic_arn(names['topic'], context)}:{names['id']}"


def _build_schedule(names: PathNames, context: Context) -> str:
    return build_schedule_arn(names.get("schedule") or names["name"], context)


def _build_schedules(_: PathNames, context: Context) -> str:
    return build_schedule_arn(ANY, context)


def _build_mapping(names: PathNames, context: Context) -> str:
    return build_mapping_arn(names.get("mapping") or names["id"], context)


def _build_mappings(_: PathNames, context: Context) -> str:
    return build_mapping_arn(ANY, context)


def build_schedule_arn(name: str, context: Context) -> str:
    """Returns the ARN of a schedule of the group `default`, in which the REST API keeps its schedules."""
    return schedule_arn(context.region, context.account_id, DEFAULT_GROUP, name)


BUILDERS: Final[dict[Scope, Callable[[PathNames, Context], str]]] = {
    "account": _choose_any,
    "operation": _choose_any,
    "queue": lambda names, context: build_queue_arn(names["name"], context),
    "topic": lambda names, context: build_topic_arn(names["topic"], context),
    "subscription": _build_subscription,
    "schedule": _build_schedule,
    "schedules": _build_schedules,
    "mapping": _build_mapping,
    "mappings": _build_mappings,
    "user": lambda names, context: build_user_arn(context.account_id, names["user"]),
}
"""Maps a scope to the function that builds the ARN of its resource."""
