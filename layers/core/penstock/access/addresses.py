"""Addresses of clients for limits."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address


@lru_cache(4096)
def rate_limit_key(address: str) -> str:
    """Returns the key under which a limit counts a client's address.

    The key of an IPv6 address is its /64 network, since one client owns the whole network (RFC 6177).
    """
    if ":" not in address:
        return address
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:  # a proxy may have written any text
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    mapped = parsed.ipv4_mapped
    return str(IPv6Address(int(parsed) >> 64 << 64)) if mapped is None else str(mapped)
