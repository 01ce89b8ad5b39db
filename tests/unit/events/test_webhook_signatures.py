"""Tests the verification of requests to webhooks with the published examples of GitHub and Standard Webhooks.

Sources: "Validating webhook deliveries" (GitHub Docs), "Signature scheme" (Standard Webhooks 1.0.0), RFC 2202
(HMAC-SHA1, test case 1), and botocore's model `eventbridgev2` (1.44.8).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from penstock.events.errors import WebhookRefused
from penstock.events.shapes import WebhookAuthConfiguration
from penstock.events.webhook_settings import build_credential, check_credential, find_auth
from penstock.events.webhook_signatures import verify
from penstock.events.webhooks import build_headers
from tests.support.conformance.webhooks import GITHUB, STANDARD, STRIPE

NOW = 1_614_265_330.0
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD_BODY = b'{"test": 2432232314}'
STANDARD_HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}  # fmt: skip
GITHUB_SECRET = "It's a Secret to Everybody"
GITHUB_BODY = b"Hello, World!"
GITHUB_SIGNATURE = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


def auth_of(settings: Mapping[str, Any], kind: str = "Hmac") -> Any:
    return find_auth(msgspec.convert({f"{kind}AuthConfiguration": settings}, WebhookAuthConfiguration))


def is_accepted(
    settings: Mapping[str, Any], secret: str, headers: Mapping[str, str], body: bytes, now: float = NOW
) -> bool:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    try:
        verify(auth_of(settings), [secret], build_headers(pairs), body, now)
    except WebhookRefused:
        return False
    return True


def test_the_example_of_github() -> None:
    assert is_accepted(GITHUB, GITHUB_SECRET, {"X-Hub-Signature-256": GITHUB_SIGNATURE}, GITHUB_BODY)


def test_the_example_of_standard_webhooks() -> None:
    assert is_accepted(STANDARD, STANDARD_SECRET, STANDARD_HEADERS, STANDARD_BODY)
    assert is_accepted(STANDARD, STANDARD_SECRET.removeprefix("whsec_"), STANDARD_HEADERS, STANDARD_BODY)


def test_the_example_of_hmac_sha1() -> None:
    settings = {**GITHUB, "Algorithm": "SHA1", "SignaturePrefix": "sha1=", "SecretEncoding": "BASE64"}
    headers = {"x-hub-signature-256": "sha1=b617318655057264e28bc0b6fb378c8ef146be00"}
    assert is_accepted(settings, b64encode(b"\x0b" * 20).decode(), headers, b"Hi There")


@pytest.mark.parametrize(
    "signature",
    [
        "", "sha256=", "sha256=zz", "sha256=7", GITHUB_SIGNATURE[7:], GITHUB_SIGNATURE[:-2], GITHUB_SIGNATURE + "00",
        "sha1=" + GITHUB_SIGNATURE[7:], "sha256=dXEH6g6yUJ/CESIczphLijdXC211hsIsRvQ3nIsEPhc=", "sha256=" + "é" * 64,
        GITHUB_SIGNATURE + "," + GITHUB_SIGNATURE,
    ],
)  # fmt: skip
def test_a_wrong_signature_is_refused(signature: str) -> None:
    assert not is_accepted(GITHUB, GITHUB_SECRET, {"x-hub-signature-256": signature}, GITHUB_BODY)


def test_upper_case_hexadecimal_is_the_same_signature() -> None:
    signature = "sha256=" + GITHUB_SIGNATURE[7:].upper()
    assert is_accepted(GITHUB, GITHUB_SECRET, {"x-hub-signature-256": signature}, GITHUB_BODY)


@pytest.mark.parametrize(
    "changes",
    [
        {"webhook-id": ""}, {"webhook-id": "msg.p5jXN8AQM9LWM0D4loKWxJek"}, {"webhook-timestamp": "1614265331"},
        {"webhook-timestamp": "1614265330.0"}, {"webhook-timestamp": "-1614265330"}, {"webhook-timestamp": ""},
        {"webhook-timestamp": "1" * 5_000}, {"webhook-signature": STANDARD_HEADERS["webhook-signature"][3:]},
        {"webhook-signature": STANDARD_HEADERS["webhook-signature"].replace("v1,", "v1a,")},
        {"webhook-signature": STANDARD_HEADERS["webhook-signature"].rstrip("=")},
    ],
)  # fmt: skip
def test_a_changed_header_is_refused(changes: dict[str, str]) -> None:
    assert not is_accepted(STANDARD, STANDARD_SECRET, {**STANDARD_HEADERS, **changes}, STANDARD_BODY)


def test_a_missing_header_is_refused() -> None:
    for name in STANDARD_HEADERS:
        headers = {other: value for other, value in STANDARD_HEADERS.items() if other != name}
        assert not is_accepted(STANDARD, STANDARD_SECRET, headers, STANDARD_BODY)


def test_one_of_several_signatures_is_enough() -> None:
    """A sender that rotates its key signs with both keys."""
    signature = "v1,bm9ldHUK " + STANDARD_HEADERS["webhook-signature"] + " v1a,x"
    headers = {**STANDARD_HEADERS, "webhook-signature": signature}
    assert is_accepted(STANDARD, STANDARD_SECRET, headers, STANDARD_BODY)


@pytest.mark.parametrize(("tolerance", "after", "accepted"), [
    (None, 300, True), (None, 301, False), (None, -300, True), (None, -301, False), (5, 5, True), (5, 6, False),
])  # fmt: skip
def test_the_tolerance_of_timestamps(tolerance: int | None, after: int, accepted: bool) -> None:
    settings = STANDARD if tolerance is None else {**STANDARD, "TimestampToleranceInSeconds": tolerance}
    found = is_accepted(settings, STANDARD_SECRET, STANDARD_HEADERS, STANDARD_BODY, NOW + after)
    assert found is accepted


@pytest.mark.parametrize("value", ["t=1614265330", "v1=00", "t=1614265330,t=1614265330,v1=00", "t=,v1=00", ",,,"])
def test_one_header_with_a_timestamp_and_signatures_needs_both(value: str) -> None:
    assert not is_accepted(STRIPE, "sixteen bytes or more", {"stripe-signature": value}, b"{}")


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("StaticToken", {"TokenHttpHeader": "x-token"}), ("BasicHttp", {}), ("Hmac", GITHUB), ("Hmac", STANDARD),
    ],
)  # fmt: skip
def test_generated_credentials_are_valid_and_differ(kind: str, settings: dict[str, Any]) -> None:
    auth = auth_of(settings, kind)
    first, second = build_credential(auth), build_credential(auth)
    assert first != second
    assert len(first) <= 512
    check_credential(auth, first)
