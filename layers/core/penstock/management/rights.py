"""Declares the rights that a route, a page or a tool requires of the caller's policies."""

from typing import Final, Literal, NamedTuple

from penstock.access.authorization import authorize_one, check_user
from penstock.access.resources import ANY
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.effects import Operation

from .actions import KNOWN_ACTIONS
from .topics import build_topic_arn

Scope = Literal["account", "queue", "topic"]


class Right(NamedTuple):
    """A right. The caller's policies must allow all `actions`. Without actions every key and every session has the
    right.

    `scope` says what the policies must allow them on: `*`, or the queue or topic that the request names. The policy of
    that queue or topic counts, too. `is_public` means that the request needs no key.
    """

    actions: tuple[str, ...] = ()
    scope: Scope = "account"
    is_public: bool = False


PUBLIC: Final = Right(is_public=True)
SIGNED_IN: Final = Right()


def require(*actions: str) -> Right:
    """Returns the right to perform these actions in the account. Raises ValueError for an unknown action."""
    return _build_right(actions, "account")


def require_on_queue(*actions: str) -> Right:
    """Returns the right to perform these actions on the queue that the request names.

    Raises ValueError as `require` does.
    """
    return _build_right(actions, "queue")


def require_on_topic(*actions: str) -> Right:
    """Returns the right to perform these actions on the topic that the request names.

    Raises ValueError as `require` does.
    """
    return _build_right(actions, "topic")


def _build_right(actions: tuple[str, ...], scope: Scope) -> Right:
    unknown = [action for action in actions if action not in KNOWN_ACTIONS]
    if unknown or not actions:
        raise ValueError(f"a right names actions of policies; these do not exist: {unknown}")
    return Right(actions, scope)


def authorize(right: Right, name: str | None, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller has the right. `name` is the name of its queue or topic.

    Keys of the account itself have every right here, so that they can repair policies.
    """
    if context.caller.principal.is_root:
        return
    arn = _build_arn(right.scope, name, context)
    for action in right.actions:
        service, _, action_name = action.partition(":")
        if right.scope == "topic" or (right.scope == "queue" and service == "sqs"):
            yield from authorize_one(service, action_name, arn, context)
        else:
            check_user(service, action_name, arn, context)


def _build_arn(scope: Scope, name: str | None, context: Context) -> str:
    if scope == "account" or name is None:
        return ANY
    return build_queue_arn(name, context) if scope == "queue" else build_topic_arn(name, context)
