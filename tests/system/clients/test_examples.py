"""Runs the examples in other languages with the packages that `make clients` has installed.

examples/README.md has the commands with which users install the packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.service_client import ROOT, Deployment, counts
from tests.support.clients.toolchains import GO_ENVIRONMENT, JAVA_PROGRAMS, NODE_MODULES

EXAMPLES = ROOT / "examples"
RUST = ROOT / ".tools/clients/rust"
HANDLED = ['handled {"order":1}', 'handled {"order":2}', 'handled {"order":3}']

pytestmark = pytest.mark.clients


def run(command: list[str | Path], folder: Path, **environment: str) -> str:
    """Returns the output of a program, which must succeed."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_node(folder: Path, endpoint: str) -> str:
    (folder / "node_modules").symlink_to(NODE_MODULES / "node_modules")
    return run(["node", "worker.mjs"], folder, AWS_ENDPOINT_URL=endpoint)


def run_go(folder: Path, endpoint: str) -> str:
    return run(["go", "run", "."], folder, **GO_ENVIRONMENT, AWS_ENDPOINT_URL=endpoint)


def run_java(folder: Path, endpoint: str) -> str:
    path = f"{JAVA_PROGRAMS / 'sdk'}/lib/*"
    run(["javac", "-cp", path, "Worker.java"], folder)
    return run(["java", "-cp", f"{path}:.", "Worker"], folder, AWS_ENDPOINT_URL=endpoint)


def run_rust(folder: Path, endpoint: str) -> str:
    """The lock file is that of the client's program, without the crates that the example lacks."""
    shutil.copy(RUST / "Cargo.lock", folder)
    command: list[str | Path] = ["cargo", "run", "--quiet", "--offline", "--jobs", "1"]
    return run(command, folder, CARGO_TARGET_DIR=str(RUST / "target"), AWS_ENDPOINT_URL=endpoint)


def run_php(folder: Path, endpoint: str) -> str:
    return run(["php", "worker.php"], folder, AWS_ENDPOINT_URL=endpoint)


@pytest.mark.parametrize(
    ("language", "run_example"),
    [("node", run_node), ("go", run_go), ("java", run_java), ("rust", run_rust), ("php", run_php)],
)
def test_an_example_handles_its_orders(
    up: Deployment, tmp_path: Path, language: str, run_example: Callable[[Path, str], str]
) -> None:
    shutil.copytree(EXAMPLES / language, tmp_path, dirs_exist_ok=True)
    assert sorted(run_example(tmp_path, up.address).splitlines()) == HANDLED
    assert counts(up, f"example-{language}") == ["0", "0", "0"]
