"""Routing keys of events and patterns of them (AMQP topic exchanges: `*` is one segment, `#` any number of them)."""

import re

_SEGMENT = "[A-Za-z0-9_-]+"
_KEY = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT})*").fullmatch
_PATTERN = re.compile(rf"(?:{_SEGMENT}|[*#])(?:\.(?:{_SEGMENT}|[*#]))*").fullmatch

MAX_LENGTH = 255


def is_routing_key(text: str) -> bool:
    """Whether the text is 1 to 255 of `[A-Za-z0-9._-]` without a leading, trailing or double dot."""
    return len(text) <= MAX_LENGTH and _KEY(text) is not None


def is_pattern(text: str) -> bool:
    """Whether the text is a routing key in which segments may be `*` or `#`."""
    return len(text) <= MAX_LENGTH and _PATTERN(text) is not None
