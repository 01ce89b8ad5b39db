"""One account cannot reach another account's queue or topic if a policy almost allows it.

Each test also shows that the request works after the policy allows it. Sources: "Policy evaluation logic" and "IAM
JSON policy element reference" (IAM User Guide); docs/operate/policies.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ClientError

from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4
from tests.support.conformance.scheduler import ROLE, Scheduler
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs

STRANGER = "444455556666"
SOURCES = {
    "sns": "arn:aws:sns:us-east-1:{account}:{name}",
    "scheduler": "arn:aws:scheduler:us-east-1:{account}:schedule/default/{name}",
}


class Setup(NamedTuple):
    """The resources of two accounts. The partner has a topic, a standard queue with dead letters and a schedule; the
    owner has a queue and a topic.
    """

    owner: Sns
    partner: Sns
    scheduler: Scheduler
    topic: str
    dead: str
    schedule: str
    queue: str
    queue_arn: str
    foreign_topic: str


class Way(NamedTuple):
    """`principal` is the caller that the policy allows; a service acts for the partner's resource `name`. `reach` is
    the partner's request.
    """

    principal: str
    action: str
    reach: Callable[[Setup], Any]
    on_topic: bool = False


def target(arn: str, **more: Any) -> dict[str, Any]:
    return {"Arn": arn, "RoleArn": ROLE, **more}


def subscribe(setup: Setup, **attributes: str) -> Any:
    endpoint = "https://collector.invalid/" if attributes else setup.queue_arn
    return setup.partner.client.subscribe(
        TopicArn=setup.topic, Protocol="https" if attributes else "sqs", Endpoint=endpoint, Attributes=attributes
    )


def redrive(setup: Setup) -> str:
    return json.dumps({"deadLetterTargetArn": setup.queue_arn})


def change_redrive(setup: Setup) -> Any:
    own = setup.partner.sqs.arn(setup.partner.sqs.create())
    arn = setup.partner.subscribe(setup.topic, own)
    return setup.partner.client.set_subscription_attributes(
        SubscriptionArn=arn, AttributeName="RedrivePolicy", AttributeValue=redrive(setup)
    )


def schedule(setup: Setup, chosen: dict[str, Any]) -> Any:
    return setup.scheduler.client.create_schedule(**setup.scheduler.given(Name=setup.schedule, Target=chosen))


def change_schedule(setup: Setup) -> Any:
    own = setup.scheduler.given(Name=setup.schedule, Target=target(setup.partner.sqs.arn(setup.dead)))
    with suppress(setup.scheduler.client.exceptions.ConflictException):  # an earlier attempt created it
        setup.scheduler.client.create_schedule(**own)
    return setup.scheduler.client.update_schedule(**{**own, "Target": target(setup.queue_arn)})


WAYS = {
    "send": Way(PARTNER, "sqs:SendMessage", lambda w: w.partner.sqs.send(w.queue)),
    "send a batch": Way(
        PARTNER,
        "sqs:SendMessage",
        lambda w: w.partner.sqs.client.send_message_batch(QueueUrl=w.queue, Entries=[{"Id": "a", "MessageBody": "x"}]),
    ),
    "receive": Way(PARTNER, "sqs:ReceiveMessage", lambda w: w.partner.sqs.client.receive_message(QueueUrl=w.queue)),
    "move": Way(
        PARTNER,
        "sqs:SendMessage",
        lambda w: w.partner.sqs.client.start_message_move_task(
            SourceArn=w.partner.sqs.arn(w.dead), DestinationArn=w.queue_arn
        ),
    ),
    "subscribe a queue": Way("sns", "sqs:SendMessage", subscribe),
    "dead letters of a new subscription": Way(
        "sns", "sqs:SendMessage", lambda w: subscribe(w, RedrivePolicy=redrive(w))
    ),
    "dead letters of a subscription": Way("sns", "sqs:SendMessage", change_redrive),
    "target of a schedule": Way("scheduler", "sqs:SendMessage", lambda w: schedule(w, target(w.queue_arn))),
    "dead letters of a schedule": Way(
        "scheduler",
        "sqs:SendMessage",
        lambda w: schedule(w, target(w.partner.sqs.arn(w.dead), DeadLetterConfig={"Arn": w.queue_arn})),
    ),
    "target of a changed schedule": Way("scheduler", "sqs:SendMessage", change_schedule),
    "publish": Way(PARTNER, "sns:Publish", lambda w: w.partner.publish(w.foreign_topic, "forged"), on_topic=True),
    "subscribe to a topic": Way(
        PARTNER,
        "sns:Subscribe",
        lambda w: w.partner.subscribe(w.foreign_topic, w.partner.sqs.arn(w.dead)),
        on_topic=True,
    ),
    "topic of a schedule": Way(
        "scheduler", "sns:Publish", lambda w: schedule(w, target(w.foreign_topic)), on_topic=True
    ),
}


def statement(setup: Setup, way: Way) -> dict[str, Any]:
    """Returns a statement that allows exactly this way."""
    resource = setup.foreign_topic if way.on_topic else setup.queue_arn
    allows = {"Effect": "Allow", "Action": way.action, "Resource": resource}
    if way.principal == PARTNER:
        return {**allows, "Principal": {"AWS": f"arn:aws:iam::{PARTNER}:root"}}
    source = (
        setup.topic if way.principal == "sns" else SOURCES["scheduler"].format(account=PARTNER, name=setup.schedule)
    )
    return {
        **allows,
        "Principal": {"Service": f"{way.principal}.amazonaws.com"},
        "Condition": {"ArnEquals": {"aws:SourceArn": source}},
    }


def almost(setup: Setup, way: Way) -> list[list[dict[str, Any]]]:
    """Returns policies that do not allow this way, although each of them differs in one detail only."""
    good = statement(setup, way)
    service = way.principal != PARTNER
    others: list[dict[str, Any]] = [
        {"Action": "sqs:PurgeQueue" if way.action.startswith("sqs") else "sns:DeleteTopic"},
        {"Action": way.action + "?"},
        {"NotAction": way.action, "Action": None},
        {"Resource": good["Resource"] + "s"},
        {"NotResource": good["Resource"], "Resource": None},
        {"Resource": "arn:aws:*:*:${aws:PrincipalAccount}:*"},
        {"Principal": {"AWS": STRANGER}},
        {"Principal": {"AWS": f"arn:aws:iam::{PARTNER}:user/somebody"}},
        {"Principal": {"Service": "s3.amazonaws.com"}},
        {"NotPrincipal": {"AWS": STRANGER}, "Principal": None},
        {"Condition": {"StringEquals": {"aws:SourceAccount": STRANGER}}},
        {"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}},
        {"Condition": {"IpAddress": {"aws:SourceIp": "198.51.100.0/24"}}},
        {"Condition": {"ArnLike": {"aws:SourceArn": SOURCES["sns"].format(account=STRANGER, name="*")}}},
        {"Condition": {"Null": {"aws:SourceArn": "true" if service else "false"}}},
    ]
    if service:
        others.append({"Principal": {"Service": f"{way.principal}.amazonaws.com.invalid"}})
    policies = [[_change(good, other)] for other in others]
    deny = {**good, "Effect": "Deny", "Principal": "*"}
    return [[], *policies, [good, deny], [deny, good]]


def misspelt(setup: Setup, way: Way) -> list[list[dict[str, Any]]]:
    """Returns policies that SQS and SNS do not store."""
    changes: list[dict[str, Any]] = [
        {"Action": way.action + "s"},
        {"Principal": None},
        {"Effect": "allow"},
        {"Unless": "it rains"},
        {"Condition": {"StringEqualsSometimes": {"aws:SourceAccount": PARTNER}}},
    ]
    return [[_change(statement(setup, way), change)] for change in changes]


def _change(good: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**good, **changes}.items() if value is not None}


def set_policy(setup: Setup, way: Way, statements: list[dict[str, Any]]) -> None:
    text = json.dumps({"Version": "2012-10-17", "Statement": statements}) if statements else ""
    if way.on_topic:
        setup.owner.client.set_topic_attributes(
            TopicArn=setup.foreign_topic, AttributeName="Policy", AttributeValue=text
        )
    else:
        setup.owner.sqs.client.set_queue_attributes(QueueUrl=setup.queue, Attributes={"Policy": text})


@pytest.fixture
def setup(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> Setup:
    owner, partner = (Sns(sqs.with_settings(SIGV4).with_key(*keys[account])) for account in (OWNER, PARTNER))
    dead, queue = partner.sqs.create(), owner.sqs.create()
    redrive_policy = json.dumps({"deadLetterTargetArn": partner.sqs.arn(dead), "maxReceiveCount": 1})
    partner.sqs.create(RedrivePolicy=redrive_policy)
    topics = partner.create(), owner.create()
    return Setup(
        owner, partner, Scheduler(partner.sqs), topics[0], dead, partner.sqs.name(), queue, owner.sqs.arn(queue),
        topics[1],
    )  # fmt: skip


@pytest.mark.parametrize("sqs", ["container-json", "lambda-query"], indirect=True)
@pytest.mark.parametrize("name", WAYS)
def test_nothing_happens_until_the_policy_allows_it(setup: Setup, name: str) -> None:
    way = WAYS[name]
    policies, refused = almost(setup, way), misspelt(setup, way)
    for statements in (*refused, *policies):
        if statements in refused:
            with pytest.raises(ClientError) as caught:
                set_policy(setup, way, statements)
            assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400, statements
        else:
            set_policy(setup, way, statements)
        with pytest.raises(ClientError) as caught:
            way.reach(setup)
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403, statements
        assert caught.value.response["Error"]["Code"] in {
            "AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException",
        }, statements  # fmt: skip
    assert len(policies) + len(refused) > 20
    set_policy(setup, way, [])
    assert setup.owner.sqs.poll(setup.queue) == []
    assert setup.owner.attributes(setup.foreign_topic)["SubscriptionsConfirmed"] == "0"
    set_policy(setup, way, [statement(setup, way)])
    way.reach(setup)
