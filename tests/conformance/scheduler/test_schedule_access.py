"""Tests of QUEUE_ACCESS for EventBridge Scheduler in both deployments. The sources are "Common Errors" (API reference)
and docs/operate/policies.md."""

from __future__ import annotations

import json

import pytest

from tests.support import client_setup
from tests.support.conformance.access_keys import OWNER, PARTNER, PRESENCE, SIGV4, allow
from tests.support.conformance.events import Events
from tests.support.conformance.scheduler import ROLE, Scheduler

Keys = dict[str, tuple[str, str]]
UNIVERSAL = "arn:aws:scheduler:::aws-sdk"
DENIED = ("AccessDeniedException", 403)


@pytest.fixture
def owner(scheduler: Scheduler, keys: Keys) -> Scheduler:
    return scheduler.of(scheduler.sqs.with_settings(SIGV4).with_key(*keys[OWNER]))


@pytest.fixture
def partner(scheduler: Scheduler, keys: Keys) -> Scheduler:
    return scheduler.of(scheduler.sqs.with_settings(SIGV4).with_key(*keys[PARTNER]))


def to(arn: str, dead_letters: str | None = None) -> dict[str, object]:
    target: dict[str, object] = {"Arn": arn, "RoleArn": ROLE}
    return target | ({} if dead_letters is None else {"DeadLetterConfig": {"Arn": dead_letters}})


def test_every_kind_of_request_can_be_signed(owner: Scheduler) -> None:
    """The requests have paths that contain an ARN with an encoded slash, query strings that contain a list, and
    bodies.
    """
    group = owner.group(Tags=[{"Key": key, "Value": "ü + /"} for key in ("a b", "c/d", "e")])
    name = owner.create(GroupName=group, Description="signed ü")
    assert owner.get(name, GroupName=group)["Description"] == "signed ü"
    assert [schedule["Name"] for schedule in owner.client.list_schedules(GroupName=group)["Schedules"]] == [name]
    owner.client.untag_resource(ResourceArn=owner.group_arn(group), TagKeys=["c/d", "a b"])
    assert owner.tags(group) == {"e": "ü + /"}
    owner.client.delete_schedule(Name=name, GroupName=group)
    owner.client.delete_schedule_group(Name=group)


def test_the_account_is_the_keys(partner: Scheduler) -> None:
    given = partner.given(Target=to(f"arn:aws:sqs:us-east-1:{PARTNER}:q"))
    arn = partner.client.create_schedule(**given)["ScheduleArn"]
    assert arn.split(":")[4] == PARTNER


def test_signatures_that_are_wrong(owner: Scheduler, scheduler: Scheduler) -> None:
    """The names of the errors come from "Common Errors"."""
    other = owner.of(owner.sqs.with_key(owner.sqs.account, "not the secret"))
    assert other.refused("list_schedules") == ("InvalidSignatureException", 403)
    nobody = scheduler.of(scheduler.sqs.with_settings(SIGV4).with_key("PSTKAAAAAAAAAAAAAAAA", "x"))
    assert nobody.refused("list_schedules") == ("UnrecognizedClientException", 403)


@pytest.mark.parametrize("settings", [SIGV4, PRESENCE], ids=["sigv4", "presence"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/schedules"), ("POST", "/schedules/a"), ("PUT", "/tags")])
def test_without_credentials(scheduler: Scheduler, settings: dict[str, str], method: str, path: str) -> None:
    """A caller without credentials sees only the error about the credentials."""
    url = scheduler.sqs.with_settings(settings).endpoint_url
    response = client_setup.request(method, url + path, content=b"not json")
    assert response.status_code == 403
    assert response.headers["x-amzn-errortype"] == "MissingAuthenticationTokenException"


def test_any_credentials_are_present(scheduler: Scheduler) -> None:
    caller = scheduler.of(scheduler.sqs.with_settings(PRESENCE))
    assert caller.get(caller.create())["State"] == "ENABLED"


def test_a_key_of_another_service(owner: Scheduler) -> None:
    """The credential scope must contain the service `scheduler`."""
    url = owner.sqs.create()
    signed = owner.sqs.client.generate_presigned_url("get_queue_url", Params={"QueueName": url.rpartition("/")[2]})
    query = signed.partition("?")[2]
    response = client_setup.get(f"{owner.sqs.endpoint_url}/schedules?{query}")
    assert response.headers["x-amzn-errortype"] == "InvalidSignatureException"


def test_a_target_of_another_service_must_be_ones_own(owner: Scheduler, partner: Scheduler) -> None:
    """No policy can allow other accounts to use a target that is a Lambda function. The error tells the owner that
    Penstock does not invoke the target.
    """
    given = owner.given(Target=to(f"arn:aws:lambda:us-east-1:{OWNER}:function:f"))
    assert partner.refused("create_schedule", **given) == DENIED
    assert owner.refused("create_schedule", **given) == ("ValidationException", 400)


def test_the_invoked_target_must_be_allowed(owner: Scheduler, partner: Scheduler) -> None:
    """A schedule sends with the rights of its creator. To a queue of another account, the schedule can send only if
    that account allows it."""
    queue = owner.sqs.create()
    arn = owner.sqs.arn(queue)
    own = partner.sqs.arn(partner.sqs.create())
    given = partner.given(Target=to(arn))
    assert partner.refused("create_schedule", **given) == DENIED
    assert partner.refused("create_schedule", **partner.given(Target=to(own, arn))) == DENIED
    name = partner.create(Target=to(own))
    assert partner.refused("update_schedule", **{**given, "Name": name}) == DENIED
    never = f"arn:aws:sqs:us-east-1:{OWNER}:never"
    assert partner.refused("create_schedule", **partner.given(Target=to(never))) == DENIED
    allow(owner.sqs, queue, "SQS:SendMessage")
    partner.client.create_schedule(**given)
    partner.client.update_schedule(**partner.given(Name=name, Target=to(own, arn)))


def test_topics_of_others(owner: Scheduler, partner: Scheduler) -> None:
    topic = f"arn:aws:sns:us-east-1:{OWNER}:never"
    assert partner.refused("create_schedule", **partner.given(Target=to(topic))) == DENIED
    owner.create(Target=to(topic))


def test_the_resource_of_a_universal_target_must_be_allowed(owner: Scheduler, partner: Scheduler) -> None:
    """The right is that of the API action that the target names ("Using universal targets", User Guide)."""
    queue = owner.sqs.create()
    sending = {"QueueUrl": queue, "MessageBody": "m"}
    given = partner.given(Target={**to(f"{UNIVERSAL}:sqs:sendMessage"), "Input": json.dumps(sending)})
    assert partner.refused("create_schedule", **given) == DENIED
    publishing = {"TopicArn": f"arn:aws:sns:us-east-1:{OWNER}:never", "Message": "m"}
    target = {**to(f"{UNIVERSAL}:sns:publish"), "Input": json.dumps(publishing)}
    assert partner.refused("create_schedule", **partner.given(Target=target)) == DENIED
    owner.create(Target=target)
    invoking = {"FunctionName": f"arn:aws:lambda:us-east-1:{OWNER}:function:f", "InvocationType": "Event"}
    target = {**to(f"{UNIVERSAL}:lambda:invoke"), "Input": json.dumps(invoking)}
    assert partner.refused("create_schedule", **partner.given(Target=target)) == DENIED
    allow(owner.sqs, queue, "SQS:SendMessage")
    partner.client.create_schedule(**given)


@pytest.mark.parametrize("action", ["PutEvents", "PutRawEvents"])
def test_the_bus_must_allow_the_action(owner: Scheduler, partner: Scheduler, action: str) -> None:
    bus = Events(owner.sqs).bus()
    parameters: dict[str, dict[str, object]] = {
        "PutEvents": {"EventBridgePutEventsV2Parameters": {"DetailType": "order", "Source": "shop"}},
        "PutRawEvents": {"EventBridgePutRawEventsParameters": {"Metadata": {"k": "v"}}},
    }
    given = partner.given(Target={**to(bus), **parameters[action], "Input": "{}"})
    owner.create(Target=given["Target"])
    for allowed in ({"PutEvents", "PutRawEvents"} - {action}, {action}):
        assert partner.refused("create_schedule", **given) == DENIED
        statement = {
            "Effect": "Allow", "Principal": {"AWS": PARTNER}, "Action": [f"events:{name}" for name in allowed],
            "Resource": bus,
        }  # fmt: skip
        Events(owner.sqs).client.put_resource_policy(
            ResourceArn=bus, PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        )
    partner.client.create_schedule(**given)


def test_a_denial_by_the_owner_to_all_denies(owner: Scheduler) -> None:
    queue = owner.sqs.create()
    arn = owner.sqs.arn(queue)
    allow(owner.sqs, queue, "SQS:SendMessage", effect="Deny", principal="*")
    assert owner.refused("create_schedule", **owner.given(Target=to(arn))) == DENIED


def test_a_policy_may_allow_one_schedule(owner: Scheduler, partner: Scheduler) -> None:
    """The policy allows EventBridge Scheduler if the source is the schedule's ARN."""
    url = owner.sqs.create()
    given = partner.given(Target=to(owner.sqs.arn(url)))
    arn = f"arn:aws:scheduler:us-east-1:{PARTNER}:schedule/default/{given['Name']}"
    statement = {
        "Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": owner.sqs.arn(url),
    }  # fmt: skip
    for source, allowed in ((arn + "s", False), (arn, True)):
        policy = {"Statement": [{**statement, "Condition": {"ArnEquals": {"aws:SourceArn": source}}}]}
        attributes = {"Policy": json.dumps(policy)}
        owner.sqs.client.set_queue_attributes(QueueUrl=url, Attributes=attributes)
        if not allowed:
            assert partner.refused("create_schedule", **given) == DENIED
    partner.client.create_schedule(**given)
