"""promtool: the installed one, or that of Debian's package `prometheus`, unpacked without root."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from penstock_web.local.debian import unpack_package
from penstock_web.local.state import cache_directory


@cache
def promtool() -> str:
    """The program. Raises LocalError if it is not installed and cannot be fetched: nothing is skipped."""
    if installed := shutil.which("promtool"):
        return installed
    return str(unpack_package("prometheus", cache_directory() / "prometheus") / "usr/bin/promtool")


def check(*arguments: str | Path, text: str = "") -> str:
    """What it writes; it must be content, and have nothing to remark."""
    command = [promtool(), *map(str, arguments)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
