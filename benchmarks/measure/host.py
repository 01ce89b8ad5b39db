"""Describes the machine and its load. On a busy machine, a study warns, waits or refuses to run."""

import os
import platform
import shlex
import sys
import sysconfig
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .cpu import host_times

BUSY_SHARE = 0.10  # The report marks figures if other programs use more than this share of all cores.
SAMPLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Holds the load before a study: the used share of all cores in one second, and the load average of one minute."""

    busy_share: float
    load_average_1m: float

    @property
    def busy(self) -> bool:
        return self.busy_share > BUSY_SHARE


def host_load() -> HostLoad:
    """Measures the load for SAMPLE_SECONDS."""
    total, busy = host_times()
    time.sleep(SAMPLE_SECONDS)
    total_after, busy_after = host_times()
    share = (busy_after - busy) / max(total_after - total, 1e-9)
    return HostLoad(round(share, 3), os.getloadavg()[0])


def machine() -> dict[str, object]:
    """Returns the properties of the machine that influence the figures, without its host name and addresses.

    The service and the libraries run on the same interpreter as the benchmark.
    """
    return {
        "cpu": field_of("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory": field_of("/proc/meminfo", "MemTotal"),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "python_optimised": is_optimised(),
    }


def is_optimised() -> bool:
    """Returns whether the interpreter was built with profile-guided optimisation.

    The option is `--enable-optimizations` (https://docs.python.org/3/using/configure.html). Debian and Ubuntu run `make
    profile-opt` without the option (Debian's changelog, python3.8 3.8.0~b2-4). Debian's patch adds the installation
    scheme `deb_system`, which identifies the interpreters of Debian and Ubuntu.
    """
    options = shlex.split(sysconfig.get_config_var("CONFIG_ARGS") or "")
    return "--enable-optimizations" in options or "deb_system" in sysconfig.get_scheme_names()


def interpreter_text(machine: Mapping[str, object]) -> str:
    """Returns the interpreter's implementation, version and build. Old results contain only a version."""
    name = f"{machine.get('python_implementation', 'Python')} {machine.get('python', 'of unknown version')}"
    if "python_optimised" not in machine:
        return f"{name}, of unknown build"
    return f"{name}, {'optimised' if machine['python_optimised'] else 'plain'}"


def field_of(path: str, name: str) -> str:
    lines = Path(path).read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "unknown")


MAX_WAIT_SECONDS = 600
PAUSE_SECONDS = 10


class BusyHostError(Exception):
    """Says that other programs use the machine, and that `--busy refuse` forbids the measurement."""


def check_host_load(when_busy: str) -> HostLoad:
    """Returns the load before a study. On a busy machine, `when_busy` decides what happens: "mark" warns, "wait" waits
    at most 10 minutes, and "refuse" raises BusyHostError.
    """
    load = host_load()
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while load.busy and when_busy == "wait" and time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)
        load = host_load()
    if load.busy and when_busy == "refuse":
        raise BusyHostError(f"the host is busy: {load.busy_share:.0%} of all cores are in use by other programs")
    if load.busy:
        print(
            f"WARNING: the host is busy ({load.busy_share:.0%} of all cores): the report marks the figures",
            file=sys.stderr,
        )
    return load
