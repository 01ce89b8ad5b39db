"""Decides which hosts a request can name, and which web pages can send requests.

If QUEUE_ACCESS is `off` or `presence`, any client that reaches the service can use the service. A web page that is open
inside the network could also use the service if the page's host name resolves to the service (DNS rebinding). The
browser then sends the page's name in `Host`. Therefore the service accepts only the names in the settings and names
that an outsider cannot point at the service: IP addresses, names without a dot, and private domains. Private domains
are localhost (RFC 6761, 6.3), internal (ICANN, resolution 2024.07.29.06), and svc and svc.cluster.local ("DNS for
Services and Pods", Kubernetes). If QUEUE_ACCESS is `sigv4`, the signature covers `Host`, so the service does not check
`Host`.

Browsers send forms, image requests and simple script requests to other sites without a preflight. The page cannot read
the response, but the request takes effect. Browsers name the sending page in `Origin` on every POST ("The Origin Web
Concept", RFC 6454; Fetch Standard, "Origin header"). Browsers also send `Sec-Fetch-Site` to https addresses and to the
local machine ("Fetch Metadata Request Headers", W3C).
"""

import logging
import re
from collections.abc import Mapping
from typing import Final

from penstock.errors import AccessDenied, MisdirectedRequest
from penstock.settings import Settings
from penstock.settings.formats import split_hosts

PRIVATE_DOMAINS: Final = (".localhost", ".internal", ".svc", ".svc.cluster.local")
MAX_DECISIONS: Final = 1024
OTHER_SITES: Final = (b"cross-site", b"same-site")
DEFAULT_PORTS: Final = {b"https:": b":443", b"http:": b":80"}
FOREIGN_PAGE: Final = (
    "A web page of another site sent this request. To allow the site, add its host to the setting QUEUE_ALLOWED_HOSTS."
)
MAX_HOST_LENGTH: Final = 261  # the longest DNS name with a port; longer hosts are not cached

_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(?::[0-9]{0,5})?").fullmatch
_IP_ADDRESS = re.compile(r"\[.*\]|[0-9]{1,3}(?:\.[0-9]{1,3}){3}").fullmatch

_log = logging.getLogger(__name__)


class Hosts:
    """The hosts of an installation. The class caches decisions, because a client sends the same Host with every
    request."""

    __slots__ = (
        "_asks",
        "_base",
        "_decisions",
        "_domains",
        "_has_warned",
        "_names",
        "_pages",
        "_trusts_forwarded",
        "_with_any",
    )  # fmt: skip

    def __init__(self, settings: Settings) -> None:
        self._asks = settings.queue_access != "sigv4"
        given = split_hosts(settings.queue_allowed_hosts)
        self._with_any = "*" in given
        self._domains = tuple(entry[1:] for entry in given if entry.startswith("*."))
        self._pages = {entry for entry in given if not entry.startswith("*")}
        self._base = parse_authority(settings.queue_base_url.lower().encode())
        names = (parse_host_name(self._base), parse_host_name(settings.sns_cert_host.encode()))
        self._names = self._pages.union(name for name in names if name)
        self._trusts_forwarded = settings.queue_trust_forwarded
        self._decisions: dict[bytes, bool] = {}
        self._has_warned = False

    def check(self, headers: Mapping[bytes, bytes], host_checked: bool) -> None:
        """Raises MisdirectedRequest for a refused host, and AccessDenied for a request from a web page of a refused
        site.

        Accepts any host if a signature or API Gateway guarantees the host (`host_checked`).
        """
        if not self._decisions.get(headers.get(b"host", b"")):
            self.check_host(headers, host_checked)
        if (b"sec-fetch-site" in headers or b"origin" in headers) and self._is_foreign(headers):
            raise AccessDenied(FOREIGN_PAGE)

    def check_host(self, headers: Mapping[bytes, bytes], host_checked: bool) -> None:
        """Checks the host, but not the web page that sent the request."""
        host = headers.get(b"host", b"")
        if self._asks and not self.allows(host) and not host_checked:
            raise MisdirectedRequest.of(host.decode("latin-1"))

    def allows(self, host: bytes) -> bool:
        """Returns whether a request can have this Host, with or without a port."""
        decision = self._decisions.get(host)
        if decision is None:
            decision = self._judge(host)
            if len(host) <= MAX_HOST_LENGTH:
                if len(self._decisions) >= MAX_DECISIONS:
                    self._decisions.clear()
                self._decisions[host] = decision
        return decision

    def names(self, host: bytes) -> bool:
        """Returns whether the settings name this host. The setting `*` does not name a host."""
        name = parse_host_name(host)
        return name is not None and (name in self._names or name.endswith(self._domains))

    def forwarded(self, headers: Mapping[bytes, bytes]) -> bytes:
        """Returns the client's host from `X-Forwarded-Host`, or an empty string.

        The host must be allowed, because AWS does not document that API Gateway or a load balancer removes a header
        that the client sent.
        """
        if not self._trusts_forwarded:
            return b""
        # The client sets the first entry, and each proxy appends an entry.
        host = headers.get(b"x-forwarded-host", b"").partition(b",")[0].strip()
        return host if self.allows(host) else b""

    def warn_of_links(self, base_url: str) -> None:
        """Logs once that links in SNS messages do not use the request's host."""
        if not self._has_warned:
            self._has_warned = True
            cause = f"they begin with {base_url}: set QUEUE_BASE_URL"
            _log.warning("links in SNS messages cannot use the request's host", extra={"cause": cause})

    def _is_foreign(self, headers: Mapping[bytes, bytes]) -> bool:
        origin = headers.get(b"origin")
        if origin is not None:
            scheme, _, page = origin.lower().partition(b"//")
            name = parse_host_name(page)
            if self._with_any or (name and (name in self._pages or name.endswith(self._domains))):
                return False
            host = headers.get(b"host", b"").lower().removesuffix(DEFAULT_PORTS.get(scheme, b""))
            if not page or page not in (host, self._base, self.forwarded(headers).lower()):
                return True
        return headers.get(b"sec-fetch-site") in OTHER_SITES

    def _judge(self, host: bytes) -> bool:
        name = parse_host_name(host)
        return self._with_any or (name is not None and is_private(name)) or self.names(host)


def is_private(name: str) -> bool:
    """Returns whether no public name server can resolve the name to the service. Only HTTP/1.0 clients send an empty
    host."""
    return "." not in name or name.endswith(PRIVATE_DOMAINS) or _IP_ADDRESS(name) is not None


def parse_host_name(host: bytes) -> str | None:
    """Returns a Host without its port, in lower case, or None if the text is not a host name."""
    found = _HOST(host)
    return None if found is None else found[1].decode().lower().removesuffix(".")


def parse_authority(url: bytes) -> bytes:
    """Returns the host and port of a URL. Like a browser's Origin, the result omits the scheme's default port."""
    scheme, _, rest = url.partition(b"//")
    return rest.partition(b"/")[0].removesuffix(DEFAULT_PORTS.get(scheme, b""))
