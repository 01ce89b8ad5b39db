"""AddPermission and RemovePermission of SNS. The actions add and remove a statement, identified by its label, in a
topic's access policy."""

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.access.policy.checks import SNS_RULES
from penstock.access.topic_actions import OWNER_ACTIONS
from penstock.aws.arn import is_account_id
from penstock.aws.json_text import decode_json
from penstock.aws.sns_arn import TopicArn
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.sns.topics import REPLACE_TOPIC_POLICY
from penstock.sqs import validation
from penstock.sqs.permissions import Policy, Statements, unwrap_single

from . import errors
from . import types as sns
from .attributes import MAX_POLICY_BYTES, build_default_policy, build_policy_error
from .publishing.targets import read_topic_arn
from .topics import describe_topic, read_stored_attributes

encode = msgspec.json.encode


@audited(lambda request, _context: Act("sns:AddPermission", request.topic_arn, {"label": request.label}))
def add_permission(request: sns.AddPermissionRequest, context: Context) -> Operation[None]:
    """Allows other accounts to perform some actions on the topic, under a label."""
    arn = read_topic_arn(request.topic_arn, context)
    check_grant(request)
    while True:
        old, policy, statements = yield from read_policy(arn)
        if any(statement.get("Sid") == request.label for statement in statements):
            raise errors.InvalidParameter.named("Statement already exists")
        policy["Statement"] = [*statements, grant(arn, request)]
        if len(policy["Statement"]) > SNS_RULES.most_statements or len(encode(policy)) > MAX_POLICY_BYTES:
            raise build_policy_error()
        if (yield from replace_policy(arn, old, policy)):
            return


@audited(
    lambda request, _context: Act(
        "sns:RemovePermission", request.topic_arn, {"label": request.label}, when_changed=True
    )
)
def remove_permission(request: sns.RemovePermissionRequest, context: Context) -> Operation[None]:
    """Removes the statement with this label. A missing statement is ignored."""
    arn = read_topic_arn(request.topic_arn, context)
    check_label(request.label)
    while True:
        old, policy, statements = yield from read_policy(arn)
        policy["Statement"] = [statement for statement in statements if statement.get("Sid") != request.label]
        if (yield from replace_policy(arn, old, policy)):
            return


def read_policy(arn: TopicArn) -> Operation[tuple[str | None, Policy, Statements]]:
    """Returns the stored text of the policy (None for the default), the policy and its statements. Raises NotFound."""
    old = read_stored_attributes((yield from describe_topic(arn))).get("Policy")
    policy: Policy = decode_json(old or build_default_policy(arn))
    statements = policy.get("Statement", [])
    return old, policy, [statements] if isinstance(statements, dict) else statements


def replace_policy(arn: TopicArn, old: str | None, policy: Policy) -> Operation[bool]:
    """Returns False if another request has changed the policy since it was read."""
    text = encode(policy).decode()
    (row,) = yield from Call(REPLACE_TOPIC_POLICY, (str(arn), old, text))
    return row.replaced


def grant(arn: TopicArn, request: sns.AddPermissionRequest) -> Policy:
    """Returns the statement in SNS's format."""
    return {
        "Sid": request.label,
        "Effect": "Allow",
        "Principal": {"AWS": unwrap_single([f"arn:aws:iam::{account}:root" for account in request.aws_account_ids])},
        "Action": unwrap_single([f"SNS:{action}" for action in request.actions]),
        "Resource": str(arn),
    }


def check_label(label: str) -> None:
    """Raises InvalidParameter for a label that is empty or that XML cannot show."""
    if not label or validation.encode_text(label) is None:
        raise errors.InvalidParameter.named("Label")


def check_grant(request: sns.AddPermissionRequest) -> None:
    """Checks that accounts have 12 digits, that topics have the actions, and that XML can show the label."""
    check_label(request.label)
    if not request.aws_account_ids or not all(map(is_account_id, request.aws_account_ids)):
        raise errors.InvalidParameter.named("AWSAccountId")
    unknown = [action for action in request.actions if action not in OWNER_ACTIONS]
    if unknown or not request.actions:
        raise errors.InvalidParameter.named("Policy statement action out of service scope!")
