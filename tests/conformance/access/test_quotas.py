"""How much an account may have. Sources: quotas of SNS and EventBridge Scheduler (AWS General Reference); OverLimit
(SQS API reference) is our choice, since AWS has no quota of queues."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.support.conformance.scheduler import ROLE, Scheduler
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs

SETTINGS = {f"QUOTA_{kind}": "2" for kind in ("QUEUES", "TOPICS", "SUBSCRIPTIONS", "SCHEDULES")}
_accounts = count(700_000_000_000)


@pytest.fixture
def caller(sqs: Sqs) -> Sqs:
    """An account that has nothing yet."""
    return sqs.with_settings(SETTINGS).caller(account=str(next(_accounts)))


def test_queues(caller: Sqs) -> None:
    names = [caller.name() for _ in range(3)]
    for name in names[:2]:
        caller.client.create_queue(QueueName=name)
    refusal = caller.refusal("create_queue", QueueName=names[2])
    assert (refusal.code, refusal.status) == ("OverLimit", 403)
    assert refusal.message == "An account can have 2 queues."
    url = caller.client.create_queue(QueueName=names[0])["QueueUrl"]  # it is there
    caller.client.delete_queue(QueueUrl=url)
    caller.client.create_queue(QueueName=names[2])


def test_topics_and_subscriptions(caller: Sqs) -> None:
    sns = Sns(caller)
    topic, _ = sns.create(), sns.create()
    assert sns.refusal("create_topic", Name=caller.name())[:2] == ("TopicLimitExceeded", 403)
    sns.client.create_topic(Name=topic.rpartition(":")[2])
    arns = [f"arn:aws:sqs:us-east-1:{caller.account}:{caller.name()}" for _ in range(3)]
    subscriptions = [sns.subscribe(topic, arn) for arn in arns[:2]]
    third = {"TopicArn": topic, "Protocol": "sqs", "Endpoint": arns[2]}
    assert sns.refusal("subscribe", **third)[:2] == ("SubscriptionLimitExceeded", 403)
    sns.client.unsubscribe(SubscriptionArn=subscriptions[0])
    sns.client.subscribe(**third)


def test_schedules(scheduler: Scheduler) -> None:
    caller = scheduler.of(scheduler.sqs.with_settings(SETTINGS).caller(account=str(next(_accounts))))
    target = {"Arn": f"arn:aws:sqs:us-east-1:{caller.sqs.account}:q", "RoleArn": ROLE}
    given: list[dict[str, Any]] = [caller.given(Name=caller.sqs.name(), Target=target) for _ in range(3)]
    create: Callable[..., Any] = caller.client.create_schedule
    for one in given[:2]:
        create(**one)
    assert caller.refused("create_schedule", **given[2]) == ("ServiceQuotaExceededException", 402)
    caller.client.update_schedule(**given[0])
    caller.client.delete_schedule(Name=given[0]["Name"])
    create(**given[2])
