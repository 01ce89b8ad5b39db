"""Whether the policy of a queue lets a topic deliver to it, for a subscription or as its dead-letter queue.

As on AWS the policy is asked for `sqs:SendMessage` by the service `sns.amazonaws.com`, which acts for the topic
(`aws:SourceArn`) of an account (`aws:SourceAccount`): "Subscribing a queue to a topic" (SNS Developer Guide). A queue
of the account that subscribes may also have a policy that says nothing about it, or none (our choice: AWS wants one).
Nothing is asked unless QUEUE_ACCESS is `sigv4`: otherwise accounts are what callers say they are.
"""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from penstock.effects import BatchCall, Call, Operation
from penstock.errors import AccessDenied
from penstock.postgres.statements.access import READ_POLICIES, ResourceEntry
from penstock.postgres.statements.subscriptions import SUBSCRIPTIONS_OF_QUEUE
from penstock.settings import Settings

from .policy.evaluation import Verdict, evaluate
from .policy.requests import AccessRequest, Principal

SNS = Principal(None, None, "sns.amazonaws.com")


class Environment(Protocol):
    """The environment of the process, as far as it matters here."""

    @property
    def settings(self) -> Settings: ...


class RequestContext(Protocol):
    """The context of a request, as far as it matters here."""

    @property
    def environment(self) -> Environment: ...


Subscriptions = tuple[list[bytes] | None, list[bytes] | None]
"""The ids of those that a policy allows and refuses; both None: policies do not decide."""


def policies_decide(context: RequestContext) -> bool:
    """Whether accounts are known, so that policies mean something."""
    return context.environment.settings.queue_access == "sigv4"


def allows_delivery(policy: str | None, queue_arn: str, topic_arn: str, owner: str) -> bool:
    """Whether a queue's policy (JSON, None: it has none) lets the topic send. `owner`: the account that subscribes."""
    keys = {
        "aws:sourcearn": topic_arn,
        "aws:sourceaccount": topic_arn.split(":")[4],
        "aws:securetransport": "true",  # the message does not leave the database
    }
    verdict = evaluate(policy, AccessRequest(SNS, "sqs:sendmessage", queue_arn, keys))
    return verdict is Verdict.ALLOWED or (verdict is Verdict.NO_MATCH and queue_arn.split(":")[4] == owner)


def check_deliveries(
    queue_arns: Iterable[str], topic_arn: str, owner: str, context: RequestContext
) -> Operation[str | None]:
    """The policies (JSON, by ARN) by which the queues let the topic send; None: policies do not decide.

    Raises AccessDenied for a queue whose policy does not. A queue that does not exist has none.
    """
    if not policies_decide(context):
        return None
    arns = sorted(set(queue_arns))
    policies: dict[str, str | None] = dict.fromkeys(arns)
    for row in (yield from BatchCall(READ_POLICIES, list(map(ResourceEntry, arns)))) if arns else []:
        policies[arns[row.n - 1]] = row.policy
    for arn, policy in policies.items():
        if not allows_delivery(policy, arn, topic_arn, owner):
            raise AccessDenied(
                f"The policy of the queue {arn} does not allow the topic to send messages to it."
            )
    return msgspec.json.encode(policies).decode()


def judge_subscriptions(
    queue_arn: str, policy: str | None, context: RequestContext
) -> Operation[Subscriptions]:
    """Which subscriptions of a queue a new policy allows to deliver to it."""
    if not policies_decide(context):
        return None, None
    allowed: list[bytes] = []
    refused: list[bytes] = []
    for row in (yield from Call(SUBSCRIPTIONS_OF_QUEUE, (queue_arn,))):
        fits = allows_delivery(policy, queue_arn, row.topic_arn, row.owner)
        (allowed if fits else refused).append(row.subscription_id.bytes)
    return allowed, refused
