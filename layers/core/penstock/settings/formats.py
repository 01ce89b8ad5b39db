"""What texts of settings must look like, beyond type, bounds and choices.

An error does not repeat a value that may have a password in it.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from penstock.aws.arn import is_region
from penstock.mail_address import parse_sender, parse_server

# The patterns are compiled at their first use, since functions of Lambda rarely need them.
_HOST: Final = r"[A-Za-z0-9.-]+(?::[0-9]{1,5})?"
# What delivery.http.endpoint takes: messages to any other URL would fail for good, one by one.
_GATEWAY: Final = (
    r"https?://(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)(?::[0-9]{1,5})?(?:[/?][!-~]*)?"
)
_ALLOWED_HOST: Final = r"\*|(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]"
_ADDRESS_CHARACTERS: Final = r"[!-~]+"
_ENCRYPTION_KEY_BYTES: Final = 32


class Format(NamedTuple):
    """`accepts` returns something false, or raises ValueError, for a text that cannot be used."""

    accepts: Callable[[str], object]
    wanted: str
    is_shown: bool = True
    """Whether errors repeat the value."""

    def matches(self, text: str) -> bool:
        """Whether the text can be used."""
        try:
            return bool(self.accepts(text))
        except ValueError:  # also base64's error
            return False


def split_list(text: str) -> list[str]:
    """The entries of a setting that has several, separated by commas."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def split_hosts(text: str) -> list[str]:
    """The entries of QUEUE_ALLOWED_HOSTS, in lower case."""
    return split_list(text.lower())


def split_address(text: str) -> tuple[str, int]:
    """`host:port` in two parts; `[::1]:9324` gives `::1`. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("host:port")
    return host.strip("[]"), int(port)


def _is_web_address(text: str) -> bool:
    parts = urlsplit(text)
    is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    has_more = bool(parts.query or parts.fragment or parts.username)
    return is_whole and not has_more and bool(re.fullmatch(_ADDRESS_CHARACTERS, text))


def _is_zone(text: str) -> bool:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - functions of Lambda start without it

    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):  # unknown, no relative path, or a folder of zones
        return False
    return True


def _is_account(text: str) -> bool:
    return len(text) == 12 and text.isascii() and text.isdecimal()


def _is_encryption_key(text: str) -> bool:
    return len(b64decode(text, validate=True)) == _ENCRYPTION_KEY_BYTES


def _is_token(text: str) -> bool:
    return text.isprintable() and not re.search(r"\s", text)


def _are_hosts(text: str) -> bool:
    return all(re.fullmatch(_ALLOWED_HOST, host) for host in split_hosts(text))


ADDRESS: Final = Format(split_address, "host:port")
BASE_URL: Final = Format(
    _is_web_address, "an address http[s]://host[:port][/path], without a user's name", is_shown=False
)
COLLECTOR: Final = Format(
    _is_web_address, "an address http[s]://host[:port], without a user's name", is_shown=False
)
ACCOUNT: Final = Format(_is_account, "12 digits")
REGION: Final = Format(is_region, "the name of a region")
REGIONS: Final = Format(lambda text: all(map(is_region, split_list(text))), "names of regions")
HOST: Final = Format(lambda text: re.fullmatch(_HOST, text), "the name of a host, without https://")
HOSTS: Final = Format(_are_hosts, "names of hosts, without https:// and port")
ENCRYPTION_KEY: Final = Format(
    _is_encryption_key, "32 bytes in base64 (openssl rand -base64 32)", is_shown=False
)
TIME_ZONE: Final = Format(_is_zone, "a time zone such as Europe/Berlin")
TOKEN: Final = Format(_is_token, "printable characters without blanks", is_shown=False)
GATEWAY_URL: Final = Format(
    lambda text: re.fullmatch(_GATEWAY, text),
    "a URL http[s]://host[:port][/path][?query] without a user's name",
    is_shown=False,
)
MAIL_SERVER: Final = Format(parse_server, "smtp[s]://[user:password@]host[:port]", is_shown=False)
MAIL_SENDER: Final = Format(parse_sender, "an address of e-mail, or `name <address>`", is_shown=False)
