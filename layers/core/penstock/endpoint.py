r"""Parses an endpoint's URL once. The worker uses only the parsed parts to check, resolve, connect and send.

An attacker can reach forbidden hosts if two parsers disagree about a URL (`http://good\@bad/`, `http://good#@bad/`).
Therefore Penstock has one strict parser, which refuses all unusual URLs. An international name must be in its ASCII
form (`xn--…`), and an IPv4 address has four decimal parts.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple
from urllib.parse import unquote

Address = IPv4Address | IPv6Address

MAX_URL_CHARACTERS: Final = 2_048
_PORTS: Final = {"http": 80, "https": 443}
_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?:(?P<user>[a-z0-9._~!$&'()*+,;=%-]*):(?P<password>[a-z0-9._~!$&'()*+,;=%-]*)@)?(?:\[(?P<six>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9._-]{1,253}))"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?",
    re.IGNORECASE,
)
_USER: Final = re.compile(r"(https?://[^/?#@:]*):([^/?#]*)@", re.IGNORECASE).match
HIDDEN: Final = "****"
_PRINTABLE: Final = re.compile(r"[!-~]+")
# The last label determines whether a host is an address. To a resolver, 127.1, 0x7f.0.0.1 and 017700000001 are
# addresses.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


class EndpointRefused(Exception):  # noqa: N818 - named for the event
    """The worker must not connect to the endpoint now. The error's text contains the reason. A later attempt can
    succeed if the name then has another address."""


class EndpointInvalid(EndpointRefused):
    """The worker can never connect to the endpoint, because the URL is not acceptable."""


class Credentials(NamedTuple):
    """A user and a password, without escapes."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Credentials({self.user!r}, {HIDDEN!r})"


class Endpoint(NamedTuple):
    """The parts of an endpoint's URL. `host` is a name or an address without brackets. `target` is the path and the
    query."""

    scheme: str
    host: str
    port: int
    target: str
    credentials: Credentials | None = None

    @property
    def address(self) -> Address | None:
        """Returns the host as an address, or None if the host is a name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    @property
    def host_header(self) -> str:
        """Returns the value of the Host header (RFC 9110, 7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def find_endpoint_problem(url: str, *, takes_credentials: bool) -> str | None:
    """Returns the reason why no worker could post to the URL, or None. Every API checks a URL before storing it.

    URLs of subscriptions and event bindings can have a user and a password.
    """
    try:
        endpoint = parse_endpoint(url)
    except EndpointInvalid as error:
        return str(error)
    if endpoint.credentials is not None and not takes_credentials:
        return "the URL has a user and a password, which only subscriptions can have"
    return None


def split_password(url: str) -> tuple[str, str | None]:
    """Returns the URL with `****` in place of the password, as on AWS, and the password with the URL's escapes."""
    match = _USER(url)
    if match is None:
        return url, None
    return f"{match[1]}:{HIDDEN}@{url[match.end() :]}", match[2]


def mask_password(url: str) -> str:
    """Returns the URL in the form that Penstock stores and shows."""
    return split_password(url)[0]


def fill_in_password(endpoint: Endpoint, password: str | None) -> Credentials | None:
    """Returns the credentials of a stored URL. `password` is stored separately and has the URL's escapes."""
    if endpoint.credentials is None or password is None:
        return None
    return Credentials(endpoint.credentials.user, unquote(password))


def parse_endpoint(url: str) -> Endpoint:
    """Parses an http or https URL with or without credentials. Raises EndpointInvalid for any other text."""
    if len(url) > MAX_URL_CHARACTERS or not _PRINTABLE.fullmatch(url):
        raise EndpointInvalid("the URL is too long, or has characters that are not printable ASCII")
    match = _URL.fullmatch(url)
    if match is None:
        raise EndpointInvalid("not a URL of the form http[s]://host[:port][/path][?query]")
    scheme = match["scheme"].lower()
    port = int(match["port"]) if match["port"] else _PORTS[scheme]
    if not 1 <= port <= 65_535:
        raise EndpointInvalid(f"no such port: {port}")
    target = (match["path"] or "/") + (match["query"] or "")
    return Endpoint(scheme, _encode_host(match), port, target, _read_credentials(match))


def _read_credentials(match: re.Match[str]) -> Credentials | None:
    if match["user"] is None:
        return None
    try:
        user, password = (unquote(match[name], errors="strict") for name in ("user", "password"))
    except UnicodeDecodeError as error:
        raise EndpointInvalid("user and password are UTF-8 with the escapes of URLs") from error
    if ":" in user or not (user + password).isprintable():  # RFC 7617, section 2
        raise EndpointInvalid("user and password have no control characters, and the user has no colon")
    return Credentials(user, password)


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
