"""Parses both formats of libpq's addresses for pg8000, which supports neither format. A test compares the results with
libpq's results.

    postgresql://user:password@host:5432,other/database?sslmode=require
    host=host,other port=5432 user=user password='pass word' dbname=database

Source: PostgreSQL documentation, "Connection Strings" and "Parameter Key Words" of libpq.
"""

import re
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.settings import SettingError

DEFAULT_PORT: Final = "5432"
KNOWN: Final = {
    "host", "hostaddr", "port", "dbname", "user", "password", "application_name", "sslmode", "sslrootcert",
    "target_session_attrs",
}  # fmt: skip
IGNORED: Final = {
    "client_encoding", "connect_timeout", "fallback_application_name", "gssencmode", "keepalives", "keepalives_count",
    "keepalives_idle", "keepalives_interval", "load_balance_hosts", "tcp_user_timeout",
}  # fmt: skip
"""The parameters that pg8000 connections ignore. `network` sets the time limits, texts are always UTF-8, and the driver
tries the hosts in order."""

_PAIR = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse_address(text: str) -> dict[str, str]:
    """Returns an address's parameters by libpq's names. Commas separate several hosts and ports.

    Raises SettingError for a parameter that pg8000 does not support, because a connection without that parameter could
    be less safe.
    """
    is_url = text.startswith(("postgresql://", "postgres://"))
    parameters = parse_url(text) if is_url else parse_pairs(text)
    if unknown := parameters.keys() - KNOWN - IGNORED:
        raise SettingError(
            f"DATABASE_URL has {', '.join(sorted(unknown))}, which QUEUE_DATABASE_DRIVER=pg8000 does not support"
        )
    return parameters


def parse_url(text: str) -> dict[str, str]:
    """Returns the parameters of a URL. Parameters in the query take precedence."""
    address = urlsplit(text)
    login, _, places = address.netloc.rpartition("@")
    user, _, password = login.partition(":")
    hosts, ports = zip(*map(split_port, places.split(",")), strict=True)
    found = {
        "user": unquote(user),
        "password": unquote(password),
        "host": ",".join(unquote(host).strip("[]") for host in hosts),
        "port": ",".join(ports),
        "dbname": unquote(address.path.removeprefix("/")),
    }
    found = {name: value for name, value in found.items() if value.strip(",")}
    return {**found, **dict(parse_qsl(address.query, keep_blank_values=True))}


def parse_pairs(text: str) -> dict[str, str]:
    """Returns the parameters of `keyword = value` pairs. Raises SettingError, which does not show the text."""
    found, position = {}, 0
    while pair := _PAIR.match(text, position):
        value = pair[2][1:-1] if pair[2].startswith("'") else pair[2]
        found[pair[1]] = _ESCAPED.sub(r"\1", value)
        position = pair.end()
    if text[position:].strip():
        raise SettingError("DATABASE_URL must be a PostgreSQL address: postgresql://… or host=… dbname=…")
    return found


def split_port(place: str) -> tuple[str, str]:
    """Returns the host and the port, or an empty port. For `[::1]:5433`, the result is `[::1]` and 5433."""
    name, _, port = place.rpartition(":")
    return (name, port) if port.isdecimal() and not name.endswith(":") else (place, "")


def list_hosts(parameters: dict[str, str]) -> list[tuple[str, int]]:
    """Returns each host, or socket folder, with its port. A single port applies to all hosts. Raises SettingError."""
    names = (parameters.get("hostaddr") or parameters.get("host") or "localhost").split(",")
    ports = (parameters.get("port") or DEFAULT_PORT).split(",")
    if len(ports) == 1:
        ports *= len(names)
    if len(names) != len(ports):
        raise SettingError(f"DATABASE_URL has {len(ports)} ports for {len(names)} hosts")
    return [(name or "localhost", int(port or DEFAULT_PORT)) for name, port in zip(names, ports, strict=True)]
