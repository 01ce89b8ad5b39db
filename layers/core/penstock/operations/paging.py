"""Opaque tokens of SNS's lists: a page goes on after what the token names."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable

from ..errors_sns import InvalidParameter


def make_token(last: str) -> str:
    """The page goes on after this one."""
    return urlsafe_b64encode(last.encode()).decode("ascii")


def read_token(token: str | None, is_last: Callable[[str], bool]) -> str | None:
    """Whom the token names, who must be one that `is_last` knows. Raises InvalidParameter for no token of ours."""
    if not token:
        return None
    try:
        last = urlsafe_b64decode(token.encode("ascii")).decode("ascii")
    except ValueError:  # of base64 and of both encodings
        raise InvalidParameter.named("NextToken") from None
    if not is_last(last) or make_token(last) != token:
        raise InvalidParameter.named("NextToken")
    return last
