"""Which hosts a request may name.

With QUEUE_ACCESS=off or presence whoever reaches the service may use it, and so may every page that a browser inside
the network has open, if the page's own name leads to the service (DNS rebinding). Such a request has that name in
`Host`. So only names pass that nobody outside can lead here: IP addresses, names without a dot and of domains that are
for private use (RFC 6761, 6.3: localhost; ICANN, resolution 2024.07.29.06: internal; "DNS for Services and Pods",
Kubernetes: svc, svc.cluster.local), and those that the settings name. A signature covers `Host`, so there is nothing to
ask with QUEUE_ACCESS=sigv4.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from penstock.errors import MisdirectedRequest
from penstock.http import HttpRequest
from penstock.settings import Settings, host_entries

PRIVATE_DOMAINS: Final = (".localhost", ".internal", ".svc", ".svc.cluster.local")
MOST_VERDICTS: Final = 1024
LONGEST_HOST: Final = 261  # the longest name of DNS and a port; longer ones are not remembered

_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(?::[0-9]{0,5})?").fullmatch
_IP_ADDRESS = re.compile(r"\[.*\]|[0-9]{1,3}(?:\.[0-9]{1,3}){3}").fullmatch


class Hosts:
    """The hosts of one installation. Verdicts are remembered: a client sends the same Host with every request."""

    __slots__ = ("_asks", "_domains", "_names", "_verdicts", "_with_any")

    def __init__(self, settings: Settings) -> None:
        self._asks = settings.queue_access != "sigv4"
        given = host_entries(settings.queue_allowed_hosts)
        self._with_any = "*" in given
        self._domains = tuple(entry[1:] for entry in given if entry.startswith("*."))
        self._names = {entry for entry in given if not entry.startswith("*")}
        self._names.update(
            host
            for host in (host_of(settings.queue_base_url), host_of(f"//{settings.sns_cert_host}"))
            if host
        )
        self._verdicts: dict[bytes, bool] = {}

    def check(self, http: HttpRequest) -> None:
        """Raises MisdirectedRequest for a host that is not allowed; a signature or API Gateway vouches for any."""
        host = http.headers.get(b"host", b"")
        if self._asks and not self.allows(host) and not http.host_checked:
            raise MisdirectedRequest.of(host.decode("latin-1"))

    def allows(self, host: bytes) -> bool:
        """Whether requests may have this Host, with or without a port."""
        verdict = self._verdicts.get(host)
        if verdict is None:
            verdict = self._judge(host)
            if len(host) <= LONGEST_HOST:
                if len(self._verdicts) >= MOST_VERDICTS:
                    self._verdicts.clear()
                self._verdicts[host] = verdict
        return verdict

    def names(self, host: bytes) -> bool:
        """Whether the settings name this host; `*` names none."""
        name = name_of(host)
        return name is not None and (name in self._names or name.endswith(self._domains))

    def _judge(self, host: bytes) -> bool:
        name = name_of(host)
        return self._with_any or (name is not None and is_private(name)) or self.names(host)


def is_private(name: str) -> bool:
    """Whether no name server outside can lead this name here. The empty one is that of HTTP/1.0, not of a browser."""
    return "." not in name or name.endswith(PRIVATE_DOMAINS) or _IP_ADDRESS(name) is not None


def name_of(host: bytes) -> str | None:
    """A Host without its port, in lower case; None for what is no host."""
    found = _HOST(host)
    return None if found is None else found[1].decode().lower().removesuffix(".")


def host_of(url: str) -> str | None:
    """The host of a URL, as `name_of` writes it."""
    return name_of(urlsplit(url).netloc.rpartition("@")[2].encode())
