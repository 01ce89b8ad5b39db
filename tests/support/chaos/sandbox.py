"""Provides a private network, disk and clock to root, so that faults can drop packets, fill the disk and turn the
clock.

`enter_sandbox` restarts the program in new kernel namespaces, whose network has only the loopback interface. The faults
do not affect the rest of the machine. nft and libfaketime come from Debian or Ubuntu packages.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from penstock_web.local.debian import find_library_path, unpack_package
from penstock_web.local.state import cache_directory
from penstock_web.local.system_account import SystemAccount
from penstock_web.local_error import LocalError

_MARK: Final = "CHAOS_SANDBOX"
_TOOLS: Final = ("unshare", "ip", "mount")
_DISK_SIZE: Final = "3g"
# Each process rereads the file only at intervals, because reading allocates memory. PostgreSQL also reads the clock in
# its signal handlers, which may interrupt malloc (a crash occurred). libfaketime compares whole seconds: with a
# duration of 1, a process may use a value that is up to two seconds old.
_CACHE_DURATION: Final = 1
_CLOCK_SECONDS: Final = _CACHE_DURATION + 1
# Waits must use the kernel's monotonic clock.
_FAKETIME: Final = {
    "FAKETIME_CACHE_DURATION": str(_CACHE_DURATION),
    "DONT_FAKE_MONOTONIC": "1",
    "FAKETIME_DISABLE_SHM": "1",
}
_TABLE: Final = "inet penstock_chaos"


@dataclass(frozen=True)
class _ClockedAccount(SystemAccount):
    """Starts servers that read the time from the sandbox's file."""

    library: Path
    clock: Path

    def start(
        self, command: Sequence[str | Path], *, output: IO[bytes] | int, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        faketime = {"LD_PRELOAD": str(self.library), "FAKETIME_TIMESTAMP_FILE": str(self.clock), **_FAKETIME}
        return super().start(command, output=output, environment={**faketime, **(environment or {})})


@dataclass(frozen=True)
class Sandbox:
    """`disk` is a folder on a small file system that only the sandbox uses."""

    disk: Path
    nft: Path
    faketime: Path

    def account(self) -> SystemAccount:
        """Returns the user for servers that use the sandbox's clock."""
        self.turn_clock(0)
        (library,) = self.faketime.glob("usr/lib/*/faketime/libfaketime.so.1")
        user = SystemAccount.choose()
        return _ClockedAccount(user.uid, user.gid, user.is_other_user, library, self._clock)

    @property
    def _clock(self) -> Path:
        return self.disk / "clock"

    def turn_clock(self, seconds: float) -> None:
        """Sets the offset of the servers' clock. Returns when all servers have read the offset."""
        new = self._clock.with_suffix(".new")
        new.write_text(f"{seconds:+.3f}\n")
        new.rename(self._clock)
        time.sleep(_CLOCK_SECONDS + 0.2)

    def drop(self, *packets: str) -> None:
        """Drops the packets that match one of the given nft expressions, and passes all other packets."""
        lines = [f"add table {_TABLE}", f"delete table {_TABLE}", f"add table {_TABLE}"]
        lines.append(f"add chain {_TABLE} input {{ type filter hook input priority 0; }}")
        lines += [f"add rule {_TABLE} input {which} drop" for which in packets]
        environment = {**os.environ, "LD_LIBRARY_PATH": find_library_path(self.nft)}
        command = [str(self.nft / "usr/sbin/nft"), "-f", "-"]
        subprocess.run(command, input="\n".join(lines), text=True, env=environment, check=True)


def enter_sandbox() -> Sandbox | None:
    """Restarts the program in a sandbox.

    Returns None if this user or machine does not support a sandbox. Prints the reason if root can change the machine so
    that it supports a sandbox.
    """
    if os.geteuid() != 0 or not all(map(shutil.which, _TOOLS)):
        return None
    try:
        packages = [unpack_package(name, cache_directory() / name) for name in ("nftables", "libfaketime")]
    except LocalError as error:
        sys.stderr.write(f"no faults that need root: {error}\n")
        return None
    if disk := os.environ.get(_MARK):
        _run("ip", "link", "set", "lo", "up")
        _run("mount", "-t", "tmpfs", "-o", f"size={_DISK_SIZE},mode=711", "penstock-chaos", disk)
        return Sandbox(Path(disk), *packages)
    if subprocess.run(["unshare", "--net", "--mount", "true"], check=False).returncode != 0:
        sys.stderr.write("no faults that need root: this root user may not create namespaces\n")
        return None
    command = [sys.executable, "-m", "tests.support.chaos", *sys.argv[1:]]
    with tempfile.TemporaryDirectory(prefix="penstock-chaos-") as mount_point:
        environment: dict[str, Any] = {**os.environ, _MARK: mount_point}
        sys.exit(subprocess.run(["unshare", "--net", "--mount", *command], env=environment, check=False).returncode)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
