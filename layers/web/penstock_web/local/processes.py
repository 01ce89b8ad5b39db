"""What the operating system knows of processes."""

import subprocess
from contextlib import suppress
from pathlib import Path


def command_line(pid: int) -> str:
    """The command of a process, empty if it does not run. Slim container images have no ps, macOS has no /proc."""
    if Path("/proc/self/cmdline").exists():
        with suppress(OSError):  # it has ended
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        return ""
    command = ["ps", "-ww", "-o", "args=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
