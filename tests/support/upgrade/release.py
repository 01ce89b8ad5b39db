"""The previous release, taken from the history of this repository."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# Release 0.0.3. Moves on with each release, together with calls.json and sql/former.
PREVIOUS = "1d7c22fad1f158cbfb2291b0adba30783ee49af0"
# Release 0.0.2, the first one with the baseline.
SECOND = "c8b90da196acd19796960592194c47e384dd09af"
# Release 0.0.1, whose databases get the record of the baseline.
FIRST = "f69b3c5c0b37de5db131a697dca1e207a29c803c"


def unpack(folder: Path, commit: str = PREVIOUS) -> Path:
    """Its files, in `folder`. Fails where the history does not reach back to it: a proof that was not made is none."""
    archive = subprocess.run(
        ["git", "archive", "--format=zip", commit, "layers", "sql", "infra/pgbouncer"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if archive.returncode != 0:
        reason = archive.stderr.decode().strip()
        pytest.fail(f"the release {commit[:7]} is not in the history: git fetch --unshallow ({reason})")
    with zipfile.ZipFile(io.BytesIO(archive.stdout)) as files:
        files.extractall(folder)
    return folder


def environment_of(folder: Path) -> dict[str, str]:
    """In which Python finds the code of an unpacked release before that of this one."""
    layers = folder / "layers"
    return {**os.environ, "PYTHONPATH": f"{layers / 'core'}:{layers / 'web'}"}


def some_migrations(release: Path, folder: Path, number: int) -> Path:
    """The first ones of release 0.0.1, in a folder like sql/."""
    (folder / "migrations").mkdir(parents=True, exist_ok=True)
    for path in sorted((release / "sql/migrations").glob("*.sql"))[:number]:
        shutil.copy(path, folder / "migrations")
    return folder
