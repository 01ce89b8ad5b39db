"""The Lambda layers: what the command line alone needs is not in them."""

from __future__ import annotations

import re
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
