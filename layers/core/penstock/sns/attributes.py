"""Attributes of topics and subscriptions: names and values, and how SNS shows them.

Values are stored as the strings that the client sent. Sources: CreateTopic, SetTopicAttributes, GetTopicAttributes,
Subscribe, SetSubscriptionAttributes and GetSubscriptionAttributes of the SNS API reference.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from penstock.access.policy.checks import SNS_RULES, PolicyProblem, find_policy_problem
from penstock.access.topic_actions import OWNER_ACTIONS
from penstock.aws import bus_arn
from penstock.aws.arn import parse_queue_arn
from penstock.aws.sns_arn import TopicArn
from penstock.documents.times import format_timestamp
from penstock.errors import KMS_KEYS_REFUSED
from penstock.limits.queue_limits import MAX_MESSAGE_BYTES, MIN_MESSAGE_BYTES
from penstock.sqs.validation import encode_text

from .archive_policies import (
    ARCHIVE,
    REPLAY,
    check_archive_policy,
    check_replay_policy,
    decode_policy,
    remove_empty_policy,
)
from .delivery_policy import (
    check_delivery_policy,
    check_topic_policy,
    compute_effective_topic_policy,
    show_topic_policy,
)
from .errors import InvalidParameter

if TYPE_CHECKING:
    from penstock.postgres.statements.sns.topics import TopicRow
    from penstock.settings import Settings

Check = Callable[[str], bool]

BUS = "PenstockBus"
"""The event bus of the topic's account that also stores the messages of the topic (our choice)."""
MAX_TAGS = 50
MAX_POLICY_BYTES = 30_720

_INTEGER = re.compile(r"[0-9]{1,10}").fullmatch
_PROTOCOLS = ("Application", "Firehose", "HTTP", "Lambda", "SQS")


def _accept_only(*values: str) -> Check:
    return lambda value: value in values


def _check_json_object(value: str) -> bool:
    return value == "" or isinstance(decode_policy(value), dict)


def _accept_anything(_value: str) -> bool:
    return True


def _is_boolean(value: str) -> bool:
    return value.lower() in ("true", "false")


def _build_length_check(length: int) -> Check:
    return lambda value: len(value) <= length


def _build_range_check(low: int, high: int) -> Check:
    return lambda value: _INTEGER(value) is not None and low <= int(value) <= high


def _is_bus_name(value: str) -> bool:
    return value == "" or bus_arn.is_name(value) is not None


_BOOLEAN = _accept_only("true", "false")
_FEEDBACK = {
    f"{protocol}{suffix}": check
    for protocol in _PROTOCOLS
    for suffix, check in (
        ("SuccessFeedbackRoleArn", _accept_anything),
        ("SuccessFeedbackSampleRate", _build_range_check(0, 100)),
        ("FailureFeedbackRoleArn", _accept_anything),
    )
}
TOPIC: Mapping[str, Check] = {
    "DeliveryPolicy": _check_json_object,
    "DisplayName": _build_length_check(100),
    "Policy": _accept_anything,  # _check_access_policy raises other errors
    "TracingConfig": _accept_only("PassThrough", "Active"),
    "KmsMasterKeyId": _accept_anything,
    "SignatureVersion": _accept_only("1", "2"),
    "MaximumMessageSize": _build_range_check(MIN_MESSAGE_BYTES, MAX_MESSAGE_BYTES),
    BUS: _is_bus_name,
    **_FEEDBACK,
}
FIFO_TOPIC: Mapping[str, Check] = {
    "FifoTopic": _BOOLEAN,
    "ContentBasedDeduplication": _BOOLEAN,
    "FifoThroughputScope": _accept_only("Topic", "MessageGroup"),
    ARCHIVE: _accept_anything,  # check_archive_policy checks it
}
SUBSCRIPTION: Mapping[str, Check] = {
    "DeliveryPolicy": _check_json_object,
    "FilterPolicy": _accept_anything,  # filter_policy/compile.py checks it and raises other errors
    "FilterPolicyScope": _accept_only("MessageAttributes", "MessageBody"),
    "RawMessageDelivery": _is_boolean,
    "RedrivePolicy": _accept_anything,  # check_redrive_policy checks it
    "SubscriptionRoleArn": _accept_anything,
    REPLAY: _accept_anything,  # check_replay_policy checks it
}

# Source: "Amazon SNS raw message delivery" (SNS Developer Guide).
RAW_PROTOCOLS = ("sqs", "http", "https", "firehose")
BOOLEANS = frozenset(("FifoTopic", "ContentBasedDeduplication", "RawMessageDelivery"))


def normalize_values(attributes: Mapping[str, str]) -> dict[str, str]:
    """Converts values of boolean attributes to lower case, because clients can write any case (`True`). Converts empty
    policies of archives and replays to empty strings."""
    return {
        name: value.lower() if name in BOOLEANS else remove_empty_policy(name, value)
        for name, value in attributes.items()
    }


_REASONS = {
    "RawMessageDelivery": "Invalid value [{}]. Must be true or false.",
    "FilterPolicyScope": "Invalid value [{}]. Please use either MessageBody or MessageAttributes",
}


# --- topics ----------------------------------------------------------------------------------------------------------
def check_topic_attributes(attributes: Mapping[str, str], fifo: bool) -> None:
    """Raises InvalidParameter for an invalid value, and for an attribute that topics of this type do not have.

    A value with characters that XML 1.0 does not allow is also invalid, because no response could show it.
    """
    known = {**TOPIC, **FIFO_TOPIC}
    for name, value in attributes.items():
        if name not in known:
            raise InvalidParameter.named(f"Unknown attribute {name[:256]}", member=name[:256])
        if name in FIFO_TOPIC and name != "FifoTopic" and not fifo:
            raise InvalidParameter.named(f"{name}: can only be set for FIFO topics", member=name)
        if encode_text(value) is None or not known[name](value):
            raise InvalidParameter.named(name)
        if name == "Policy" and value:
            _check_access_policy(value)
        if name == "DeliveryPolicy" and value:
            check_topic_policy(value)
        if name == ARCHIVE:
            check_archive_policy(value)


def _check_access_policy(text: str) -> None:
    """Raises InvalidParameter for an access policy that SNS refuses. A policy has at most 30 KB.

    The limits come from "Amazon SNS API permissions" (SNS Developer Guide). The texts are AWS's
    (serverless/serverless, issue 5519; hashicorp/terraform, issues 12740 and 31538).
    """
    is_long = len(text) > MAX_POLICY_BYTES or len(text.encode()) > MAX_POLICY_BYTES
    problem = PolicyProblem("form") if is_long else find_policy_problem(text, SNS_RULES)
    if problem is None:
        return
    if problem.kind == "action":
        raise InvalidParameter.named("Policy statement action out of service scope!", member="Policy")
    raise build_policy_error("PrincipalNotFound" if problem.kind == "principal" else "null")


def build_policy_error(reason: str = "null") -> InvalidParameter:
    """Returns the error for an access policy. AWS's reason is `null` for every fault except a wrong principal."""
    return InvalidParameter.named(f"Policy Error: {reason}", member="Policy")


def is_topic_attribute(name: str) -> bool:
    """Returns whether SetTopicAttributes can change the attribute. The type of a topic never changes."""
    return name in TOPIC or (name in FIFO_TOPIC and name != "FifoTopic")


def check_key(attributes: Mapping[str, str], settings: "Settings") -> None:
    """Raises InvalidParameter for a KMS key if QUEUE_REFUSE_KMS is on."""
    if settings.queue_refuse_kms and attributes.get("KmsMasterKeyId"):
        raise InvalidParameter.named("KmsMasterKeyId", KMS_KEYS_REFUSED)


def build_default_policy(arn: TopicArn) -> str:
    """Returns the access policy of a topic for which no policy was set."""
    statement = {
        "Sid": "__default_statement_ID",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": [f"SNS:{action}" for action in OWNER_ACTIONS],
        "Resource": str(arn),
        "Condition": {"StringEquals": {"AWS:SourceOwner": arn.account_id}},
    }
    policy = {"Version": "2008-10-17", "Id": "__default_policy_ID", "Statement": [statement]}
    return msgspec.json.encode(policy).decode()


def show_topic(arn: TopicArn, stored: Mapping[str, str], topic: "TopicRow") -> dict[str, str]:
    """Returns the result of GetTopicAttributes: set attributes, derived attributes, and counts. `stored` are the
    attributes that were set."""
    values = {
        "TopicArn": str(arn),
        "Owner": arn.account_id,
        "DisplayName": "",
        "Policy": build_default_policy(arn),
        "SubscriptionsConfirmed": str(topic.confirmed),
        "SubscriptionsPending": str(topic.pending),
        "SubscriptionsDeleted": "0",
        "EffectiveDeliveryPolicy": msgspec.json.encode(
            compute_effective_topic_policy(stored.get("DeliveryPolicy"))
        ).decode(),
    }
    if arn.fifo:
        values["ContentBasedDeduplication"] = "false"
    if topic.archived_since_ms is not None:
        values["BeginningArchiveTime"] = format_timestamp(topic.archived_since_ms)
    stored = {name: value for name, value in stored.items() if value}
    if stored.get("DeliveryPolicy"):
        stored = {**stored, "DeliveryPolicy": show_topic_policy(stored["DeliveryPolicy"])}
    return {**values, **stored}


# --- subscriptions ---------------------------------------------------------------------------------------------------
def check_subscription_attributes(attributes: Mapping[str, str], protocol: str) -> None:
    """Raises InvalidParameter for an invalid value, and for an attribute that the protocol does not allow."""
    for name, value in attributes.items():
        if name not in SUBSCRIPTION:
            raise InvalidParameter.named("AttributeName")
        if encode_text(value) is None or not SUBSCRIPTION[name](value):
            reason = _REASONS.get(name, "Invalid value [{}]").format(value[:64])
            raise InvalidParameter.named(f"{name}: {reason}", member=name)
        if name in POLICY_CHECKS:
            POLICY_CHECKS[name](value)
        if name == "RawMessageDelivery" and value.lower() == "true" and protocol not in RAW_PROTOCOLS:
            raise InvalidParameter.named(
                f"Delivery protocol [{protocol}] does not support raw message delivery.", member=name
            )
        if name == "DeliveryPolicy" and value and protocol not in ("http", "https"):
            raise InvalidParameter.named(f"Delivery protocol [{protocol}] does not support DeliveryPolicy", member=name)
        if name == "DeliveryPolicy" and value:
            check_delivery_policy(value)


def check_redrive_policy(text: str) -> None:
    """Raises InvalidParameter unless the text is empty or `{"deadLetterTargetArn": ARN of an SQS queue}`."""
    if text == "":
        return
    policy = decode_policy(text)
    if not isinstance(policy, dict):
        raise InvalidParameter.named("RedrivePolicy: failed to parse JSON.", member="RedrivePolicy")
    unknown = next((name for name in policy if name != "deadLetterTargetArn"), None)
    if unknown is not None:
        text = f"RedrivePolicy: invalid JSON. Attribute {unknown[:256]} is unknown."
        raise InvalidParameter.named(text, member="RedrivePolicy")
    target = policy.get("deadLetterTargetArn")
    if target is None:
        raise InvalidParameter.named("RedrivePolicy: Missing deadLetterTargetArn attribute", member="RedrivePolicy")
    if not isinstance(target, str) or parse_queue_arn(target) is None:
        raise InvalidParameter.named("RedrivePolicy: deadLetterTargetArn is an invalid arn", member="RedrivePolicy")


POLICY_CHECKS: Mapping[str, Callable[[str], None]] = {
    "RedrivePolicy": check_redrive_policy,
    REPLAY: check_replay_policy,
}
"""The checks of the policies of subscriptions of every protocol. A check raises InvalidParameter."""
