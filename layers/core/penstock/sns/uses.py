"""Lists the resources that requests of SNS use, for authorization."""

from typing import Protocol

from penstock.access.resources import ACCOUNT_USE, ANY, REPLAY, Use, Uses, use_new
from penstock.aws.sns_arn import parse_application_arn, parse_endpoint_arn, parse_topic_arn, parse_topic_of_subscription
from penstock.context import Context

from .types import (
    CreatePlatformApplicationRequest,
    CreateTopicRequest,
    PublishRequest,
    SetSubscriptionAttributesRequest,
    SubscribeRequest,
)

PHONE_USE = Use(ANY, is_owned=False, action=("penstock", "PublishToPhoneNumber"))


class _WithTopicArn(Protocol):
    topic_arn: str


class _WithResourceArn(Protocol):
    resource_arn: str


class _WithSubscriptionArn(Protocol):
    @property
    def subscription_arn(self) -> str | None: ...


class _WithApplicationArn(Protocol):
    platform_application_arn: str


class _WithEndpointArn(Protocol):
    endpoint_arn: str


def use_new_topic(request: CreateTopicRequest, context: Context) -> Uses:
    return (use_new("sns", request.name, context),)


def use_new_application(request: CreatePlatformApplicationRequest, context: Context) -> Uses:
    return (use_new("sns", f"app/{request.platform}/{request.name}", context),)


def use_topic(request: _WithTopicArn, _: Context) -> Uses:
    return _use_if(request.topic_arn, is_known=parse_topic_arn(request.topic_arn) is not None)


def use_subscribed_topic(request: SubscribeRequest, _: Context) -> Uses:
    """Returns the topic. Also returns the permission to send to a phone number for text messages, and the right to
    replay for a ReplayPolicy."""
    uses = list(_use_if(request.topic_arn, is_known=parse_topic_arn(request.topic_arn) is not None))
    if request.protocol == "sms":
        uses.append(PHONE_USE)
    if "ReplayPolicy" in (request.attributes or {}):
        uses.append(Use(request.topic_arn, is_owned=False, action=REPLAY))
    return uses


def use_phone(_: object, __: Context) -> Uses:
    """Returns the account and the permission to send to a phone number, because the action sends a text message."""
    return (ACCOUNT_USE, PHONE_USE)


def use_tagged_topic(request: _WithResourceArn, _: Context) -> Uses:
    return _use_if(request.resource_arn, is_known=parse_topic_arn(request.resource_arn) is not None)


def use_subscription(request: _WithSubscriptionArn, _: Context) -> Uses:
    arn = request.subscription_arn or ""
    return _use_if(arn, is_known=parse_topic_of_subscription(arn) is not None)


def use_changed_subscription(request: SetSubscriptionAttributesRequest, context: Context) -> Uses:
    """Returns the subscription, and for a ReplayPolicy the right to replay the messages of its topic."""
    uses = list(use_subscription(request, context))
    if request.attribute_name == "ReplayPolicy":
        topic = parse_topic_of_subscription(request.subscription_arn or "")
        uses.append(Use(ANY if topic is None else str(topic), is_owned=False, action=REPLAY))
    return uses


def use_application(request: _WithApplicationArn, _: Context) -> Uses:
    """Returns the platform application. Applications have no policies, so only the account that owns an application can
    use it."""
    arn = request.platform_application_arn
    return _use_if(arn, is_known=parse_application_arn(arn) is not None)


def use_endpoint(request: _WithEndpointArn, _: Context) -> Uses:
    """Returns the endpoint of a mobile app. Endpoints have no policies, so only the account that owns an endpoint can
    use it."""
    return _use_if(request.endpoint_arn, is_known=parse_endpoint_arn(request.endpoint_arn) is not None)


def use_publication_target(request: PublishRequest, _: Context) -> Uses:
    """Returns the topic or endpoint that receives the message, or the permission to send to a phone number."""
    topic, target = request.topic_arn or "", request.target_arn or ""
    if parse_topic_arn(topic) is not None:
        uses = [Use(topic)]
    elif parse_topic_arn(target) is not None or parse_endpoint_arn(target) is not None:
        uses = [Use(target)]
    else:
        uses = [ACCOUNT_USE]
    if request.phone_number is not None:
        uses.append(PHONE_USE)
    return uses


def _use_if(arn: str, *, is_known: bool) -> Uses:
    return (Use(arn) if is_known else ACCOUNT_USE,)
