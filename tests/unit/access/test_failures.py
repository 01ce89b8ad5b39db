"""Failures of callers, by address.

Addresses as limits count them. Source: RFC 6177 (a site has a /64 at least).
"""

from __future__ import annotations

import pytest

from penstock.access import failures
from penstock.access.addresses import rate_limit_key
from penstock.access.failures import MOST_ADDRESSES, MOST_FAILURES, WINDOW_SECONDS, FailureCounter


def test_a_window_and_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(failures, "monotonic", lambda: now)
    counter = FailureCounter()
    for _ in range(MOST_FAILURES):
        counter.add("192.0.2.1")
    assert not counter.is_exceeded("192.0.2.1")
    counter.add("192.0.2.1")
    assert counter.is_exceeded("192.0.2.1")
    assert not counter.is_exceeded("192.0.2.2")
    now = WINDOW_SECONDS + 0.1
    assert not counter.is_exceeded("192.0.2.1")
    counter.add("192.0.2.1")
    assert not counter.is_exceeded("192.0.2.1")


def test_addresses_are_forgotten() -> None:
    counter = FailureCounter()
    for _ in range(MOST_FAILURES + 1):
        counter.add("192.0.2.1")
    for number in range(MOST_ADDRESSES):
        counter.add(f"2001:db8:0:{number:x}::1")
    assert not counter.is_exceeded("192.0.2.1")
    assert len(counter._windows) == MOST_ADDRESSES


def test_a_network_of_ipv6_is_one_address() -> None:
    """Each client has all of its /64 (RFC 6177), and so as many addresses as it likes."""
    counter = FailureCounter()
    for number in range(MOST_FAILURES + 1):
        counter.add(f"2001:db8:0:1::{number:x}")
    assert counter.is_exceeded("2001:db8:0:1::ffff")
    assert not counter.is_exceeded("2001:db8:0:2::1")


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
