"""Applies CloudFormation's transforms to templates."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.functions.server import ROOT

Resources = dict[str, dict[str, Any]]


@cache
def transformed(text: str, *parameters: str) -> dict[str, Any]:
    """Returns a template after SAM's transform, with parameters NAME=VALUE."""
    return _run("transform", text, *parameters)


@cache
def expanded(text: str) -> dict[str, Any]:
    """Returns a template after the expansion of the loops in CloudFormation's language extensions."""
    return _run("expand", text)


def _run(program: str, text: str, *arguments: str) -> dict[str, Any]:
    command: list[str | Path] = [
        ROOT / ".tools/python/bin/python",
        ROOT / f"tests/support/stack/{program}.py",
        *arguments,
    ]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def of_type(template: dict[str, Any], *kinds: str) -> Resources:
    return {name: r for name, r in template["Resources"].items() if r["Type"] in kinds}
