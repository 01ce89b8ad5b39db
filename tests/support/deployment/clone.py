"""A clone of this repository, with the changes that are not committed yet."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.functions.server import ROOT


def clone_to(folder: Path) -> None:
    """Clones this checkout, and copies what differs from its last commit."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    difference = subprocess.run(
        ["git", "diff", "--binary", "HEAD"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    if difference:
        subprocess.run(["git", "apply"], cwd=folder, input=difference, check=True)
    others = ["git", "ls-files", "--others", "--exclude-standard"]
    for name in subprocess.run(
        others, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
