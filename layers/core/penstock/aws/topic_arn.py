"""Amazon Resource Names of topics and subscriptions."""

import re
from typing import NamedTuple

_NAME = re.compile(r"[A-Za-z0-9_-]{1,251}\.fifo|[A-Za-z0-9_-]{1,256}").fullmatch
_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:([a-z0-9-]+):([0-9]{12}):([^:]+)").fullmatch
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch


class TopicArn(NamedTuple):
    """The parts of a topic's ARN."""

    region: str
    account_id: str
    name: str

    @property
    def fifo(self) -> bool:
        """The suffix `.fifo` is part of the name and decides the type."""
        return self.name.endswith(".fifo")

    def __str__(self) -> str:
        return f"arn:aws:sns:{self.region}:{self.account_id}:{self.name}"


def is_topic_name(name: str) -> bool:
    """1-256 of `[A-Za-z0-9_-]` with the `.fifo` in which a FIFO name ends (CreateTopic, API reference)."""
    return _NAME(name) is not None


def parse_topic_arn(text: str) -> TopicArn | None:
    """The parts of a topic's ARN, or None when the text is none."""
    match = _TOPIC(text)
    return TopicArn(match[1], match[2], match[3]) if match is not None and is_topic_name(match[3]) else None


def topic_of_subscription(text: str) -> TopicArn | None:
    """The topic of a subscription's ARN, which is the topic's with an id behind it; None when the text is none."""
    topic, _, subscription_id = text.rpartition(":")
    return parse_topic_arn(topic) if is_subscription_id(subscription_id) else None


def is_subscription_id(text: str) -> bool:
    """Whether the text can stand behind the topic's ARN in a subscription's ARN."""
    return _UUID(text) is not None
