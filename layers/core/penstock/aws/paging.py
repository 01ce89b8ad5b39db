"""Opaque tokens of lists, of SNS and EventBridge Scheduler: a page goes on after what the token names."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable

from penstock.scheduler.errors import ValidationException
from penstock.sns.errors import InvalidParameter

_GROUP = re.compile(r"[0-9a-zA-Z_.-]{1,64}").fullmatch
_SCHEDULE = re.compile(r"([0-9a-zA-Z_.-]{1,64})/([0-9a-zA-Z_.-]{1,64})").fullmatch


def make_token(last: str) -> str:
    """The page goes on after this one."""
    return urlsafe_b64encode(last.encode()).decode("ascii")


def read_token(token: str | None, is_last: Callable[[str], bool]) -> str | None:
    """Whom the token names, who must be one that `is_last` knows. Raises InvalidParameter for no token of ours."""
    if not token:
        return None
    named = opened(token)
    if named is None or not is_last(named):
        raise InvalidParameter.named("NextToken")
    return named


def opened(token: str) -> str | None:
    """What is in a token; None for what cannot be one of ours."""
    try:
        named = urlsafe_b64decode(token.encode("ascii")).decode("ascii")
    except ValueError:  # of base64 and of both encodings
        return None
    return named if named.isprintable() and make_token(named) == token else None


# --- EventBridge Scheduler -------------------------------------------------------------------------------------------
def read_group(token: str | None) -> str | None:
    """The group that the token names. Raises ValidationException."""
    if token is None:
        return None
    named = opened(token)
    if named is None or _GROUP(named) is None:
        raise invalid()
    return named


def read_schedule(token: str | None) -> tuple[str | None, str | None]:
    """Group and name of the schedule that the token names. Raises ValidationException."""
    if token is None:
        return None, None
    match = _SCHEDULE(opened(token) or "")
    if match is None:
        raise invalid()
    return match[1], match[2]


def invalid() -> ValidationException:
    """The text is ours."""
    return ValidationException("Invalid or expired NextToken.")
