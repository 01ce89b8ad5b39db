"""Parses e-mail addresses of recipients and the sender, and the mail server's address (SNS_SMTP_URL)."""

import re
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

_ADDRESS: Final = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
_is_address = re.compile(_ADDRESS).fullmatch
_sender = re.compile(rf"(?P<name>[^<>@\x00-\x1f\x7f]*)<(?P<named>{_ADDRESS})>|(?P<bare>{_ADDRESS})").fullmatch
_PORTS: Final = {"smtp": 587, "smtps": 465}


class MailSender(NamedTuple):
    """A mail's sender, which has a name that can be empty, and an address."""

    name: str
    address: str


class MailServer(NamedTuple):
    """A mail server. `secure` means TLS from the start. If `secure` is false, the connection uses STARTTLS.

    A login requires TLS.
    """

    host: str
    port: int
    secure: bool
    user: str | None
    password: str


def is_email_address(text: str) -> bool:
    """Returns whether a text is an e-mail address (RFC 5321) without quotes, comments and line breaks."""
    return len(text) <= 254 and _is_address(text) is not None


def parse_sender(text: str) -> MailSender:
    """Parses `name <address>`, or an address. Raises ValueError."""
    match = _sender(text.strip())
    if match is None:
        raise ValueError("an e-mail address, or `name <address>`")
    return MailSender((match["name"] or "").strip().strip('"'), match["named"] or match["bare"])


def parse_server(url: str) -> MailServer:
    """Parses `smtp[s]://[user:password@]host[:port]`. Raises ValueError, whose text does not repeat the password."""
    form = "smtp[s]://[user:password@]host[:port]"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(form) from None
    if parts.scheme not in _PORTS or not host or port == 0 or parts.path not in ("", "/"):
        raise ValueError(form)
    if parts.query or parts.fragment or not url.isascii() or not url.isprintable():
        raise ValueError(form)
    return MailServer(
        host=host,
        port=port or _PORTS[parts.scheme],
        secure=parts.scheme == "smtps",
        user=None if parts.username is None else unquote(parts.username),
        password=unquote(parts.password or ""),
    )
