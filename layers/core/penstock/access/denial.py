"""Creates AWS's error for an action that policies do not allow.

    User: arn:aws:iam::111122223333:user/ann is not authorized to perform: sqs:sendmessage on resource:
    arn:aws:sqs:us-east-1:111122223333:orders because no identity-based policy allows the sqs:sendmessage action

Sources: "Troubleshoot access denied error messages" (IAM User Guide,
https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html). Spelling of actions:
aws/serverless-application-model 3633 (SQS, and the single action's name for a batch),
aws-ia/terraform-aws-control_tower_account_factory 151 (SNS), ministryofjustice/modernisation-platform 7930
(Scheduler).
"""

from enum import Enum

from penstock.errors import AccessDenied

from .policy.requests import Principal


class Policies(Enum):
    """The kind of policy that refuses the action."""

    IDENTITY = "identity-based"
    RESOURCE = "resource-based"


def build_denial(
    name: str, arn: str, principal: Principal, policies: Policies, *, explicit: bool = False
) -> AccessDenied:
    """Returns AWS's error for the action `name`.

    If `explicit` is true, a Deny refuses the action. If `explicit` is false, no Allow matches the action.
    """
    reason = (
        f"with an explicit deny in {_choose_article(policies)} {policies.value} policy"
        if explicit
        else f"because no {policies.value} policy allows the {name} action"
    )
    message = f"User: {principal.arn} is not authorized to perform: {name} on resource: {arn} {reason}"
    return AccessDenied(message, resource=arn)


def _choose_article(policies: Policies) -> str:
    return "an" if policies is Policies.IDENTITY else "a"


def build_action_name(service: str, action: str, *, for_policies: bool = False) -> str:
    """Returns an action in its service's spelling: `sqs:sendmessage`, `SNS:Publish`, `scheduler:CreateSchedule`.

    `for_policies` selects the spelling of policies: `sqs:SendMessage`.
    """
    single = action.removesuffix("Batch")
    if for_policies:
        return f"{service}:{single}"
    if service == "sqs":
        return f"sqs:{single.lower()}"
    return f"SNS:{single}" if service == "sns" else f"{service}:{single}"
