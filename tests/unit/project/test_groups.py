"""Tests that share what is dear to make (a JVM, a service) are in a group, and one process runs them.

What `make test` leaves out has a target of its own, so that nothing is run by nobody.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("unit", "integration", "conformance", "system")
SPARK = ROOT / "tests/integration/jobs"


@pytest.mark.xdist_group("together")
def test_groups_are_kept_together(request: pytest.FixtureRequest) -> None:
    """The plugin says nothing when it cannot: versions of pytest and pytest-xdist have to fit (pyproject.toml)."""
    among_others = "PYTEST_XDIST_WORKER" in os.environ
    assert request.node.nodeid.endswith("@together") is among_others


@pytest.fixture(scope="module")
def shared() -> int:
    return os.getpid()


def test_a_fixture_of_the_module_makes_a_group(request: pytest.FixtureRequest, shared: int) -> None:
    among_others = "PYTEST_XDIST_WORKER" in os.environ
    assert request.node.nodeid.endswith("@tests/unit/project/test_groups.py") is among_others


def left_out() -> set[str]:
    """The marks whose tests `make test` does not run."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    options = settings["addopts"]
    return set(re.findall(r"not (\w+)", options[options.index("-m") + 1]))


def test_what_make_test_leaves_out_has_a_target() -> None:
    recipes = [
        line.lstrip("\t@") for line in (ROOT / "Makefile").read_text().splitlines() if "pytest" in line
    ]
    run = {match[1] for recipe in recipes for match in re.finditer(r'pytest .*-m "?(\w+)', recipe)}
    # `make clients` names the folder.
    assert left_out() - run == {"clients"}


def test_each_folder_has_a_target() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    left = {f"tests/{name}" for name in FOLDERS} - set(settings["testpaths"])
    assert left == {"tests/system"}
    assert "--timeout $(TEST_SECONDS) tests/system $(ARGS)" in (ROOT / "Makefile").read_text()


def test_ci_runs_all_of_them() -> None:
    commands = [shlex.split(line) for line in (ROOT / ".ci/run").read_text().splitlines()]
    targets = {target for command in commands if command[:1] == ["make"] for target in command[1:]}
    assert {"check", "test", "test-system", "test-metrics", "test-docs", "test-browser"} <= targets


@pytest.mark.parametrize("path", sorted(SPARK.glob("test_*.py")), ids=lambda path: path.stem)
def test_what_starts_spark_is_marked(path: Path) -> None:
    """A test of the job that needs no session stays in `make test`."""
    text = path.read_text()
    marked = "pytest.mark.metrics" in text
    assert ('xdist_group("spark")' in text) is marked
    assert marked or "SparkSession" not in text
