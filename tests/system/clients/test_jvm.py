"""Programs for the JVM: the SDK for Java 2 with its blocking, asynchronous and batching clients.

`make clients` fetches their libraries and compiles them to .tools/clients/java (tests/support/clients/java/install.sh).
"""

from __future__ import annotations

import pytest

from tests.support.clients.sdk_story import FACTS, check_what_is_left, printed
from tests.support.clients.service_client import ROOT, Deployment, counts

PROGRAMS = ROOT / ".tools/clients/java"

pytestmark = pytest.mark.clients


def command(program: str, main: str, *arguments: str) -> list[str]:
    """How a program is started: without waiting for the best code, since it ends at once."""
    folder = PROGRAMS / program
    assert folder.is_dir(), f"{folder} is missing: run `make clients`"
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}/lib/*:{folder}/classes", main, *arguments]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_sdk(up: Deployment, kind: str) -> None:
    name = f"java-{kind}"
    assert printed(command("sdk", "Sdk", up.address, name, kind)) == FACTS
    check_what_is_left(up, name)


def test_batch_manager(up: Deployment) -> None:
    """100 messages by SqsAsyncBatchManager, of which one stays in flight."""
    assert printed(command("sdk", "Sdk", up.address, "java-batch", "batch")) == {"sent": 100, "received": 100}
    assert counts(up, "java-batch") == ["0", "1", "0"]
