"""Runs the SDK for Rust: aws-sdk-sqs and aws-sdk-sns (tests/support/clients/rust, built by `make clients`).

docs/guides/recipes.md has the settings.
"""

from __future__ import annotations

import pytest

from tests.support.clients.sdk_scenario import FACTS, check_what_is_left, printed
from tests.support.clients.service_client import ROOT, Deployment

PROGRAM = ROOT / ".tools/clients/rust/target/debug/penstock-client"


@pytest.mark.clients
def test_sdk(up: Deployment) -> None:
    assert PROGRAM.exists(), f"{PROGRAM} is missing: run `make clients`"
    assert printed([str(PROGRAM), up.address, "rust"]) == FACTS
    check_what_is_left(up, "rust")
