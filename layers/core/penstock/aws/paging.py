"""Opaque page tokens: the next page begins after the name in the token. Services raise their own errors."""

from base64 import urlsafe_b64decode, urlsafe_b64encode


def make_token(last: str) -> str:
    """Returns the token of the page that begins after `last`."""
    return urlsafe_b64encode(last.encode()).decode("ascii")


def read_name(token: str) -> str | None:
    """Returns the name in a token, or None for a text that `make_token` cannot have made."""
    try:
        named = urlsafe_b64decode(token.encode("ascii")).decode("ascii")
    except ValueError:  # base64 and both encodings raise it
        return None
    return named if named.isprintable() and make_token(named) == token else None
