"""Styles and scripts: how much they weigh, and that htmx is the one that its README names."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import penstock_web.console
from penstock_web.console.assets import TYPES, asset_path, read_asset

STATIC = Path(penstock_web.console.__file__).parent / "static"
ASSETS = [path for path in STATIC.iterdir() if path.suffix in TYPES]
README = (STATIC / "README.md").read_text()


def test_all_together_are_light() -> None:
    assert len(ASSETS) == 4
    assert sum(path.stat().st_size for path in ASSETS) <= 120_000


def test_what_is_of_others_is_unchanged() -> None:
    rows = re.findall(r"^\| (\S+) \|.*npm: `htmx.org@([0-9.]+)`.*`([0-9a-f]{64})` \|$", README, re.MULTILINE)
    ((name, version, digest),) = rows
    content = (STATIC / name).read_bytes()
    assert sha256(content).hexdigest() == digest
    assert f'this.version="{version}"'.encode() in content
    assert "Zero-Clause BSD" in README


def test_every_file_is_named() -> None:
    assert {path.name for path in ASSETS} == set(re.findall(r"[a-z.]+\.(?:js|css|svg)(?= \||, )", README))


def test_addresses_change_with_the_content() -> None:
    for path in ASSETS:
        assert sha256(path.read_bytes()).hexdigest()[:12] in asset_path(path.name)
    assert read_asset("README.md") is None
    assert read_asset("../console.py") is None
