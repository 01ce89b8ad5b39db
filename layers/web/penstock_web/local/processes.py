"""What the operating system knows of processes."""

import subprocess
from pathlib import Path


def command_line(pid: int) -> str:
    """The command of a process, empty when there is none. Slim container images have no ps, macOS has no /proc."""
    if Path("/proc/self/cmdline").exists():
        path = Path(f"/proc/{pid}/cmdline")
        return path.read_bytes().decode(errors="replace") if path.exists() else ""
    command = ["ps", "-ww", "-o", "args=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
