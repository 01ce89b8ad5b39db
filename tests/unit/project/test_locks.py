"""The lock files: complete hashes, no addresses, and versions that fit each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
LAYERS = sorted((ROOT / "layers").glob("*/requirements.txt"))


def pins(path: Path) -> dict[str, str]:
    """Package -> version of a lock file. A package may stand twice, for different platforms."""
    found = re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", path.read_text(), re.MULTILINE)
    assert found, path
    return dict(found)


def test_there_are_locks() -> None:
    names = {path.name for path in LOCKS}
    assert names == {
        "audit.lock",
        "build.lock",
        "clients-async.lock",
        "clients-dramatiq.lock",
        "clients-old.lock",
        "dev.lock",
        "ha.lock",
        "lambda.lock",
        "metrics.lock",
        "sam.lock",
        "service.lock",
        "tracing.lock",
        "uv.lock",
    }


@pytest.mark.parametrize("path", [*LOCKS, *LAYERS], ids=lambda p: str(p.relative_to(ROOT)))
def test_no_address_and_no_path_of_a_machine(path: Path) -> None:
    assert re.findall(r"://|index-url|find-links|(?<![\w.-])/\w+", path.read_text()) == []


@pytest.mark.parametrize("path", [*LOCKS, *LAYERS], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_package_has_hashes(path: Path) -> None:
    packages = [
        part for part in re.split(r"^(?=[a-z0-9])", path.read_text(), flags=re.MULTILINE) if part.strip()
    ]
    assert [part for part in packages if "--hash=sha256:" not in part] == []


def test_what_is_tested_is_what_is_served() -> None:
    """dev.lock holds all of service.lock, in the same versions."""
    assert pins(ROOT / "requirements/service.lock").items() <= pins(ROOT / "requirements/dev.lock").items()


@pytest.mark.parametrize("extra", ["metrics", "tracing"])
def test_extras_can_be_installed_beside_the_others(extra: str) -> None:
    dev, lock = pins(ROOT / "requirements/dev.lock"), pins(ROOT / f"requirements/{extra}.lock")
    assert {name: version for name, version in lock.items() if dev.get(name, version) != version} == {}


@pytest.mark.parametrize("path", LAYERS, ids=lambda p: p.parent.name)
def test_the_layers_have_the_versions_of_the_service(path: Path) -> None:
    assert pins(path).items() <= pins(ROOT / "requirements/service.lock").items()
