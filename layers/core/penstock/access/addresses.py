"""Reduces client addresses to the keys that limits count."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address


@lru_cache(4096)
def rate_limit_key(address: str) -> str:
    """Returns the key under which a limit counts a client's address.

    An IPv6 address is reduced to its /64 network, because one client owns the whole network (RFC 6177).
    """
    if ":" not in address:
        return address
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:  # a proxy can write any text
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    mapped = parsed.ipv4_mapped
    return str(IPv6Address(int(parsed) >> 64 << 64)) if mapped is None else str(mapped)
