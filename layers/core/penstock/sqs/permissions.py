"""AddPermission and RemovePermission. The actions add and remove a statement, identified by its label, in a queue's
access policy.

An operation reads the policy, changes it, and writes it back. The operation starts again if another request has changed
the policy in the meantime.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.deliveries import judge_subscriptions
from penstock.aws.json_text import decode_json
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.queues import REPLACE_POLICY

from . import validation
from .attributes import MAX_VALUE_LENGTH
from .queues import describe
from .types import AddPermissionRequest, RemovePermissionRequest

Policy = dict[str, Any]  # a user's JSON document, which can have unknown members
Statements = list[Policy]

# The actions that a queue's owner can permit to others (AddPermission, API reference). `*` means all actions in the
# list.
GRANTABLE = (
    "SendMessage",
    "ReceiveMessage",
    "DeleteMessage",
    "ChangeMessageVisibility",
    "GetQueueAttributes",
    "GetQueueUrl",
)
MAX_STATEMENTS = 20
MAX_ACTIONS = 7

_attributes = msgspec.json.Decoder(dict[str, str])


@audited(
    lambda request, context: Act("sqs:AddPermission", context.queue_arn(request.queue_url), {"label": request.label})
)
def add_permission(request: AddPermissionRequest, context: Context) -> Operation[None]:
    """Allows other accounts to perform some actions on the queue, under a label."""
    arn = context.queue_arn(request.queue_url)
    validation.check_label(request.label)
    check_grant(request)
    statement = grant(arn, request)

    def add_statement(statements: Statements) -> Statements:
        if any(statement.get("Sid") == request.label for statement in statements):
            raise build_label_error(request.label, "Already exists.")
        if len(statements) >= MAX_STATEMENTS:
            raise errors.OverLimit(f"A policy can have at most {MAX_STATEMENTS} statements.")
        return [*statements, statement]

    yield from change_policy(arn, add_statement, context)


@audited(
    lambda request, context: Act("sqs:RemovePermission", context.queue_arn(request.queue_url), {"label": request.label})
)
def remove_permission(request: RemovePermissionRequest, context: Context) -> Operation[None]:
    def remove_statement(statements: Statements) -> Statements:
        left = [statement for statement in statements if statement.get("Sid") != request.label]
        if len(left) == len(statements):
            raise build_label_error(request.label, "can't find label.")
        return left

    yield from change_policy(context.queue_arn(request.queue_url), remove_statement, context)


def change_policy(arn: str, change: Callable[[Statements], Statements], context: Context) -> Operation[None]:
    """Applies a change to the statements of the queue's policy.

    Raises QueueDoesNotExist, and the errors of `change`.
    """
    replaced = False
    while not replaced:
        queue = yield from describe(arn)
        old = _attributes.decode(queue.attributes).get("Policy")
        new = apply_change(arn, old, change)
        if len((new or "").encode()) > MAX_VALUE_LENGTH:
            raise errors.OverLimit(f"A policy can have at most {MAX_VALUE_LENGTH} bytes.")
        subscriptions = yield from judge_subscriptions(arn, new, context)
        (row,) = yield from Call(REPLACE_POLICY, (arn, old, new, *subscriptions))
        if row.error is not None:
            raise errors.QueueDoesNotExist
        replaced = row.replaced


def apply_change(arn: str, old: str | None, change: Callable[[Statements], Statements]) -> str | None:
    """Returns the text of the changed policy, or None if no statement remains."""
    empty = {"Version": "2008-10-17", "Id": f"{arn}/SQSDefaultPolicy"}
    policy: Policy = decode_json(old) if old else empty
    statements = policy.get("Statement", [])
    policy["Statement"] = change([statements] if isinstance(statements, dict) else statements)
    return msgspec.json.encode(policy).decode() if policy["Statement"] else None


def grant(arn: str, request: AddPermissionRequest) -> Policy:
    """Returns the statement in SQS's format: one value is a string, several are a list."""
    principals = [f"arn:aws:iam::{account}:root" for account in request.aws_account_ids]
    actions = [f"SQS:{action}" for action in request.actions]
    return {
        "Sid": request.label,
        "Effect": "Allow",
        "Principal": {"AWS": unwrap_single(principals)},
        "Action": unwrap_single(actions),
        "Resource": arn,
    }


def unwrap_single(values: list[str]) -> str | list[str]:
    """Returns one value alone, and several values as a list."""
    return values[0] if len(values) == 1 else values


def check_grant(request: AddPermissionRequest) -> None:
    """Checks that accounts have 12 digits and that the owner can grant the actions.

    Raises InvalidParameterValue and other errors.
    """
    if not request.aws_account_ids:
        raise errors.MissingParameter.named("AWSAccountIds")
    if not request.actions:
        raise errors.MissingParameter.named("Actions")
    if len(request.actions) > MAX_ACTIONS:
        raise errors.OverLimit(f"{len(request.actions)} Actions were found, maximum allowed is {MAX_ACTIONS}.")
    for account in request.aws_account_ids:
        if not (len(account) == 12 and account.isascii() and account.isdigit()):
            raise errors.InvalidParameterValue(
                f"Value [{account}] for parameter PrincipalId is invalid. Reason: Unable to verify."
            )
    for action in request.actions:
        if action != "*" and action not in GRANTABLE:
            raise errors.InvalidParameterValue(
                f"Value SQS:{action} for parameter ActionName is invalid. "
                "Reason: Only the queue owner is allowed to invoke this action."
            )


def build_label_error(label: str, reason: str) -> errors.AwsError:
    """Returns the error for a label that is taken or unknown."""
    return errors.InvalidParameterValue(f"Value {label} for parameter Label is invalid. Reason: {reason}")
