"""`make audit`: what it says when there are weaknesses, when there are none, and when it could not ask."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ('echo "No known vulnerabilities found"', 0, "No known vulnerabilities found"),
        ('echo "Found 1 known vulnerability in 1 package"; echo "name id"; exit 1', 1, "name id"),
        ('echo "ERROR: x could not be audited"; exit 1', 2, "nothing was audited"),
        ('echo "ConnectionError"; exit 7', 2, "nothing was audited"),
    ],
)
def test_what_it_says(tmp_path: Path, program: str, code: int, said: str) -> None:
    audit = tmp_path / "pip-audit"
    audit.write_text(f"#!/bin/sh\n{program}\n")
    audit.chmod(0o755)
    command = [ROOT / "infra/local/audit.sh", audit]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, said in done.stderr) == (code, "", True)
