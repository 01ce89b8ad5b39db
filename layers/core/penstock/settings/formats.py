"""Defines formats of settings, in addition to type, bounds and choices.

Errors do not repeat a value that can contain a password.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from penstock.aws.arn import is_region

from .alert_url import ALERT_PATTERN, URL, parse_alert_url
from .mail_address import is_email_address, parse_sender, parse_server

_ALLOWED_HOST: Final = r"\*|(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]"
_ENCRYPTION_KEY_BYTES: Final = 32


class Format(NamedTuple):
    """Accepts a text if the whole text matches `pattern` and `accepts` returns a truthy value."""

    wanted: str
    """The description of the allowed values in errors."""
    pattern: str = ""
    """A pattern in the common syntax of Python, ECMA 262 and RE2, because the Helm chart and Terraform also check
    it."""
    accepts: Callable[[str], object] | None = None
    """Returns a falsy value, or raises ValueError, for a text that is not allowed."""
    is_shown: bool = True
    """Whether errors repeat the value."""

    def matches(self, text: str) -> bool:
        """Returns whether the text is allowed."""
        if self.pattern and not re.fullmatch(self.pattern, text):
            return False
        try:
            return self.accepts is None or bool(self.accepts(text))
        except ValueError:  # base64 raises a subclass of ValueError
            return False


def split_list(text: str) -> list[str]:
    """Splits a setting's value at commas."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def split_hosts(text: str) -> list[str]:
    """Returns the entries of QUEUE_ALLOWED_HOSTS in lower case."""
    return split_list(text.lower())


def split_address(text: str) -> tuple[str, int]:
    """Splits `host:port`. The host of `[::1]:9324` is `::1`. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("host:port")
    return host.strip("[]"), int(port)


def _is_web_address(text: str) -> bool:
    parts = urlsplit(text)
    is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    return is_whole and not (parts.query or parts.fragment or parts.username)


def _is_zone(text: str) -> bool:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - functions of Lambda start without it

    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):  # the name is unknown, is not a relative path, or names a folder of zones
        return False
    return True


def _is_encryption_key(text: str) -> bool:
    return len(b64decode(text, validate=True)) == _ENCRYPTION_KEY_BYTES


def _is_token(text: str) -> bool:
    return text.isprintable() and not re.search(r"\s", text)


def _are_regions(text: str) -> bool:
    return all(map(is_region, split_list(text)))


def _are_hosts(text: str) -> bool:
    return all(re.fullmatch(_ALLOWED_HOST, host) for host in split_hosts(text))


ACCOUNT: Final = Format("12 digits", r"[0-9]{12}")
ADDRESS: Final = Format("host:port", r".+:[0-9]{1,5}", split_address)
ALERT_URL: Final = Format(
    "a URL [slack+|teams+|pagerduty+|json+]http[s]://host[:port][/path][?query] without a user, and for PagerDuty with "
    "?routing_key=KEY",
    ALERT_PATTERN,
    parse_alert_url,
    is_shown=False,
)
BASE_URL: Final = Format(
    "an address http[s]://host[:port][/path], without a user's name",
    r"https?://[!-.0-~][!-~]*",
    _is_web_address,
    is_shown=False,
)
COLLECTOR: Final = BASE_URL._replace(wanted="an address http[s]://host[:port], without a user's name")
ENCRYPTION_KEY: Final = Format(
    "32 bytes in base64 (openssl rand -base64 32)", accepts=_is_encryption_key, is_shown=False
)
GATEWAY_URL: Final = Format("a URL http[s]://host[:port][/path][?query] without a user's name", URL, is_shown=False)
HOST: Final = Format("the name of a host, without https://", r"[A-Za-z0-9.-]+(?::[0-9]{1,5})?")
HOSTS: Final = Format("names of hosts, without https:// and port", r"[A-Za-z0-9_.*:\[\], -]+", _are_hosts)
MAIL_RECIPIENT: Final = Format("an e-mail address", accepts=is_email_address)
MAIL_SENDER: Final = Format("an e-mail address, or `name <address>`", accepts=parse_sender, is_shown=False)
MAIL_SERVER: Final = Format("smtp[s]://[user:password@]host[:port]", accepts=parse_server, is_shown=False)
REGION: Final = Format("the name of a region", r"[a-z0-9-]{1,32}")
REGIONS: Final = Format("names of regions", r"[a-z0-9, -]+", _are_regions)
TIME_ZONE: Final = Format("a time zone such as Europe/Berlin", r"[A-Za-z0-9_+/-]+", _is_zone)
TOKEN: Final = Format("printable characters without blanks", accepts=_is_token, is_shown=False)
