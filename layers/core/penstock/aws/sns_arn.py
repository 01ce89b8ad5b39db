"""Amazon Resource Names of SNS: topics, subscriptions, platform applications and their endpoints.

arn:aws:sns:us-east-1:123456789012:name arn:aws:sns:us-east-1:123456789012:name:12345678-abcd-9012-efgh-345678901234
arn:aws:sns:us-east-1:123456789012:app/GCM/name
arn:aws:sns:us-east-1:123456789012:endpoint/GCM/name/12345678-abcd-9012-efgh-345678901234
"""

import re
from typing import NamedTuple

from .fifo_name import is_fifo_name

PLATFORMS = (
    "ADM", "APNS", "APNS_SANDBOX", "APNS_VOIP", "APNS_VOIP_SANDBOX", "BAIDU", "GCM", "MACOS", "MACOS_SANDBOX", "MPNS",
    "WNS",
)  # fmt: skip
"""Push services and their sandboxes (CreatePlatformApplication, API reference)."""

_TOPIC_NAME = re.compile(r"[A-Za-z0-9_-]{1,251}\.fifo|[A-Za-z0-9_-]{1,256}").fullmatch
_TOPIC = re.compile(r"arn:aws:sns:([a-z0-9-]+):([0-9]{12}):([^:]+)").fullmatch
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch
_APPLICATION_NAME = re.compile(r"[A-Za-z0-9_.-]{1,256}").fullmatch
_PLATFORM = re.compile(
    r"arn:aws:sns:([a-z0-9-]+):([0-9]{12}):(app|endpoint)/([A-Z_]+)/([A-Za-z0-9_.-]{1,256})(?:/([0-9a-f-]{36}))?"
).fullmatch


# --- topics ----------------------------------------------------------------------------------------------------------
class TopicArn(NamedTuple):
    region: str
    account_id: str
    name: str

    @property
    def fifo(self) -> bool:
        """Returns whether the topic is FIFO. The suffix `.fifo` is part of the name."""
        return is_fifo_name(self.name)

    def __str__(self) -> str:
        return f"arn:aws:sns:{self.region}:{self.account_id}:{self.name}"


def is_topic_name(name: str) -> bool:
    """Returns whether a name has 1 to 256 characters of `[A-Za-z0-9_-]`, including `.fifo` (CreateTopic, API
    reference)."""
    return _TOPIC_NAME(name) is not None


def parse_topic_arn(text: str) -> TopicArn | None:
    """Returns the parts of a topic's ARN, or None for any other text."""
    match = _TOPIC(text)
    return TopicArn(match[1], match[2], match[3]) if match is not None and is_topic_name(match[3]) else None


def parse_topic_of_subscription(text: str) -> TopicArn | None:
    """Returns the topic in a subscription's ARN (the topic's ARN and an id), or None for any other text."""
    topic, _, subscription_id = text.rpartition(":")
    return parse_topic_arn(topic) if is_subscription_id(subscription_id) else None


def is_subscription_id(text: str) -> bool:
    """Returns whether the text can follow the topic's ARN in a subscription's ARN."""
    return _UUID(text) is not None


# --- mobile apps -----------------------------------------------------------------------------------------------------
class PlatformArn(NamedTuple):
    """The parts of an application's or endpoint's ARN. An endpoint's ARN also has an id."""

    region: str
    account_id: str
    platform: str
    name: str
    endpoint_id: str | None


def is_application_name(name: str) -> bool:
    """Returns whether a name has 1 to 256 letters, digits, `_`, `-` and `.` (CreatePlatformApplication)."""
    return _APPLICATION_NAME(name) is not None


def parse_application_arn(text: str) -> PlatformArn | None:
    """Returns the parts of an application's ARN, or None for any other text."""
    parsed = _parse_platform_arn(text, "app")
    return parsed if parsed is not None and parsed.endpoint_id is None else None


def parse_endpoint_arn(text: str) -> PlatformArn | None:
    """Returns the parts of an endpoint's ARN, or None for any other text."""
    parsed = _parse_platform_arn(text, "endpoint")
    return parsed if parsed is not None and parsed.endpoint_id is not None else None


def _parse_platform_arn(text: str, kind: str) -> PlatformArn | None:
    match = _PLATFORM(text)
    return None if match is None or match[3] != kind else PlatformArn(*match.group(1, 2, 4, 5, 6))
