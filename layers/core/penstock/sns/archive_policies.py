"""Checks the policies that archive the messages of FIFO topics and replay them to subscriptions.

Sources: "Amazon SNS message archiving for FIFO topic owners"
(https://docs.aws.amazon.com/sns/latest/dg/message-archiving-and-replay-topic-owner.html) and "Amazon SNS message replay
for FIFO topic subscribers" (https://docs.aws.amazon.com/sns/latest/dg/message-archiving-and-replay-subscriber.html).
AWS does not publish error texts for the policies, so the texts are Penstock's.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from penstock.aws.json_text import decode_json
from penstock.aws.sns_arn import TopicArn

from .errors import InvalidParameter

ARCHIVE, REPLAY = "ArchivePolicy", "ReplayPolicy"
MAX_DAYS = 365
CLOCK_DIFFERENCE = timedelta(minutes=1)
"""How far the clock of a client can be ahead, so that a StartingPoint of now is not in the future."""

_DAYS = re.compile(r"[1-9][0-9]{0,2}").fullmatch
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"
).fullmatch


def remove_empty_policy(name: str, value: str) -> str:
    """Returns an empty string for an empty JSON object, which deactivates an archive and ends a replay."""
    return "" if name in (ARCHIVE, REPLAY) and decode_policy(value) == {} else value


def check_archive_policy(text: str) -> None:
    """Raises InvalidParameter unless the text is empty, `{}` or `{"MessageRetentionPeriod": "1" to "365"}`. Templates
    of the CDK have the days as a number."""
    if not text:
        return
    policy = _read(ARCHIVE, text, ("MessageRetentionPeriod",))
    days = policy.get("MessageRetentionPeriod")
    is_valid = isinstance(days, str | int) and _DAYS(str(days)) is not None and int(days) <= MAX_DAYS
    if policy and not is_valid:
        raise InvalidParameter.named(
            f"{ARCHIVE}: MessageRetentionPeriod must be a number of days from 1 to {MAX_DAYS}", member=ARCHIVE
        )


def check_replay_policy(text: str) -> None:
    """Raises InvalidParameter unless the text is empty, `{}`, or an object with the PointType `Timestamp`, a
    StartingPoint that is not in the future, and an optional EndingPoint after the StartingPoint."""
    policy = _read(REPLAY, text, ("PointType", "StartingPoint", "EndingPoint")) if text else {}
    if not policy:
        return
    if policy.get("PointType") != "Timestamp":
        raise InvalidParameter.named(f"{REPLAY}: PointType must be Timestamp", member=REPLAY)
    start = _read_time("StartingPoint", policy.get("StartingPoint"))
    if start > datetime.now(UTC) + CLOCK_DIFFERENCE:
        raise InvalidParameter.named(f"{REPLAY}: StartingPoint must not be in the future", member=REPLAY)
    if "EndingPoint" in policy and _read_time("EndingPoint", policy["EndingPoint"]) <= start:
        raise InvalidParameter.named(f"{REPLAY}: EndingPoint must be after StartingPoint", member=REPLAY)


def check_replaying_topic(attributes: Mapping[str, str], topic: TopicArn) -> None:
    """Raises InvalidParameter for a ReplayPolicy of a subscription to a standard topic, which has no archive."""
    if attributes.get(REPLAY) and not topic.fifo:
        raise InvalidParameter.named(f"{REPLAY}: can only be set for FIFO topics", member=REPLAY)


def build_archive_error() -> InvalidParameter:
    """Returns the error for a ReplayPolicy of a subscription to a topic without an archive."""
    return InvalidParameter.named(f"{REPLAY}: the topic has no {ARCHIVE}", member=REPLAY)


def _read(name: str, text: str, members: tuple[str, ...]) -> dict[str, object]:
    policy = decode_policy(text)
    if not isinstance(policy, dict):
        raise InvalidParameter.named(f"{name}: failed to parse JSON.", member=name)
    unknown = next((member for member in policy if member not in members), None)
    if unknown is not None:
        raise InvalidParameter.named(f"{name}: Attribute {unknown[:256]} is unknown.", member=name)
    return policy


def _read_time(name: str, value: object) -> datetime:
    try:
        if isinstance(value, str) and _TIME(value):
            return datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise InvalidParameter.named(f"{REPLAY}: {name} must be a time such as 2026-01-31T00:00:00.000Z", member=REPLAY)


def decode_policy(text: str | None) -> object:
    """Returns the JSON of a policy, or None if the text is empty or invalid."""
    try:
        return decode_json(text or "null")
    except (ValueError, RecursionError):
        return None
