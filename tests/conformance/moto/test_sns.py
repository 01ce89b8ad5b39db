"""Compares topics and subscriptions with moto, by the method that test_sqs.py describes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.conformance.moto import Call, attribute, call_outcome, moto_outcome
from tests.support.conformance.sns import Sns

QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
FIFO = {"FifoTopic": "true"}


# --- what is done ----------------------------------------------------------------------------------------------------
def topic(sns: Any, name: str, **attributes: str) -> str:
    return str(sns.create_topic(Name=name, Attributes=attributes)["TopicArn"])


def on(
    method: str, *, fifo: bool = False, missing: bool = False, member: str = "TopicArn", **parameters: Any
) -> Callable[[Any, str], None]:
    """Returns a call on a new or missing topic."""

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
    """Returns a call that sets attributes of a queue's subscription."""

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
    return on("tag_resource", member="ResourceArn", Tags=[{"Key": str(n), "Value": "v"} for n in range(number)])


def permit(**changes: Any) -> Callable[[Any, str], None]:
    grant = {"Label": "l", "AWSAccountId": ["111122223333"], "ActionName": ["Publish"], **changes}
    return on("add_permission", **grant)


RANGE = {"a": [{"numeric": [">", 5, "<", 1]}]}
CASES = (
    Call("create again", create_again({}, {})),
    Call("create a bad name", create(" x")),
    Call("create a long name", create("x" * 256)),
    Call("create .fifo without FifoTopic", create(".fifo")),
    Call("create FIFO without .fifo", create("", **FIFO)),
    Call("delete twice", delete_twice),
    Call("attributes of no topic", on("get_topic_attributes", missing=True)),
    Call("set an attribute of no topic", on(
        "set_topic_attributes", missing=True, AttributeName="DisplayName", AttributeValue="x")),
    Call("publish", publish()),
    Call("publish to no topic", on("publish", missing=True, Message="x")),
    Call("publish 256 KiB", publish(Message="x" * 262_144)),
    Call("publish 256 KiB + 1", publish(Message="x" * 262_145)),
    Call("publish with a long subject", publish(Subject="x" * 101)),
    Call("publish to an invalid telephone", lambda sns, name: sns.publish(PhoneNumber="x", Message="x")),
    Call("publish with a group to FIFO", publish(fifo=True, MessageGroupId="g", MessageDeduplicationId="d")),
    Call("publish without group to FIFO", publish(fifo=True, MessageDeduplicationId="d"),
         "MissingParameter", "AWS: `Invalid parameter: The MessageGroupId parameter is required for FIFO topics`"),
    Call("publish without deduplication to FIFO", publish(fifo=True, MessageGroupId="g")),
    Call("publish with deduplication to standard", publish(MessageDeduplicationId="d")),
    Call("publish an invalid number", publish(MessageAttributes=attribute("a", "Number", "x")),
         "InvalidParameter", "message attributes: ParameterValueInvalid (model: InvalidParameterValueException)"),
    Call("publish an unknown type", publish(MessageAttributes=attribute("a", "Text", "x")),
         "InvalidParameter", "message attributes: ParameterValueInvalid (model: InvalidParameterValueException)"),
    Call("publish an empty attribute", publish(MessageAttributes=attribute("a", "String", "")),
         "InvalidParameter", "message attributes: ParameterValueInvalid (model: InvalidParameterValueException)"),
    Call("batch of none", publish_batch(),
         "ok", "moto does not count entries from below (model: EmptyBatchRequest)"),
    Call("batch of eleven", publish_batch(*"abcdefghijk")),
    Call("batch with an id twice", publish_batch("a", "a")),
    Call("batch too long", publish_batch("a", "b", body="x" * 131_073),
         "ok", "moto adds nothing up (PublishBatch: 256 KiB in total)"),
    Call("batch to no topic", on(
        "publish_batch", missing=True, PublishBatchRequestEntries=[{"Id": "a", "Message": "x"}])),
    Call("subscribe a queue", subscribe()),
    Call("subscribe to no topic", on("subscribe", missing=True, Protocol="sqs", Endpoint=QUEUE)),
    Call("subscribe the URL of a queue", subscribe(endpoint="http://127.0.0.1/000000000000/q")),
    Call("subscribe with an unknown attribute", subscribe(Colour="red")),
    Call("subscribe again", subscribe_again({"RawMessageDelivery": "true"}, {"RawMessageDelivery": "true"})),
    Call("subscribe again without attributes", subscribe_again({"RawMessageDelivery": "true"}, {})),
    Call("subscribe again, different", subscribe_again(
        {"RawMessageDelivery": "true"}, {"RawMessageDelivery": "false"}),
         "ok", "AWS: `Subscription already exists with different attributes`"),
    Call("attributes of no subscription", lambda sns, name: sns.get_subscription_attributes(
        SubscriptionArn=f"{topic(sns, name)}:00000000-0000-4000-8000-000000000000")),
    Call("unsubscribe twice", unsubscribe_twice),
    Call("change to an unknown attribute", change("Colour", "red")),
    Call("change to raw", change("RawMessageDelivery", "true")),
    Call("filter", filtering({"a": ["b", {"prefix": "c"}, {"numeric": ["=", 1]}, {"exists": True}]})),
    Call("filter that is no JSON", filtering("{"),
         "not implemented", "moto breaks at it; AWS: `FilterPolicy: failed to parse JSON.`"),
    Call("filter of six keys", filtering({str(n): ["v"] for n in range(6)})),
    Call("filter of 151 values", filtering({"a": [str(n) for n in range(151)]})),
    Call("filter that is no list", filtering({"a": "b"})),
    Call("filter with an empty list", filtering({"a": []}),
         "ok", "AWS's engine: `Empty arrays are not allowed`"),
    Call("filter with an unknown operator", filtering({"a": [{"like": "b"}]})),
    Call("filter with a range upside down", filtering(RANGE)),
    Call("filter that is nested", filtering({"a": {"b": ["c"]}})),
    Call("filter that is nested, on bodies", filtering({"a": {"b": ["c"]}}, FilterPolicyScope="MessageBody")),
    Call("filter with exists and a text", filtering({"a": [{"exists": "yes"}]})),
    Call("filter with $or", filtering({"$or": [{"a": ["b"]}, {"c": ["d"]}]})),
    Call("filter with a wildcard", filtering({"a": [{"wildcard": "b*c"}]}),
         "InvalidParameter", "not known to moto (Developer Guide: String value matching)"),
    Call("filter with a network", filtering({"a": [{"cidr": "10.0.0.0/8"}]}),
         "InvalidParameter", "not known to moto (Developer Guide: String value matching)"),
    Call("confirm with an unknown token", on("confirm_subscription", Token="x"),
         "ok", "moto confirms nothing and accepts any token"),
    Call("tag", tags(2)),
    Call("51 tags", tags(51)),
    Call("tags of no topic", on("list_tags_for_resource", missing=True, member="ResourceArn")),
    Call("permit", permit()),
    Call("permit an unknown action", permit(ActionName=["Fly"])),
    Call("permit on no topic", on("add_permission", missing=True, Label="l", AWSAccountId=["111122223333"],
                                  ActionName=["Publish"])),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_moto_agrees(sns: Sns, case: Call) -> None:
    ours = call_outcome(sns.client, case, sns.sqs.name())
    assert moto_outcome(case, "sns") == (ours if case.moto is None else case.moto)
    assert case.moto != ours


def test_every_difference_has_a_reason() -> None:
    assert [case.name for case in CASES if bool(case.moto) != bool(case.why)] == []


# --- sns devices -----------------------------------------------------------------------------------------------------
# Compares platform applications, endpoints and text messages with moto, by the method that test_sqs.py describes.


SECRET = {"PlatformCredential": "secret", "PlatformPrincipal": "principal"}
NOBODY = "00000000-0000-4000-8000-000000000000"


# --- what is done ----------------------------------------------------------------------------------------------------
def application(sns: Any, name: str, platform: str = "GCM", **attributes: str) -> str:
    made = sns.create_platform_application(Name=name, Platform=platform, Attributes=SECRET | attributes)
    return str(made["PlatformApplicationArn"])


def create_application(suffix: str = "", platform: str = "GCM", **attributes: str) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        application(sns, name + suffix, platform, **attributes)

    return action


def create_application_again(**attributes: str) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        application(sns, name)
        application(sns, name, **attributes)

    return action


def on_application(method: str, *, missing: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    """Returns a call about a new or missing platform application."""

    def action(sns: Any, name: str) -> None:
        arn = application(sns, name)
        getattr(sns, method)(PlatformApplicationArn=f"{arn}-none" if missing else arn, **parameters)

    return action


def endpoint(sns: Any, name: str, token: str = "token", **more: Any) -> str:
    made = sns.create_platform_endpoint(PlatformApplicationArn=application(sns, name), Token=token, **more)
    return str(made["EndpointArn"])


def register(**parameters: Any) -> Callable[[Any, str], None]:
    return on_application("create_platform_endpoint", **{"Token": "token", **parameters})


def register_twice(first: dict[str, Any], second: dict[str, Any]) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        arn = application(sns, name)
        for more in (first, second):
            sns.create_platform_endpoint(PlatformApplicationArn=arn, Token="token", **more)

    return action


def on_endpoint(method: str, *, missing: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    """Returns a call about a new or missing endpoint."""

    def action(sns: Any, name: str) -> None:
        arn = endpoint(sns, name)
        getattr(sns, method)(EndpointArn=f"{arn[:-36]}{NOBODY}" if missing else arn, **parameters)

    return action


def push(**attributes: str) -> Callable[[Any, str], None]:
    """Returns a call that publishes to an endpoint with these attributes."""

    def action(sns: Any, name: str) -> None:
        sns.publish(TargetArn=endpoint(sns, name, Attributes=attributes), Message="m")

    return action


def push_after(method: str) -> Callable[[Any, str], None]:
    """Returns a call that changes an endpoint and then publishes to the endpoint."""

    def action(sns: Any, name: str) -> None:
        arn = endpoint(sns, name)
        getattr(sns, method)(EndpointArn=arn)
        sns.publish(TargetArn=arn, Message="m")

    return action


def twice(method: str, member: str, create: Callable[[Any, str], str]) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        arn = create(sns, name)
        for _ in range(2):
            getattr(sns, method)(**{member: arn})

    return action


def register_at_a_deleted_application(sns: Any, name: str) -> None:
    arn = application(sns, name)
    sns.delete_platform_application(PlatformApplicationArn=arn)
    sns.create_platform_endpoint(PlatformApplicationArn=arn, Token="token")


def call(method: str, **parameters: Any) -> Callable[[Any, str], None]:
    return lambda sns, name: getattr(sns, method)(**parameters)


def set_sms(**attributes: str) -> Callable[[Any, str], None]:
    return call("set_sms_attributes", attributes=attributes)


SETS_ANYTHING = "moto keeps any attribute (model: InvalidParameterException; SetSMSAttributes lists names and values)"
BREAKS = "moto breaks at it; DeletePlatformApplication names no error for an application that is gone"
SANDBOX = "moto knows no SMS sandbox"
DEVICE_CASES = (
    Call("create", create_application()),
    Call("create again", create_application_again()),
    Call("create again with another attribute", create_application_again(SuccessFeedbackSampleRate="1"),
         "ok", "moto replaces it (CreatePlatformEndpoint's rule, reports of users: different attributes are refused)"),
    Call("create for an unknown service", create_application(platform="PIGEON"),
         "ok", "moto does not look at Platform (CreatePlatformApplication: a supported service)"),
    Call("create a bad name", create_application(" x"),
         "ok", "moto does not look at Name (CreatePlatformApplication: letters, digits and _-.)"),
    Call("create a long name", create_application("x" * 256),
         "ok", "moto does not look at Name (CreatePlatformApplication: 1 to 256 characters)"),
    Call("create with an unknown attribute", create_application(Colour="red"),
         "ok", "moto keeps any attribute (model: InvalidParameterException)"),
    Call("attributes", on_application("get_platform_application_attributes")),
    Call("attributes of none", on_application("get_platform_application_attributes", missing=True)),
    Call("change", on_application("set_platform_application_attributes", Attributes={"Enabled": "false"})),
    Call("change none", on_application(
        "set_platform_application_attributes", missing=True, Attributes={"Enabled": "false"})),
    Call("applications", call("list_platform_applications")),
    Call("delete", on_application("delete_platform_application")),
    Call("delete none", on_application("delete_platform_application", missing=True), "not implemented", BREAKS),
    Call("delete twice", twice("delete_platform_application", "PlatformApplicationArn", application),
         "not implemented", BREAKS),
    Call("register", register()),
    Call("register with all there is", register(CustomUserData="u", Attributes={"Enabled": "false"})),
    Call("register at none", register(missing=True)),
    Call("register at a deleted application", register_at_a_deleted_application),
    Call("register twice", register_twice({}, {})),
    Call("register twice, different", register_twice({"CustomUserData": "a"}, {"CustomUserData": "b"})),
    Call("register twice, disabled", register_twice({}, {"Attributes": {"Enabled": "false"}})),
    Call("register an empty token", register(Token=""),
         "ok", "moto takes any token (CreatePlatformEndpoint: what the service gave)"),
    Call("register too much user data", register(CustomUserData="u" * 2_049),
         "ok", "moto counts no bytes (CreatePlatformEndpoint: less than 2 KB)"),
    Call("register with an unknown attribute", register(Attributes={"Colour": "red"}),
         "ok", "moto keeps any attribute (model: InvalidParameterException)"),
    Call("endpoints", on_application("list_endpoints_by_platform_application")),
    Call("endpoints of none", on_application("list_endpoints_by_platform_application", missing=True)),
    Call("endpoint", on_endpoint("get_endpoint_attributes")),
    Call("unknown endpoint", on_endpoint("get_endpoint_attributes", missing=True)),
    Call("change an endpoint", on_endpoint("set_endpoint_attributes", Attributes={"Enabled": "false"})),
    Call("change no endpoint", on_endpoint("set_endpoint_attributes", missing=True, Attributes={"Token": "t"})),
    Call("delete an endpoint", on_endpoint("delete_endpoint")),
    Call("delete no endpoint", on_endpoint("delete_endpoint", missing=True)),
    Call("delete an endpoint twice", twice("delete_endpoint", "EndpointArn", endpoint)),
    Call("push", push()),
    Call("push to a disabled endpoint", push(Enabled="false")),
    Call("push to a deleted endpoint", push_after("delete_endpoint"),
         "NotFound", "AWS: `TargetArn Reason: No endpoint found for the target arn specified`"),
    Call("attributes of text messages", call("get_sms_attributes")),
    Call("one attribute of text messages", call("get_sms_attributes", attributes=["DefaultSMSType"])),
    Call("set the type of text messages", set_sms(DefaultSMSType="Transactional")),
    Call("set an unknown type", set_sms(DefaultSMSType="Loud"), "ok", SETS_ANYTHING),
    Call("set an unknown attribute", set_sms(Colour="red"), "ok", SETS_ANYTHING),
    Call("set a limit that is no number", set_sms(MonthlySpendLimit="much"), "ok", SETS_ANYTHING),
    Call("opted out", call("check_if_phone_number_is_opted_out", phoneNumber="+15555550100")),
    Call("opted out, no number", call("check_if_phone_number_is_opted_out", phoneNumber="x")),
    Call("all that are opted out", call("list_phone_numbers_opted_out")),
    Call("opt in", call("opt_in_phone_number", phoneNumber="+15555550100")),
    Call("opt in no number", call("opt_in_phone_number", phoneNumber="x"),
         "ok", "moto does not look at the number (model: InvalidParameterException)"),
    Call("sandbox", call("get_sms_sandbox_account_status"), "not implemented", SANDBOX),
    Call("numbers of the sandbox", call("list_sms_sandbox_phone_numbers"), "not implemented", SANDBOX),
    Call("a number for the sandbox", call("create_sms_sandbox_phone_number", PhoneNumber="+15555550101"),
         "not implemented", SANDBOX),
    Call("origination numbers", call("list_origination_numbers"), "not implemented", "moto knows none"),
    Call("text to a phone", call("publish", PhoneNumber="+15555550102", Message="m")),
    Call("too long a text", call("publish", PhoneNumber="+15555550103", Message="m" * 1_601)),
)  # fmt: skip


@pytest.mark.parametrize("sqs", ["container-query"], indirect=True)
@pytest.mark.parametrize("case", DEVICE_CASES, ids=lambda case: case.name)
def test_moto_agrees_about_devices(sns: Sns, case: Call) -> None:
    ours = call_outcome(sns.client, case, sns.sqs.name())
    assert moto_outcome(case, "sns") == (ours if case.moto is None else case.moto)
    assert case.moto != ours


def test_every_difference_about_devices_has_a_reason() -> None:
    assert [case.name for case in DEVICE_CASES if bool(case.moto) != bool(case.why)] == []
