"""Decides whether a queue's policy lets a topic deliver to the queue, as a subscriber or as a dead-letter queue.

The policy must allow `sqs:SendMessage` to the service `sns.amazonaws.com` for the topic (`aws:SourceArn`) and the
account (`aws:SourceAccount`), as in "Subscribing a queue to a topic" (SNS Developer Guide). Unlike AWS, Penstock also
accepts a queue of the subscribing account if no statement of its policy matches. The check runs only with
QUEUE_ACCESS=sigv4, because otherwise a caller can claim any account.
"""

from collections.abc import Iterable

import msgspec

from penstock.aws.arn import read_account
from penstock.effects import BatchCall, Call, Operation
from penstock.errors import AccessDenied
from penstock.postgres.statements.access import READ_POLICIES, ResourceEntry
from penstock.postgres.statements.sns.subscriptions import SUBSCRIPTIONS_OF_QUEUE

from .context import RequestContext
from .policy.evaluation import Decision, evaluate
from .policy.requests import AccessRequest, Principal

SNS = Principal(None, None, "sns.amazonaws.com")


Subscriptions = tuple[list[bytes] | None, list[bytes] | None]
"""The ids of allowed and refused subscriptions. Both lists are None if policies do not apply."""


def do_policies_decide(context: RequestContext) -> bool:
    """Returns whether accounts are verified. Policies cannot decide for unverified accounts."""
    return context.environment.settings.queue_access == "sigv4"


def allows_delivery(policy: str | None, queue_arn: str, topic_arn: str, owner: str) -> bool:
    """Returns whether a queue's policy (JSON, or None) lets the topic send. `owner` is the subscribing account."""
    keys = {
        "aws:sourcearn": topic_arn,
        "aws:sourceaccount": read_account(topic_arn),
        "aws:securetransport": "true",  # the message does not leave the database
    }
    decision = evaluate(policy, AccessRequest(SNS, "sqs:sendmessage", queue_arn, keys))
    return decision is Decision.ALLOWED or (decision is Decision.NO_MATCH and read_account(queue_arn) == owner)


def check_deliveries(
    queue_arns: Iterable[str], topic_arn: str, owner: str, context: RequestContext
) -> Operation[str | None]:
    """Returns the policies (JSON, by ARN) that let the topic send to the queues, or None if the service does not check
    policies.

    Raises AccessDenied if a queue's policy does not let the topic send. A missing queue has no policy.
    """
    if not do_policies_decide(context):
        return None
    arns = sorted(set(queue_arns))
    policies: dict[str, str | None] = dict.fromkeys(arns)
    for row in (yield from BatchCall(READ_POLICIES, list(map(ResourceEntry, arns)))) if arns else []:
        policies[arns[row.n - 1]] = row.policy
    for arn, policy in policies.items():
        if not allows_delivery(policy, arn, topic_arn, owner):
            text = f"The policy of the queue {arn} does not allow the topic to send messages to it."
            raise AccessDenied(text, member="Endpoint")
    return msgspec.json.encode(policies).decode()


def judge_subscriptions(queue_arn: str, policy: str | None, context: RequestContext) -> Operation[Subscriptions]:
    """Decides which of a queue's subscriptions can deliver to the queue under a new policy."""
    if not do_policies_decide(context):
        return None, None
    allowed: list[bytes] = []
    refused: list[bytes] = []
    for row in (yield from Call(SUBSCRIPTIONS_OF_QUEUE, (queue_arn,))):
        fits = allows_delivery(policy, queue_arn, row.topic_arn, row.owner)
        (allowed if fits else refused).append(row.subscription_id.bytes)
    return allowed, refused
