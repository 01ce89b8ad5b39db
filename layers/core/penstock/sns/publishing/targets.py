"""The targets of SNS requests: a topic, an application or endpoint of a mobile app, or a phone number."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from penstock.aws.sns_arn import PlatformArn, TopicArn, parse_application_arn, parse_endpoint_arn, parse_topic_arn
from penstock.context import Context
from penstock.sns import errors
from penstock.sns import types as sns
from penstock.sns.sms.phone_numbers import is_phone_number

ArnT = TypeVar("ArnT", TopicArn, PlatformArn)


class Recipient(NamedTuple):
    """The only recipient of a message: a phone number, or the ARN of a mobile app's endpoint.

    `platform` is the app's platform.
    """

    protocol: str
    destination: str
    platform: str | None = None


def find_target(request: sns.PublishRequest, context: Context) -> TopicArn | Recipient:
    """Returns the target of a Publish. Raises InvalidParameter."""
    if request.phone_number is not None:
        return read_phone_number(request)
    if request.target_arn and ":endpoint/" in request.target_arn:
        return read_recipient(request.target_arn, request.topic_arn, context)
    if request.topic_arn is None and request.target_arn is None:
        raise errors.InvalidParameter.named("TopicArn or TargetArn", "no value for required parameter")
    if request.target_arn and not request.topic_arn:
        return read_arn(parse_topic_arn, "TargetArn", request.target_arn, context)
    return read_topic_arn(request.topic_arn or "", context)


def read_phone_number(request: sns.PublishRequest) -> Recipient:
    """Returns the request's phone number. Raises InvalidParameter."""
    number = request.phone_number or ""
    if request.topic_arn or request.target_arn:
        raise errors.InvalidParameter.named(
            "PhoneNumber", "Only one of TopicArn, TargetArn and PhoneNumber can be given"
        )
    if not is_phone_number(number):
        raise errors.InvalidParameter.named("PhoneNumber", f"{number[:64]} is not valid to publish to")
    return Recipient("sms", number)


def read_recipient(target: str, topic: str | None, context: Context) -> Recipient:
    """Returns a Publish's endpoint. Raises InvalidParameter for another text, and for a request that also names a
    topic."""
    arn = read_arn(parse_endpoint_arn, "TargetArn", target, context)
    if topic:
        raise errors.InvalidParameter.named("TargetArn")
    return Recipient("application", target, arn.platform)


# --- ARNs ------------------------------------------------------------------------------------------------------------
def read_topic_arn(text: str, context: Context, parameter: str = "TopicArn") -> TopicArn:
    """Returns the request's topic from `parameter`. Raises InvalidParameter."""
    return read_arn(parse_topic_arn, parameter, text, context)


def read_application_arn(text: str, context: Context) -> PlatformArn:
    """Returns the request's application. Raises InvalidParameter."""
    return read_arn(parse_application_arn, "PlatformApplicationArn", text, context)


def read_endpoint_arn(text: str, context: Context) -> PlatformArn:
    """Returns the request's endpoint. Raises InvalidParameter."""
    return read_arn(parse_endpoint_arn, "EndpointArn", text, context)


def read_arn(parse: Callable[[str], ArnT | None], parameter: str, text: str, context: Context) -> ArnT:
    """Returns the ARN of a parameter. Raises InvalidParameter for another text, and for an ARN of another region."""
    arn = parse(text)
    if arn is not None and arn.region == context.region:
        return arn
    elements = text.count(":") + 1
    reason = "" if elements >= 6 else f"An ARN must have at least 6 elements, not {elements}"
    raise errors.InvalidParameter.named(parameter, reason)
