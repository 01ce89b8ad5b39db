"""What texts of settings must look like, beyond type, limits and choices; and names that are nearly those of settings.

Nothing here repeats a value that may have a password in it.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from penstock.aws.arn import is_region
from penstock.mail_address import parse_sender, parse_server

_HOST = re.compile(r"[A-Za-z0-9.-]+(?::[0-9]{1,5})?").fullmatch
# What delivery.webhooks.endpoint takes: messages to any other URL would fail for good, one by one.
_GATEWAY = re.compile(
    r"https?://(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)(?::[0-9]{1,5})?(?:[/?][!-~]*)?"
).fullmatch
_ALLOWED_HOST = re.compile(r"\*|(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]").fullmatch
_ADDRESS_CHARACTERS = re.compile(r"[!-~]+").fullmatch
_ENCRYPTION_KEY_BYTES: Final = 32


class Form(NamedTuple):
    """`accepts` returns something false, or raises ValueError, for a text that cannot be used."""

    accepts: Callable[[str], object]
    wanted: str
    is_shown: bool = True
    """Whether errors repeat the value."""


def entries(text: str) -> list[str]:
    """The entries of a setting that has several, separated by commas."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def host_entries(text: str) -> list[str]:
    """The entries of QUEUE_ALLOWED_HOSTS, in lower case."""
    return entries(text.lower())


def split_address(text: str) -> tuple[str, int]:
    """`host:port` in two parts; `[::1]:9324` gives `::1`. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("host:port")
    return host.strip("[]"), int(port)


def _is_web_address(text: str) -> bool:
    parts = urlsplit(text)
    is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    return (
        is_whole and not (parts.query or parts.fragment or parts.username) and bool(_ADDRESS_CHARACTERS(text))
    )


def _is_zone(text: str) -> bool:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - functions of Lambda start without it

    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):  # unknown, no relative path, or a folder of zones
        return False
    return True


def _is_account(text: str) -> bool:
    return len(text) == 12 and text.isascii() and text.isdecimal()


FORMS: Final = {
    "QUEUE_ADDRESS": Form(split_address, "host:port"),
    "QUEUE_BASE_URL": Form(
        _is_web_address, "an address http[s]://host[:port][/path], without a user's name", is_shown=False
    ),
    "QUEUE_ACCOUNT_ID": Form(_is_account, "12 digits"),
    "QUEUE_REGION": Form(is_region, "the name of a region"),
    "QUEUE_REGIONS": Form(lambda text: all(map(is_region, entries(text))), "names of regions"),
    "QUEUE_ALLOWED_HOSTS": Form(
        lambda text: all(map(_ALLOWED_HOST, host_entries(text))),
        "names of hosts, without https:// and port",
    ),
    "QUEUE_ENCRYPTION_KEY": Form(
        lambda text: len(b64decode(text, validate=True)) == _ENCRYPTION_KEY_BYTES,
        "32 bytes in base64 (openssl rand -base64 32)",
        is_shown=False,
    ),
    "QUEUE_METRICS_TIMEZONE": Form(_is_zone, "a time zone such as Europe/Berlin"),
    "QUEUE_METRICS_TOKEN": Form(
        lambda text: text.isprintable() and not re.search(r"\s", text),
        "printable characters without blanks",
        is_shown=False,
    ),
    "SNS_CERT_HOST": Form(_HOST, "the name of a host, without https://"),
    "SNS_GATEWAY_URL": Form(
        _GATEWAY, "a URL http[s]://host[:port][/path][?query] without a user's name", is_shown=False
    ),
    "SNS_SMTP_URL": Form(parse_server, "smtp[s]://[user:password@]host[:port]", is_shown=False),
    "SNS_MAIL_FROM": Form(parse_sender, "an address of e-mail, or `name <address>`", is_shown=False),
    "OTLP_ENDPOINT": Form(
        _is_web_address, "an address http[s]://host[:port], without a user's name", is_shown=False
    ),
}


def find_problem(name: str, text: str) -> str:
    """What is wrong with the value of this setting, beginning with its name; "" when nothing is."""
    form = FORMS.get(name)
    if form is None:
        return ""
    try:
        if form.accepts(text):
            return ""
    except ValueError:  # also base64's error
        pass
    return f"{name} must be {form.wanted}" + (f", not {text!r}" if form.is_shown else "")


_PREFIXES: Final = ("QUEUE_", "SNS_", "WEBHOOK_", "QUOTA_", "OTLP_", "PENSTOCK_")
# Kubernetes gives each container addresses of the services beside it: a service `queue` makes QUEUE_PORT and others.
_OF_KUBERNETES = re.compile(r".*_(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT(?:_\d+_.+)?)").fullmatch
# Likely mistakes that no similarity finds.
_SAME: Final = {"PENSTOCK_PORT": "QUEUE_ADDRESS", "PENSTOCK_DATABASE_URL": "DATABASE_URL"}
# Other programs have variables that begin so, too: only what is nearly a setting with its QUEUE_ is meant.
_WITHOUT_QUEUE: Final = "METRICS_"
OF_PROGRAMS: Final = frozenset({
    "PENSTOCK_TEST_POSTGRES", "PENSTOCK_DEPLOYMENT", "PENSTOCK_RELEASE", "PENSTOCK_ENDPOINT", "PENSTOCK_TOKEN",
})  # fmt: skip
"""Variables of the command line, our tests and templates, which are no settings of the service."""


def unknown_names(
    variables: Iterable[str], settings: Iterable[str], with_file: Iterable[str]
) -> Iterator[str]:
    """A sentence for each variable that looks like a setting and is none. `with_file`: settings that know `_FILE`."""
    known = {*settings, *(f"{name}_FILE" for name in with_file)}
    for name in sorted(variables):
        if name.startswith(_WITHOUT_QUEUE) and (near := _nearest(f"QUEUE_{name}", known)):
            yield f"{name} is no setting and has no effect; do you mean {near[0]}?"
        if name in known or name in OF_PROGRAMS or not name.startswith(_PREFIXES):
            continue
        if name in _SAME or not _OF_KUBERNETES(name):
            yield _unknown(name, known)


def _nearest(name: str, known: set[str]) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - functions of Lambda never need it

    return get_close_matches(name, known, n=1, cutoff=0.75)


def _unknown(name: str, known: set[str]) -> str:
    suffixes = {name.removeprefix("PENSTOCK_"), name.replace("PENSTOCK_", "QUEUE_", 1)}
    near = [_SAME[name]] if name in _SAME else sorted(suffixes & known)
    near = near or _nearest(name, known)
    return f"{name} is no setting and has no effect" + (f"; do you mean {near[0]}?" if near else "")
