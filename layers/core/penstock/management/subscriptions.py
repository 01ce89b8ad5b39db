"""Subscriptions of a topic as a form describes them: any protocol of SNS, and all settings in one change.

The filter policy stays a text, so that an error can name the position of a fault.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.authorization import check_user
from penstock.access.resources import ANY, build_arn
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.mappings import FILTER_MESSAGES
from penstock.sns import subscriptions as subscribing
from penstock.sns import types as sns
from penstock.sns.filter_policy import facts
from penstock.sns.filter_policy.compile import compile_topic_policy
from penstock.sqs import handles
from penstock.sqs.types import MessageAttributeValue

from .rights import build_topic_arn, needs

_json = msgspec.json.Encoder()
_redrive_policy = msgspec.json.Decoder(subscribing.SubscriptionRedrivePolicy)


class SubscriptionSettings(NamedTuple):
    """The settings of a subscription. `filter` is a filter policy in JSON, or empty. `dead_letters` is the name of a
    queue of the account, an ARN, or empty.
    """

    filter: str = ""
    scope: str = "MessageAttributes"
    raw: bool = False
    dead_letters: str = ""


class DescribedSubscription(NamedTuple):
    """A subscription. `version` changes with the stored settings."""

    arn: str
    protocol: str
    endpoint: str
    owner: str
    is_confirmed: bool
    settings: SubscriptionSettings
    version: str


class FilterSample(NamedTuple):
    """A message to compare with a filter."""

    body: str
    attributes: Mapping[str, MessageAttributeValue]


@needs("topic", "sns:Subscribe")
def subscribe_endpoint(
    name: str, protocol: str, endpoint: str, settings: SubscriptionSettings, context: Context
) -> Operation[str]:
    """Subscribes an endpoint of any protocol. A queue is an existing queue of the account, by name, or an ARN.

    Returns the subscription's ARN, also before the confirmation. Raises QueueDoesNotExist, AccessDenied, NotFound and
    the other errors of Subscribe.
    """
    if protocol == "sms":
        check_user("penstock", "PublishToPhoneNumber", ANY, context)
    if protocol == "sqs":
        endpoint = yield from _find_queue("Endpoint", endpoint, context)
    attributes = _build_attributes(settings, context)
    yield from _find_queue("RedrivePolicy", settings.dead_letters, context)
    request = sns.SubscribeRequest(
        build_topic_arn(name, context), protocol, endpoint,
        {key: value for key, value in attributes.items() if value and value != subscribing.DEFAULTS.get(key)}, True,
    )  # fmt: skip
    made = yield from subscribing.subscribe(request, context)
    return made.subscription_arn or ""


@needs("subscription", "sns:GetSubscriptionAttributes")
def describe_subscription(name: str, subscription: str, context: Context) -> Operation[DescribedSubscription]:
    """Returns a subscription of a topic. Raises NotFound."""
    arn = build_subscription_arn(name, subscription, context)
    found = yield from subscribing.get_subscription_attributes(sns.GetSubscriptionAttributesRequest(arn), context)
    attributes = found.attributes or {}
    redrive = attributes.get("RedrivePolicy")
    settings = SubscriptionSettings(
        attributes.get("FilterPolicy", ""),
        attributes.get("FilterPolicyScope", "MessageAttributes"),
        attributes["RawMessageDelivery"] == "true",
        _shorten_queue(_redrive_policy.decode(redrive).dead_letter_target_arn, context) if redrive else "",
    )
    return DescribedSubscription(
        arn, attributes["Protocol"], attributes["Endpoint"], attributes["Owner"],
        attributes["PendingConfirmation"] == "false", settings,
        sha256(_json.encode(settings)).hexdigest()[:16],
    )  # fmt: skip


@needs("subscription", "sns:GetSubscriptionAttributes", "sns:SetSubscriptionAttributes")
@audited(
    lambda name, subscription, _settings, _version, context: Act(
        "sns:SetSubscriptionAttributes", build_subscription_arn(name, subscription, context), when_changed=True
    )
)
def change_subscription(
    name: str, subscription: str, settings: SubscriptionSettings, version: str, context: Context
) -> Operation[None]:
    """Replaces the settings of a subscription in one transaction.

    `version` is the version that the caller has read, or empty. Raises InvalidParameterValue if the version has changed
    since, QueueDoesNotExist, and the errors of SetSubscriptionAttributes.
    """
    stored = yield from describe_subscription(name, subscription, context)
    if version not in ("", stored.version):
        raise errors.InvalidParameterValue("Another user has changed the subscription in the meantime.")
    before, after = _build_attributes(stored.settings, context), _build_attributes(settings, context)
    changes = {key: value for key, value in after.items() if value != before[key]}
    if not changes:
        raise errors.InvalidParameterValue("The subscription already has these settings.")
    if "RedrivePolicy" in changes:
        yield from _find_queue("RedrivePolicy", settings.dead_letters, context)
    yield from subscribing.replace_attributes(stored.arn, changes, context)


@needs("topic", "sns:ConfirmSubscription")
def confirm_subscription(name: str, token: str, context: Context) -> Operation[str]:
    """Confirms the subscription to which the token belongs. Returns its ARN. Raises InvalidParameter."""
    request = sns.ConfirmSubscriptionRequest(build_topic_arn(name, context), token)
    confirmed = yield from subscribing.confirm_subscription(request, context)
    return confirmed.subscription_arn or ""


def passes_filter(settings: SubscriptionSettings, sample: FilterSample) -> Operation[bool]:
    """Returns whether a message would pass the filter policy, which need not be stored. Raises InvalidParameter."""
    compiled = compile_topic_policy(settings.filter, settings.scope) if settings.filter else None
    if compiled is None:
        return True
    if settings.scope == "MessageBody":
        found = facts.encode_body_facts(sample.body)
    else:
        found = _json.encode(facts.attribute_facts(sample.attributes))
    return found is not None and bool((yield from Call(FILTER_MESSAGES, ([compiled], [found.decode()]))))


def build_subscription_arn(name: str, subscription: str, context: Context) -> str:
    """Returns the ARN of a subscription to a topic of the caller's account."""
    return f"{build_topic_arn(name, context)}:{subscription}"


def _build_attributes(settings: SubscriptionSettings, context: Context) -> dict[str, str]:
    """Returns SNS's attributes. An empty value means that the subscription does not have the attribute."""
    dead_letters = settings.dead_letters and _build_queue_arn(settings.dead_letters, context)
    redrive = subscribing.SubscriptionRedrivePolicy(dead_letters)
    return {
        "FilterPolicyScope": settings.scope if settings.filter else "MessageAttributes",
        "FilterPolicy": settings.filter,
        "RawMessageDelivery": str(settings.raw).lower(),
        "RedrivePolicy": _json.encode(redrive).decode() if dead_letters else "",
    }


def _find_queue(attribute: str, given: str, context: Context) -> Operation[str]:
    """Returns the ARN of a queue. Raises QueueDoesNotExist for a name without a queue. Unlike a person with a form,
    programs can create a subscription before its queue, and they use ARNs.
    """
    arn = _build_queue_arn(given, context)
    if given and not given.startswith("arn:"):
        try:
            yield from handles.check_queue(arn)
        except errors.QueueDoesNotExist:
            raise errors.QueueDoesNotExist(
                f"{attribute}: there is no queue '{given[:80]}'.", member=attribute
            ) from None
    return arn


def _build_queue_arn(given: str, context: Context) -> str:
    return given if given.startswith("arn:") else build_arn("sqs", given, context)


def _shorten_queue(arn: str, context: Context) -> str:
    """Returns the name of a queue of the caller's account and region, or any other ARN unchanged."""
    return arn.removeprefix(build_arn("sqs", "", context))
