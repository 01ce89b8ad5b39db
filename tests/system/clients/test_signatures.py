"""The SDKs for Java, Rust, PHP and Ruby sign in different ways, and the service verifies the signatures.

The source is "AWS Signature Version 4 for API requests" in the IAM user guide. A wrong secret is refused with
SignatureDoesNotMatch ("Common error types" of the SQS API reference).
"""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clients.sdk_scenario import FACTS, printed
from tests.support.clients.service_client import ROOT
from tests.support.programs.penstock_up import COMMAND, Up, running

pytestmark = pytest.mark.clients

JAVA = ROOT / ".tools/clients/java/sdk"
PROGRAMS = {
    "java": ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{JAVA}/lib/*:{JAVA}/classes", "Sdk"],
    "rust": [str(ROOT / ".tools/clients/rust/target/debug/penstock-client")],
    "php": ["php", str(ROOT / "tests/support/clients/php/sdk.php")],
    "ruby": ["ruby", str(ROOT / "tests/support/clients/ruby/sdk.rb")],
}
ENCRYPTION_KEY = base64.b64encode(bytes(32)).decode()


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with running("--ephemeral", QUEUE_ACCESS="sigv4", QUEUE_ENCRYPTION_KEY=ENCRYPTION_KEY) as up:
        yield up


@pytest.fixture(scope="module")
def key(up: Up) -> dict[str, str]:
    """Returns a key in the form for the programs."""
    variables = {**os.environ, "QUEUE_ACCESS": "sigv4", "QUEUE_ENCRYPTION_KEY": ENCRYPTION_KEY, "DATABASE_URL": up.dsn}
    done = subprocess.run([*COMMAND, "keys", "create"], env=variables, capture_output=True, text=True, check=True)
    shown = dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("AWS_"))
    return {"PENSTOCK_KEY": shown["AWS_ACCESS_KEY_ID"], "PENSTOCK_SECRET": shown["AWS_SECRET_ACCESS_KEY"]}


def told(program: str, up: Up, key: dict[str, str]) -> Any:
    return printed([*PROGRAMS[program], up.address, f"signed-{program}", "sync"], **key)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_signed_request_is_accepted(up: Up, key: dict[str, str], program: str) -> None:
    seen = told(program, up, key)
    assert {name: seen[name] for name in ("awaited", "received", "attributes")} == {
        name: FACTS[name] for name in ("awaited", "received", "attributes")
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_another_secret_is_refused(up: Up, key: dict[str, str], program: str) -> None:
    with pytest.raises(AssertionError, match=r"SignatureDoesNotMatch|signature we calculated does not match"):
        told(program, up, {**key, "PENSTOCK_SECRET": "x" * 40})
