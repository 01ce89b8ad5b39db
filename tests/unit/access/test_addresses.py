"""Addresses as limits count them. Source: RFC 6177 (a site has a /64 at least)."""

from __future__ import annotations

import pytest

from penstock.access.addresses import rate_limit_key


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:DB8:1:2::9", "2001:db8:1:2::"),
        ("2001:db8:1:3::9", "2001:db8:1:3::"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
        ("unknown", "unknown"),
        ("not:an:address", "not:an:address"),
    ],
)
def test_an_ipv6_client_is_its_network(address: str, counted: str) -> None:
    assert rate_limit_key(address) == counted
