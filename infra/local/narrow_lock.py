"""Removes the hashes of other platforms from a lock file of test clients.

The kept hashes are for the supported versions of Python on Linux with glibc (x86-64 and ARM) and on macOS (ARM).

Usage: narrow_lock.py UV LOCK [OPTION OF UV ...]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin")


def list_hashes(uv: str, lock: Path, options: list[str]) -> Iterator[str]:
    """Yields the hashes of the wheels for each Python and platform, or of the source archives if wheels are missing."""
    with tempfile.TemporaryDirectory() as folder:
        chosen = Path(folder) / "pylock.toml"
        for python in PYTHONS:
            for platform in PLATFORMS:
                command = [uv, "pip", "compile", "--quiet", "--no-deps", "--python-version", python]
                command += ["--python-platform", platform, "--output-file", str(chosen), *options, str(lock)]
                subprocess.run(command, check=True)
                for package in tomllib.loads(chosen.read_text())["packages"]:
                    for file in package.get("wheels") or [package["sdist"]]:
                        yield file["hashes"]["sha256"]
                chosen.unlink()


def narrow(text: str, kept: set[str]) -> str:
    """Returns the lock with only the hashes in `kept`. A package without a hash in `kept` keeps all its hashes."""
    requirements = []
    for requirement in re.split(r"\n(?! )", text.strip()):
        first, *hashes = requirement.split(" \\\n")
        left = [line for line in hashes if line.rpartition(":")[2] in kept]
        requirements.append(" \\\n".join([first, *(left or hashes)]))
    return "\n".join(requirements) + "\n"


if __name__ == "__main__":
    path = Path(sys.argv[2])
    path.write_text(narrow(path.read_text(), set(list_hashes(sys.argv[1], path, sys.argv[3:]))))
