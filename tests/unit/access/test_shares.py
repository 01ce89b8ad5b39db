"""Tests how keys share the memory for long bodies. All callers without a known key have one share together."""

from __future__ import annotations

import pytest

from penstock.access.authentication import UNKNOWN_CALLERS, AccessRule, RequireCredentials, make_access_rule
from penstock.settings import Settings
from tests.support.conformance.access_keys import SIGV4

KNOWN = "PSTKAAAAAAAAAAAAAAAA"
SIGNED = "AWS4-HMAC-SHA256 Credential={}/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0"


@pytest.mark.parametrize(
    ("header", "caller"),
    [
        (SIGNED.format(KNOWN), KNOWN),
        (f"Bearer {KNOWN}.secret", KNOWN),
        (f"bearer {KNOWN}.secret", KNOWN),
        (SIGNED.format("PSTKBBBBBBBBBBBBBBBB"), UNKNOWN_CALLERS),
        ("Bearer x", UNKNOWN_CALLERS),
        ("x" * 9_000 + SIGNED.format(KNOWN), UNKNOWN_CALLERS),
        ("", UNKNOWN_CALLERS),
    ],
)
def test_a_caller_is_named_by_a_known_key(header: str, caller: str) -> None:
    rule = make_access_rule(Settings.read({**SIGV4, "DATABASE_URL": "postgresql://localhost/x"}))
    assert rule is not None
    rule._access_keys._known[KNOWN] = (0.0, None)  # type: ignore[attr-defined]
    assert rule.name_caller({b"authorization": header.encode()}) == caller


def test_with_presence_the_address_counts() -> None:
    rule: AccessRule = RequireCredentials()
    assert rule.name_caller({b"authorization": SIGNED.format(KNOWN).encode()}) is None
