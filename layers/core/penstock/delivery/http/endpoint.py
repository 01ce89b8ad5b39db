"""The URL of an endpoint, parsed once. The worker checks, resolves, connects to and sends only these parts.

An attacker reaches forbidden hosts when two parsers disagree about a URL (`http://good\\@bad/`, `http://good#@bad/`).
Therefore there is one strict parser, which refuses every URL that it does not understand. An international name must be
in its ASCII form (`xn--…`), and an IPv4 address has four decimal parts.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

Address = IPv4Address | IPv6Address

MAXIMUM_URL_CHARACTERS: Final = 2_048
_PORTS: Final = {"http": 80, "https": 443}
_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?:\[(?P<six>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9._-]{1,253}))"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?",
    re.IGNORECASE,
)
_PRINTABLE: Final = re.compile(r"[!-~]+")
# The last label decides whether a host is an address: 127.1, 0x7f.0.0.1 and 017700000001 are addresses to a resolver.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


class EndpointRefused(Exception):  # noqa: N818 - named for the event
    """The worker may not connect to the endpoint now. The text says why. The name may get another address later."""


class EndpointInvalid(EndpointRefused):
    """The worker can never connect to the endpoint: its URL is not acceptable."""


class Endpoint(NamedTuple):
    """The parts of an endpoint's URL. `host` is a name or an address without brackets, `target` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def address(self) -> Address | None:
        """Returns the host as an address, or None if it is a name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    @property
    def host_header(self) -> str:
        """Returns the value of the header Host (RFC 9110, 7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_endpoint(url: str) -> Endpoint:
    """Parses a plain http or https URL without user information. Raises EndpointInvalid for any other text."""
    if len(url) > MAXIMUM_URL_CHARACTERS or not _PRINTABLE.fullmatch(url):
        raise EndpointInvalid("the URL is too long, or has characters that are not printable ASCII")
    match = _URL.fullmatch(url)
    if match is None:
        raise EndpointInvalid("not a URL of the form http[s]://host[:port][/path][?query]")
    scheme = match["scheme"].lower()
    port = int(match["port"]) if match["port"] else _PORTS[scheme]
    if not 1 <= port <= 65_535:
        raise EndpointInvalid(f"no such port: {port}")
    return Endpoint(scheme, _encode_host(match), port, (match["path"] or "/") + (match["query"] or ""))


def _encode_host(match: re.Match[str]) -> str:
    if match["six"] is not None:
        return _parse_literal(match["six"])
    name = match["name"].lower()
    labels = name.removesuffix(".").split(".")
    if not all(labels):
        raise EndpointInvalid("an empty label in the host name")
    return _parse_literal(name) if _NUMBER.fullmatch(labels[-1]) else name


def _parse_literal(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise EndpointInvalid(f"not an IP address in its usual form: {text}") from error
