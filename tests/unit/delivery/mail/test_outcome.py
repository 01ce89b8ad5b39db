"""Tests which refusals are about the address or its mailbox: RFC 3463, 3.2 and 3.3; without such codes RFC 5321,
4.2.3.
"""

from __future__ import annotations

import pytest

from penstock.delivery.mail.outcome import is_bounce


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (550, "5.1.1 no such user", True),
        (550, "no such user", True),
        (551, "User not local", True),
        (553, "mailbox name not allowed", True),
        (552, "5.2.2 mailbox full", True),
        (550, "5.7.1 relaying denied", False),
        (554, "5.7.1 your address is blocked", False),
        (554, "transaction failed", False),
        (552, "message too long", False),
        (554, "5.6.0 not wanted", False),
        (550, "15.1.1 of something else", True),
    ],
)
def test_bounces(code: int, text: str, expected: bool) -> None:
    assert is_bounce(code, text) is expected
