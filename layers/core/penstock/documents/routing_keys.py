"""Routing keys of events and patterns, as in AMQP topic exchanges: `*` matches one segment, and `#` matches any number
of segments."""

import re

_SEGMENT = "[A-Za-z0-9_-]+"
KEY = rf"{_SEGMENT}(?:\.{_SEGMENT})*"
PATTERN = rf"(?:{_SEGMENT}|[*#])(?:\.(?:{_SEGMENT}|[*#]))*"
MAX_LENGTH = 255
_is_key = re.compile(KEY).fullmatch
_is_pattern = re.compile(PATTERN).fullmatch


def is_routing_key(text: str) -> bool:
    """Returns whether the text has 1 to 255 characters of `[A-Za-z0-9._-]`, without a leading, trailing or double
    dot."""
    return len(text) <= MAX_LENGTH and _is_key(text) is not None


def is_pattern(text: str) -> bool:
    """Returns whether the text is a routing key in which segments can be `*` or `#`."""
    return len(text) <= MAX_LENGTH and _is_pattern(text) is not None
