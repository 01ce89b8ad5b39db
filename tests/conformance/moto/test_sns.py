"""moto as a second voice on topics and subscriptions; how is in test_sqs.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.moto.test_sqs import Case, attribute, outcome, outcome_of_moto
from tests.support.conformance.sns import Sns

QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
FIFO = {"FifoTopic": "true"}


# --- what is done ----------------------------------------------------------------------------------------------------
def topic(sns: Any, name: str, **attributes: str) -> str:
    return str(sns.create_topic(Name=name, Attributes=attributes)["TopicArn"])


def on(
    method: str, *, fifo: bool = False, missing: bool = False, member: str = "TopicArn", **parameters: Any
) -> Callable[[Any, str], None]:
    """A call on a new topic, or on none."""

    def action(sns: Any, name: str) -> None:
        arn = topic(sns, f"{name}.fifo", **FIFO) if fifo else topic(sns, name)
        getattr(sns, method)(**{member: f"{arn}-none" if missing else arn}, **parameters)

    return action


def publish(*, fifo: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    return on("publish", fifo=fifo, **{"Message": "x", **parameters})


def publish_batch(*ids: str, body: str = "x") -> Callable[[Any, str], None]:
    entries = [{"Id": entry_id, "Message": body} for entry_id in ids]
    return on("publish_batch", PublishBatchRequestEntries=entries)


def subscribe(protocol: str = "sqs", endpoint: str = QUEUE, **attributes: str) -> Callable[[Any, str], None]:
    return on("subscribe", Protocol=protocol, Endpoint=endpoint, Attributes=attributes)


def filtering(policy: Any, **attributes: str) -> Callable[[Any, str], None]:
    return subscribe(FilterPolicy=policy if isinstance(policy, str) else json.dumps(policy), **attributes)


def change(name: str, value: str) -> Callable[[Any, str], None]:
    """SetSubscriptionAttributes on a queue's subscription."""

    def action(sns: Any, topic_name: str) -> None:
        made = sns.subscribe(TopicArn=topic(sns, topic_name), Protocol="sqs", Endpoint=QUEUE)
        sns.set_subscription_attributes(
            SubscriptionArn=made["SubscriptionArn"], AttributeName=name, AttributeValue=value
        )

    return action


def create_again(first: dict[str, str], second: dict[str, str]) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        sns.create_topic(Name=name, Attributes=first)
        sns.create_topic(Name=name, Attributes=second)

    return action


def create(suffix: str, **attributes: str) -> Callable[[Any, str], None]:
    return lambda sns, name: sns.create_topic(Name=name + suffix, Attributes=attributes)


def delete_twice(sns: Any, name: str) -> None:
    arn = topic(sns, name)
    sns.delete_topic(TopicArn=arn)
    sns.delete_topic(TopicArn=arn)


def unsubscribe_twice(sns: Any, name: str) -> None:
    arn = sns.subscribe(TopicArn=topic(sns, name), Protocol="sqs", Endpoint=QUEUE)["SubscriptionArn"]
    sns.unsubscribe(SubscriptionArn=arn)
    sns.unsubscribe(SubscriptionArn=arn)


def subscribe_again(first: dict[str, str], second: dict[str, str]) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        arn = topic(sns, name)
        for attributes in (first, second):
            sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=QUEUE, Attributes=attributes)

    return action


def tags(number: int) -> Callable[[Any, str], None]:
    return on(
        "tag_resource", member="ResourceArn", Tags=[{"Key": str(n), "Value": "v"} for n in range(number)]
    )


def permit(**changes: Any) -> Callable[[Any, str], None]:
    grant = {"Label": "l", "AWSAccountId": ["111122223333"], "ActionName": ["Publish"], **changes}
    return on("add_permission", **grant)


RANGE = {"a": [{"numeric": [">", 5, "<", 1]}]}
CASES = (
    Case("create again", create_again({}, {})),
    Case("create a bad name", create(" x")),
    Case("create a long name", create("x" * 256)),
    Case("create .fifo without FifoTopic", create(".fifo")),
    Case("create FIFO without .fifo", create("", **FIFO)),
    Case("delete twice", delete_twice),
    Case("attributes of no topic", on("get_topic_attributes", missing=True)),
    Case("set an attribute of no topic", on(
        "set_topic_attributes", missing=True, AttributeName="DisplayName", AttributeValue="x")),
    Case("publish", publish()),
    Case("publish to no topic", on("publish", missing=True, Message="x")),
    Case("publish 256 KiB", publish(Message="x" * 262_144)),
    Case("publish 256 KiB + 1", publish(Message="x" * 262_145)),
    Case("publish with a long subject", publish(Subject="x" * 101)),
    Case("publish to an invalid telephone", lambda sns, name: sns.publish(PhoneNumber="x", Message="x")),
    Case("publish with a group to FIFO", publish(fifo=True, MessageGroupId="g", MessageDeduplicationId="d")),
    Case("publish without group to FIFO", publish(fifo=True, MessageDeduplicationId="d"),
         "MissingParameter", "AWS: `Invalid parameter: The MessageGroupId parameter is required for FIFO topics`"),
    Case("publish without deduplication to FIFO", publish(fifo=True, MessageGroupId="g")),
    Case("publish with deduplication to standard", publish(MessageDeduplicationId="d")),
    Case("publish an invalid number", publish(MessageAttributes=attribute("a", "Number", "x")),
         "InvalidParameter", "message attributes: ParameterValueInvalid (model: InvalidParameterValueException)"),
    Case("publish an unknown type", publish(MessageAttributes=attribute("a", "Text", "x")),
         "InvalidParameter", "message attributes: ParameterValueInvalid (model: InvalidParameterValueException)"),
    Case("publish an empty attribute", publish(MessageAttributes=attribute("a", "String", "")),
         "InvalidParameter", "message attributes: ParameterValueInvalid (model: InvalidParameterValueException)"),
    Case("batch of none", publish_batch(),
         "ok", "moto does not count entries from below (model: EmptyBatchRequest)"),
    Case("batch of eleven", publish_batch(*"abcdefghijk")),
    Case("batch with an id twice", publish_batch("a", "a")),
    Case("batch too long", publish_batch("a", "b", body="x" * 131_073),
         "ok", "moto adds nothing up (PublishBatch: 256 KiB in total)"),
    Case("batch to no topic", on(
        "publish_batch", missing=True, PublishBatchRequestEntries=[{"Id": "a", "Message": "x"}])),
    Case("subscribe a queue", subscribe()),
    Case("subscribe to no topic", on("subscribe", missing=True, Protocol="sqs", Endpoint=QUEUE)),
    Case("subscribe the URL of a queue", subscribe(endpoint="http://127.0.0.1/000000000000/q")),
    Case("subscribe with an unknown attribute", subscribe(Colour="red")),
    Case("subscribe again", subscribe_again({"RawMessageDelivery": "true"}, {"RawMessageDelivery": "true"})),
    Case("subscribe again without attributes", subscribe_again({"RawMessageDelivery": "true"}, {})),
    Case("subscribe again, different", subscribe_again(
        {"RawMessageDelivery": "true"}, {"RawMessageDelivery": "false"}),
         "ok", "AWS: `Subscription already exists with different attributes`"),
    Case("attributes of no subscription", lambda sns, name: sns.get_subscription_attributes(
        SubscriptionArn=f"{topic(sns, name)}:00000000-0000-4000-8000-000000000000")),
    Case("unsubscribe twice", unsubscribe_twice),
    Case("change to an unknown attribute", change("Colour", "red")),
    Case("change to raw", change("RawMessageDelivery", "true")),
    Case("filter", filtering({"a": ["b", {"prefix": "c"}, {"numeric": ["=", 1]}, {"exists": True}]})),
    Case("filter that is no JSON", filtering("{"),
         "not implemented", "moto breaks at it; AWS: `FilterPolicy: failed to parse JSON.`"),
    Case("filter of six keys", filtering({str(n): ["v"] for n in range(6)})),
    Case("filter of 151 values", filtering({"a": [str(n) for n in range(151)]})),
    Case("filter that is no list", filtering({"a": "b"})),
    Case("filter with an empty list", filtering({"a": []}),
         "ok", "AWS's engine: `Empty arrays are not allowed`"),
    Case("filter with an unknown operator", filtering({"a": [{"like": "b"}]})),
    Case("filter with a range upside down", filtering(RANGE)),
    Case("filter that is nested", filtering({"a": {"b": ["c"]}})),
    Case("filter that is nested, on bodies", filtering({"a": {"b": ["c"]}}, FilterPolicyScope="MessageBody")),
    Case("filter with exists and a text", filtering({"a": [{"exists": "yes"}]})),
    Case("filter with $or", filtering({"$or": [{"a": ["b"]}, {"c": ["d"]}]})),
    Case("filter with a wildcard", filtering({"a": [{"wildcard": "b*c"}]}),
         "InvalidParameter", "not known to moto (Developer Guide: String value matching)"),
    Case("filter with a network", filtering({"a": [{"cidr": "10.0.0.0/8"}]}),
         "InvalidParameter", "not known to moto (Developer Guide: String value matching)"),
    Case("confirm with an unknown token", on("confirm_subscription", Token="x"),
         "ok", "moto confirms nothing and accepts any token"),
    Case("tag", tags(2)),
    Case("51 tags", tags(51)),
    Case("tags of no topic", on("list_tags_for_resource", missing=True, member="ResourceArn")),
    Case("permit", permit()),
    Case("permit an unknown action", permit(ActionName=["Fly"])),
    Case("permit on no topic", on("add_permission", missing=True, Label="l", AWSAccountId=["111122223333"],
                                  ActionName=["Publish"])),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_moto_agrees(sns: Sns, case: Case) -> None:
    ours = outcome(sns.client, case, sns.sqs.name())
    assert outcome_of_moto(case, "sns") == (ours if case.moto is None else case.moto)
    assert case.moto != ours


def test_every_difference_has_a_reason() -> None:
    assert [case.name for case in CASES if bool(case.moto) != bool(case.why)] == []
