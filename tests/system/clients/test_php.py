"""async-aws, and Symfony Messenger with its transport for SQS, as Debian has them."""

from __future__ import annotations

import shutil

import pytest

from tests.support.clients.sdk_story import FACTS, check_what_is_left, printed
from tests.support.clients.service_client import ROOT, Deployment, counts

SCRIPTS = ROOT / "tests/support/clients/php"

pytestmark = pytest.mark.clients


def command(script: str, *arguments: str) -> list[str]:
    assert shutil.which("php"), "php is missing: see requirements/clients-debian.txt"
    return ["php", str(SCRIPTS / script), *arguments]


def test_async_aws(up: Deployment) -> None:
    """Version 1 speaks Query and has no classes for errors of SQS, but their codes."""
    seen = printed(command("sdk.php", up.address, "php"))
    assert seen == {**FACTS, "unknown": "AWS.SimpleQueueService.NonExistentQueue"}
    check_what_is_left(up, "php")


def test_symfony_messenger(up: Deployment) -> None:
    """The transport makes its queues; a worker takes from both, and gives back what it has fetched and not handled."""
    assert printed(command("messenger.php", up.address)) == {
        "waiting": 2,
        "standard": ["grüße", "late", "three", "two"],
        "fifo": ["a1", "a2"],
    }
    assert counts(up, "messenger") == ["1", "0", "0"]
    assert counts(up, "messenger.fifo") == ["0", "0", "0"]
