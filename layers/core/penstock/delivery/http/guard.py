"""Decides to which addresses a worker can connect: public addresses and the networks in WEBHOOK_ALLOW_CIDRS (SSRF
protection).

A worker inside the network posts webhooks to URLs that subscribers choose. Without this guard the worker would also
post to a cloud's metadata service, the database and the service itself. The worker checks every address of a name
immediately before it connects, and connects to a checked address. A name that changes its addresses therefore cannot
evade the check.

Sources: the IANA registries of special-purpose addresses (IPv4, IPv6); RFC 4291 (mapped), 6052 (NAT64), 3056 (6to4),
4380 (Teredo), 5214 (ISATAP).
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

from penstock.endpoint import Address, EndpointRefused

Network = IPv4Network | IPv6Network

EVERY_NETWORK: Final = (ip_network("0.0.0.0/0"), ip_network("::/0"))
"""The networks to which a worker can connect for an endpoint that the operator has set."""

_NEVER_PUBLIC_4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # the local network, in which Linux treats 0.0.0.0 as the machine's address
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; 100.100.100.200 is Alibaba Cloud's metadata service
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's platform address, which has a public number but is not public
        "169.254.0.0/16",  # link-local; 169.254.169.254 is most clouds' metadata service
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is Oracle Cloud's metadata service
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays, which no longer exist
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and the broadcast address
    )
)
# All public unicast addresses are inside 2000::/3.
_PUBLIC_6: Final = IPv6Network("2000::/3")
_NEVER_PUBLIC_6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, including Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which contains an IPv4 address
        "3fff::/20",  # documentation
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
# The first half of ISATAP's interface identifiers. The second half of an identifier is an IPv4 address, to which
# packets are tunnelled.
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)


class AddressGuard:
    """Decides which addresses a worker can connect to. `allowed` are permitted networks that are not public."""

    def __init__(self, allowed: Iterable[Network] = ()) -> None:
        self._allowed = tuple(allowed)

    def permits(self, address: Address) -> bool:
        """Returns whether a worker can connect to this address.

        An IPv6 address that contains an IPv4 address (mapped, NAT64) is permitted if WEBHOOK_ALLOW_CIDRS contains the
        IPv4 address. The address is also permitted if WEBHOOK_ALLOW_CIDRS contains the IPv6 range (networks with DNS64)
        and the IPv4 address is permitted.
        """
        inner = extract_ipv4(address)
        if inner is not None:
            return self._is_allowed(inner) or (self._is_allowed(address) and self.permits(inner))
        return self._is_allowed(address) or is_public(address)

    def check(self, addresses: Iterable[Address]) -> None:
        """Raises EndpointRefused unless every address of the name is permitted.

        The error does not contain the address, because subscribers read the error and must not learn about the network.
        """
        if not all(map(self.permits, addresses)):
            raise EndpointRefused("an address of the host is not public and not in WEBHOOK_ALLOW_CIDRS")

    def _is_allowed(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self._allowed)


def extract_ipv4(address: Address) -> IPv4Address | None:
    """Returns the IPv4 address inside an IPv4-mapped or NAT64 address."""
    if isinstance(address, IPv4Address):
        return None
    return _last_four_bytes(address) if address in _NAT64 else address.ipv4_mapped


def is_public(address: Address) -> bool:
    """Returns whether the address is public. A tunnel's endpoint (ISATAP) must also be public."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NEVER_PUBLIC_4)
    if address not in _PUBLIC_6 or any(address in network for network in _NEVER_PUBLIC_6):
        return False
    is_tunnel = (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP
    return not is_tunnel or is_public(_last_four_bytes(address))


def _last_four_bytes(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)


def read_networks(text: str) -> tuple[Network, ...]:
    """Parses the networks of WEBHOOK_ALLOW_CIDRS, separated by commas or blanks.

    Raises ValueError, which contains the invalid network.
    """
    return tuple(ip_network(part) for part in text.replace(",", " ").split())
