"""The previous release, taken from the history of this repository."""

from __future__ import annotations

import io
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What was delivered last. Moves on with each release, together with calls.json and sql/former.
PREVIOUS = "4b2c2667b4ca32ce3fcfbe5201faa963544a8630"


def unpack(folder: Path) -> Path:
    """Its files, in `folder`. Fails where the history does not reach back to it: a proof that was not made is none."""
    archive = subprocess.run(
        ["git", "archive", "--format=zip", PREVIOUS, "layers", "sql", "infra/pgbouncer"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if archive.returncode != 0:
        reason = archive.stderr.decode().strip()
        pytest.fail(
            f"the previous release {PREVIOUS[:7]} is not in the history: git fetch --unshallow ({reason})"
        )
    with zipfile.ZipFile(io.BytesIO(archive.stdout)) as files:
        files.extractall(folder)
    return folder


def environment_of(folder: Path) -> dict[str, str]:
    """In which Python finds the code of an unpacked release before that of this one."""
    layers = folder / "layers"
    return {**os.environ, "PYTHONPATH": f"{layers / 'core'}:{layers / 'web'}"}
