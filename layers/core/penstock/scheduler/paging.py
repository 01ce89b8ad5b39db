"""Creates and reads the page tokens of EventBridge Scheduler's lists."""

import re

from penstock.aws.paging import build_token, read_name

from .errors import ValidationException

__all__ = ["build_token", "read_group", "read_schedule"]

_GROUP = re.compile(r"[0-9a-zA-Z_.-]{1,64}").fullmatch
_SCHEDULE = re.compile(r"([0-9a-zA-Z_.-]{1,64})/([0-9a-zA-Z_.-]{1,64})").fullmatch


def read_group(token: str | None) -> str | None:
    """Returns the group in the token. Raises ValidationException."""
    if token is None:
        return None
    named = read_name(token)
    if named is None or _GROUP(named) is None:
        raise build_token_error(token)
    return named


def read_schedule(token: str | None) -> tuple[str | None, str | None]:
    """Returns the schedule's group and name in the token. Raises ValidationException."""
    if token is None:
        return None, None
    match = _SCHEDULE(read_name(token) or "")
    if match is None:
        raise build_token_error(token)
    return match[1], match[2]


def build_token_error(token: str) -> ValidationException:
    """Returns the error for a token that Penstock did not create. AWS does not document a text, so the text is
    Penstock's choice.
    """
    return ValidationException.of_member(token, "nextToken", "be a token of an earlier response")
