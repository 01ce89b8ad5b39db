"""The Lambda layers: what the command line alone needs is not in them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMAND_LINE = {"rich", "typer"}


def packages(lines: list[str]) -> set[str]:
    """Names of packages, without versions and comments."""
    found = (re.match(r"[A-Za-z0-9_.-]+", line) for line in lines)
    return {match[0].lower() for match in found if match}


def test_the_wheel_brings_the_command_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert packages(project["dependencies"]) >= COMMAND_LINE


@pytest.mark.parametrize("layer", ["core", "web"])
def test_layers_do_without_the_command_line(layer: str) -> None:
    named, locked = (
        packages((ROOT / "layers" / layer / name).read_text().splitlines())
        for name in ("requirements.in", "requirements.txt")
    )
    assert named
    assert named <= locked
    assert not locked & COMMAND_LINE


@pytest.mark.parametrize(("size", "code"), [(44_900_000, 0), (45_000_001, 1)])
def test_both_layers_are_compiled_and_the_core_has_a_limit(tmp_path: Path, size: int, code: int) -> None:
    """/opt is read-only on Lambda: what has no bytecode is compiled at each cold start."""
    modules = [
        tmp_path / "CoreLayer/python/penstock/module.py",
        tmp_path / "WebLayer/python/fastapi/module.py",
    ]
    for module in modules:
        module.parent.mkdir(parents=True)
        module.write_text("")
    with (tmp_path / "CoreLayer/python/large").open("wb") as sparse:
        sparse.truncate(size)
    command: list[str | Path] = [ROOT / "infra/local/compile_layer.sh", sys.executable, tmp_path]
    assert subprocess.run(command, capture_output=True, check=False).returncode == code
    assert all(list(module.parent.glob("__pycache__/module.*.pyc")) for module in modules)
