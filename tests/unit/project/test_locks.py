"""The lock files: complete hashes, no addresses, and versions that fit each other."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import packages_distributions
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
        "browser.lock",
        "build.lock",
        "clients-async.lock",
        "clients-django.lock",
        "clients-dramatiq.lock",
        "clients-frameworks.lock",
        "clients-old.lock",
        "dev.lock",
        "fuzz.lock",
        "ha.lock",
        "iceberg.lock",
        "lambda.lock",
        "local-lambda.lock",
        "metrics.lock",
        "sam.lock",
        "sbom.lock",
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


CLIENTS = ROOT / "tests/support/clients"
FOREIGN_LOCKS = [
    CLIENTS / "node/package-lock.json",
    CLIENTS / "rust/crates.lock",
    *sorted(CLIENTS.glob("java/*/jars.sha256")),
]


@pytest.mark.parametrize("path", FOREIGN_LOCKS, ids=lambda p: str(p.relative_to(CLIENTS)))
def test_locks_of_clients_have_digests_and_no_registry(path: Path) -> None:
    text = path.read_text()
    assert re.findall(r"[0-9a-f]{64}|sha512-", text)
    assert re.findall(r'"resolved"|registry\+|^source = ', text, re.MULTILINE) == []


@pytest.mark.parametrize("program", ["camel", "events", "jms", "sdk", "spring"])
def test_every_program_for_the_jvm_has_its_lock(program: str) -> None:
    assert {path.name for path in (CLIENTS / "java" / program).iterdir()} >= {"pom.xml", "jars.sha256"}


def test_what_is_tested_is_what_is_served() -> None:
    """dev.lock holds all of service.lock, in the same versions."""
    assert pins(ROOT / "requirements/service.lock").items() <= pins(ROOT / "requirements/dev.lock").items()


@pytest.mark.parametrize("extra", ["iceberg", "metrics", "tracing"])
def test_extras_can_be_installed_beside_the_others(extra: str) -> None:
    dev, lock = pins(ROOT / "requirements/dev.lock"), pins(ROOT / f"requirements/{extra}.lock")
    assert {name: version for name, version in lock.items() if dev.get(name, version) != version} == {}


@pytest.mark.parametrize("path", LAYERS, ids=lambda p: p.parent.name)
def test_the_layers_have_the_versions_of_the_service(path: Path) -> None:
    assert pins(path).items() <= pins(ROOT / "requirements/service.lock").items()


def test_make_lambda_has_what_it_imports() -> None:
    """The tests have more: `make lambda` alone in a new clone would fail."""
    locks = [pins(ROOT / f"requirements/{name}.lock") for name in ("service", "local-lambda")]
    imported = {
        name.partition(".")[0]
        for path in (ROOT / "tests/support/local_lambda").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in names_of(node)
    } - sys.stdlib_module_names
    packages = packages_distributions()
    missing = {
        module
        for module in imported - {"penstock", "penstock_web", "tests"}
        if not any(name.lower() in lock for name in packages[module] for lock in locks)
    }
    assert "yaml" in imported
    assert missing == set()


def names_of(node: ast.AST) -> list[str]:
    """The modules that a statement imports, but those of its own package."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module]
    return []


def test_the_gateway_of_make_lambda_has_the_versions_of_the_tests() -> None:
    assert (
        pins(ROOT / "requirements/local-lambda.lock").items() <= pins(ROOT / "requirements/dev.lock").items()
    )
