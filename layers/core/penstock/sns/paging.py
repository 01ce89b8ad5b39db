"""The page tokens of SNS's lists."""

from collections.abc import Callable

from penstock.aws.paging import build_token, read_name

from .errors import InvalidParameter

__all__ = ["build_token", "read_token"]


def read_token(token: str | None, is_last: Callable[[str], bool]) -> str | None:
    """Returns the item in the token. Raises InvalidParameter for an invalid token, or if `is_last` refuses the item."""
    if not token:
        return None
    named = read_name(token)
    if named is None or not is_last(named):
        raise InvalidParameter.named("NextToken")
    return named
