"""Clients' addresses for counting in limits."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address


@lru_cache(4096)
def rate_limit_key(address: str) -> str:
    """Returns the address of a client in a limit: for IPv6 its /64, since one client has all of it (RFC 6177)."""
    if ":" not in address:
        return address
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:  # any text that a proxy has written
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    mapped = parsed.ipv4_mapped
    return str(IPv6Address(int(parsed) >> 64 << 64)) if mapped is None else str(mapped)
