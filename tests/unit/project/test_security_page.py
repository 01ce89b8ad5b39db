"""docs/security.md: what it names is there, and encryption comes first. Links are for test_citations.py."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.settings import SETTINGS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/security.md").read_text()
PREFIXES = ("QUEUE_", "WEBHOOK_", "DATABASE_")


def test_settings_that_are_named_exist() -> None:
    named = {word for word in re.findall(r"[A-Z]+(?:_[A-Z]+)+", PAGE) if word.startswith(PREFIXES)}
    assert named
    assert named <= {setting.name for setting in SETTINGS}


def test_targets_of_make_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", PAGE)) <= targets


def test_encryption_comes_first() -> None:
    first = PAGE.split("\n## ")[1]
    assert first.startswith(
        "Encryption\n\n**`SqsManagedSseEnabled` and the KMS attributes encrypt nothing here.**"
    )
