"""Amazon Resource Names of platform applications and of their endpoints, which SNS publishes to.

arn:aws:sns:us-east-1:123456789012:app/GCM/name
arn:aws:sns:us-east-1:123456789012:endpoint/GCM/name/12345678-abcd-9012-efgh-345678901234
"""

import re
from typing import NamedTuple

PLATFORMS = (
    "ADM", "APNS", "APNS_SANDBOX", "APNS_VOIP", "APNS_VOIP_SANDBOX", "BAIDU", "GCM", "MACOS", "MACOS_SANDBOX", "MPNS",
    "WNS",
)  # fmt: skip
"""Push services and their sandboxes (CreatePlatformApplication, API reference)."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,256}").fullmatch
_ARN = re.compile(
    r"arn:aws[a-z-]*:sns:([a-z0-9-]+):([0-9]{12}):(app|endpoint)/([A-Z_]+)/([A-Za-z0-9_.-]{1,256})(?:/([0-9a-f-]{36}))?"
).fullmatch


class PlatformArn(NamedTuple):
    """The parts of an application's ARN, or of an endpoint's, which has an id."""

    region: str
    account_id: str
    platform: str
    name: str
    endpoint_id: str | None


def is_application_name(name: str) -> bool:
    """1-256 letters, digits, `_`, `-` and `.` (CreatePlatformApplication, API reference)."""
    return _NAME(name) is not None


def parse_application_arn(text: str) -> PlatformArn | None:
    """The parts of an application's ARN, or None when the text is none."""
    parsed = _parse(text, "app")
    return parsed if parsed is not None and parsed.endpoint_id is None else None


def parse_endpoint_arn(text: str) -> PlatformArn | None:
    """The parts of an endpoint's ARN, or None when the text is none."""
    parsed = _parse(text, "endpoint")
    return parsed if parsed is not None and parsed.endpoint_id is not None else None


def arn_reason(text: str) -> str:
    """Why a text is no ARN of an application or endpoint, in AWS's words."""
    elements = text.count(":") + 1
    return "" if elements >= 6 else f"An ARN must have at least 6 elements, not {elements}"


def _parse(text: str, kind: str) -> PlatformArn | None:
    match = _ARN(text)
    return None if match is None or match[3] != kind else PlatformArn(*match.group(1, 2, 4, 5, 6))
