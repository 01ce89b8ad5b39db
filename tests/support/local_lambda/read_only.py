"""Lets functions write only to /tmp, as on Lambda, where /var/task and /opt are read-only.

A function's process gets a separate mount namespace, in which every file system is read-only and /tmp is a new, empty
one of 512 MB. The isolation needs Linux 5.12, and root or a machine where users may create namespaces. On other
machines functions can write everywhere, but they write no bytecode, and a warning is logged.

Source: Lambda Developer Guide, "Understanding the Lambda execution environment lifecycle",
https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
"""

import logging
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

_SCRIPT: Final = Path(__file__).with_name("mount_read_only.py")

_log = logging.getLogger(__name__)


@cache
def is_possible(python: Path) -> bool:
    """Returns whether this user can start such processes on this machine."""
    command = [*_command(python, []), "/bin/sh", "-c", ":"]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().rpartition("\n")[2]
        _log.warning("functions can write everywhere here, not to /tmp alone: %s", reason)
    return done.returncode == 0


def command_prefix(python: Path, keep: Sequence[Path]) -> list[str | Path]:
    """Returns the prefix of a command for such a process. `keep` lists the folders below /tmp that the
    process needs.
    """
    return _command(python, keep) if is_possible(python) else []


def _command(python: Path, keep: Sequence[Path]) -> list[str | Path]:
    return [python, "-I", "-S", _SCRIPT, ":".join(map(str, keep))]
