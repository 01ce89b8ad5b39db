"""Defines a valid request for each action of SNS, and the members of its response."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.conformance.deployments import Deployments
from tests.support.conformance.requests import Members
from tests.support.conformance.sns import Sns, confirmation, endpoint, opt_out, outbox

ATTRIBUTES = {"a": {"DataType": "String", "StringValue": "v"}, "b": {"DataType": "Binary", "BinaryValue": "AQI="}}
GRANT: Members = {"Label": "l", "AWSAccountId": ["111122223333"], "ActionName": ["Publish"]}
QUEUE = {"Protocol": "sqs", "Endpoint": "arn:aws:sqs:us-east-1:000000000000:q"}


class Good(NamedTuple):
    """`needs` creates the required resources and returns the request. `answered` lists the response's members, with
    `{}` for the keys of a map.
    """

    needs: Callable[[Sns], Members]
    answered: tuple[str, ...] = ()


def topic(member: str = "TopicArn", **more: Any) -> Callable[[Sns], Members]:
    return lambda sns: {member: sns.create(), **more}


def tagged(**more: Any) -> Callable[[Sns], Members]:
    def needs(sns: Sns) -> Members:
        arn = sns.create()
        sns.client.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "blue"}])
        return {"ResourceArn": arn, **more}

    return needs


def new_topic(sns: Sns) -> Members:
    more = {"Attributes": {"DisplayName": "ü<&>"}, "Tags": [{"Key": "a", "Value": "b"}]}
    return {"Name": sns.sqs.name(), **more}


def permitted(sns: Sns) -> Members:
    arn = sns.create()
    sns.client.add_permission(TopicArn=arn, **GRANT)
    return {"TopicArn": arn, "Label": "l"}


def new_subscription(sns: Sns) -> Members:
    return {"TopicArn": sns.create(), **QUEUE, "Attributes": {"FilterPolicy": '{"a": ["b"]}'}}


def subscription(**more: Any) -> Callable[[Sns], Members]:
    return lambda sns: {"SubscriptionArn": sns.queue(sns.create(), RawMessageDelivery="true")[1], **more}


def token(sns: Sns) -> Members:
    arn, to = sns.create(), endpoint(sns)
    sns.subscribe(arn, to, "https")
    return {"TopicArn": arn, "Token": confirmation(sns, to)["Token"], "AuthenticateOnUnsubscribe": "false"}


def many_subscriptions(sns: Sns) -> Members:
    """Returns a topic with more subscriptions than one page of a list contains."""
    deployments = sns.sqs.deployments
    if deployments not in _crowded:
        _crowded[deployments] = sns.create()
        for number in range(101):
            sns.subscribe(_crowded[deployments], f"{QUEUE['Endpoint']}{number}")
    return {"TopicArn": _crowded[deployments]}


# All tests of an installation share the topic, because its creation takes a second.
_crowded: dict[Deployments, str] = {}
SECRETS = {"PlatformCredential": "c", "PlatformPrincipal": "p"}
PHONE, SANDBOX = "+15550111111", "+15550122222"


def new_application(sns: Sns) -> Members:
    return {"Name": sns.sqs.name(), "Platform": "APNS", "Attributes": SECRETS}


def application(**more: Any) -> Callable[[Sns], Members]:
    def needs(sns: Sns) -> Members:
        arn = sns.client.create_platform_application(**new_application(sns))["PlatformApplicationArn"]
        return {"PlatformApplicationArn": arn, **more}

    return needs


def platform_endpoint(**more: Any) -> Callable[[Sns], Members]:
    return lambda sns: {"EndpointArn": made_endpoint(sns, application()(sns)), **more}


def made_endpoint(sns: Sns, app: Members) -> str:
    return str(sns.client.create_platform_endpoint(**app, Token="t")["EndpointArn"])


def with_endpoint(sns: Sns) -> Members:
    app = application()(sns)
    made_endpoint(sns, app)
    return app


def opted_out_number(sns: Sns) -> Members:
    opt_out(sns, PHONE)
    return {}


def sandbox_number(sns: Sns) -> Members:
    sns.client.create_sms_sandbox_phone_number(PhoneNumber=SANDBOX)
    return {"PhoneNumber": SANDBOX}


def sandbox_password(sns: Sns) -> Members:
    sandbox_number(sns)
    *_, sent = outbox(sns, destination=SANDBOX)
    return {"PhoneNumber": SANDBOX, "OneTimePassword": sent["text"][-6:]}


def message(sns: Sns, number: int = 0) -> Members:
    return {"Message": "ü<&>\r\n", "Subject": "s", "MessageAttributes": ATTRIBUTES, "MessageGroupId": "g",
            "MessageDeduplicationId": str(number)}  # fmt: skip


def fifo_message(sns: Sns) -> Members:
    return {"TopicArn": sns.create_fifo(), **message(sns)}


def fifo_batch(sns: Sns) -> Members:
    entries = [{"Id": str(number), **message(sns, number)} for number in range(2)]
    bad = {"Id": "bad", "Message": "\x01", "MessageGroupId": "g", "MessageDeduplicationId": "bad"}
    return {"TopicArn": sns.create_fifo(), "PublishBatchRequestEntries": [*entries, bad]}


FAILED = ("Failed", "Failed[].Id", "Failed[].SenderFault", "Failed[].Code", "Failed[].Message")
SUCCESSFUL = ("Successful", *(f"Successful[].{name}" for name in ("Id", "MessageId", "SequenceNumber")))
LISTED = ("Subscriptions", *(f"Subscriptions[].{name}" for name in (
    "SubscriptionArn", "Owner", "Protocol", "Endpoint", "TopicArn")))  # fmt: skip
GOOD: dict[str, Good] = {
    "AddPermission": Good(topic(**GRANT)),
    "ConfirmSubscription": Good(token, ("SubscriptionArn",)),
    "CreateTopic": Good(new_topic, ("TopicArn",)),
    "DeleteTopic": Good(topic()),
    "GetDataProtectionPolicy": Good(topic("ResourceArn")),
    "GetSubscriptionAttributes": Good(subscription(), ("Attributes",)),
    "GetTopicAttributes": Good(lambda sns: {"TopicArn": sns.create(DisplayName="d")}, ("Attributes",)),
    "ListSubscriptions": Good(lambda sns: many_subscriptions(sns) and {}, (*LISTED, "NextToken")),
    "ListSubscriptionsByTopic": Good(many_subscriptions, (*LISTED, "NextToken")),
    "ListTagsForResource": Good(tagged(), ("Tags", "Tags[].Key", "Tags[].Value")),
    "ListTopics": Good(lambda sns: topic()(sns) and {}, ("Topics", "Topics[].TopicArn")),
    "Publish": Good(fifo_message, ("MessageId", "SequenceNumber")),
    "PublishBatch": Good(fifo_batch, (*SUCCESSFUL, *FAILED)),
    "PutDataProtectionPolicy": Good(topic("ResourceArn", DataProtectionPolicy="{}")),
    "RemovePermission": Good(permitted),
    "SetSubscriptionAttributes": Good(subscription(AttributeName="RawMessageDelivery", AttributeValue="false")),
    "SetTopicAttributes": Good(topic(AttributeName="DisplayName", AttributeValue="x")),
    "Subscribe": Good(new_subscription, ("SubscriptionArn",)),
    "TagResource": Good(topic("ResourceArn", Tags=[{"Key": "a", "Value": "b"}])),
    "Unsubscribe": Good(subscription()),
    "UntagResource": Good(tagged(TagKeys=["team"])),
    "CreatePlatformApplication": Good(new_application, ("PlatformApplicationArn",)),
    "DeletePlatformApplication": Good(application()),
    "GetPlatformApplicationAttributes": Good(application(), ("Attributes",)),
    "SetPlatformApplicationAttributes": Good(application(Attributes={"EventEndpointCreated": "ü<&>"})),
    "ListPlatformApplications": Good(
        lambda sns: application()(sns) and {},
        ("PlatformApplications", "PlatformApplications[].PlatformApplicationArn", "PlatformApplications[].Attributes"),
    ),
    "CreatePlatformEndpoint": Good(application(Token="t", CustomUserData="ü<&>"), ("EndpointArn",)),
    "DeleteEndpoint": Good(platform_endpoint()),
    "GetEndpointAttributes": Good(platform_endpoint(), ("Attributes",)),
    "SetEndpointAttributes": Good(platform_endpoint(Attributes={"Enabled": "false"})),
    "ListEndpointsByPlatformApplication": Good(
        with_endpoint, ("Endpoints", "Endpoints[].EndpointArn", "Endpoints[].Attributes")
    ),
    "SetSMSAttributes": Good(lambda _: {"attributes": {"DefaultSMSType": "Promotional"}}),
    "GetSMSAttributes": Good(lambda _: {"attributes": ["MonthlySpendLimit"]}, ("attributes",)),
    "CheckIfPhoneNumberIsOptedOut": Good(lambda _: {"phoneNumber": PHONE}, ("isOptedOut",)),
    "ListPhoneNumbersOptedOut": Good(opted_out_number, ("phoneNumbers",)),
    "OptInPhoneNumber": Good(lambda _: {"phoneNumber": "+15550199999"}),
    "ListOriginationNumbers": Good(lambda _: {"MaxResults": 30}),
    "GetSMSSandboxAccountStatus": Good(lambda _: {}, ("IsInSandbox",)),
    "CreateSMSSandboxPhoneNumber": Good(lambda _: {"PhoneNumber": SANDBOX, "LanguageCode": "en-US"}),
    "VerifySMSSandboxPhoneNumber": Good(sandbox_password),
    "DeleteSMSSandboxPhoneNumber": Good(sandbox_number),
    "ListSMSSandboxPhoneNumbers": Good(
        lambda sns: sandbox_number(sns) and {"MaxResults": 1},
        ("PhoneNumbers", "PhoneNumbers[].PhoneNumber", "PhoneNumbers[].Status"),
    ),
}
