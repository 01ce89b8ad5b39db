"""Opaque page tokens. A token contains the last name of its page. Services raise errors for invalid tokens."""

from base64 import urlsafe_b64decode, urlsafe_b64encode


def build_token(last: str) -> str:
    """Returns the token for the page after `last`."""
    return urlsafe_b64encode(last.encode()).decode("ascii")


def read_name(token: str) -> str | None:
    """Returns the name in a token, or None for a text that `build_token` cannot have created."""
    try:
        named = urlsafe_b64decode(token.encode("ascii")).decode("ascii")
    except ValueError:  # base64 and both encodings raise ValueError
        return None
    return named if named.isprintable() and build_token(named) == token else None
