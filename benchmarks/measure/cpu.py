"""Reads the server side's CPU time and memory from /proc (Linux, see proc(5)).

The CPU time is the user and system time of a group's live processes, and of exited children that these processes have
waited for. Therefore, the postmaster's time includes exited backends. The kernel counts each process's time in ticks of
1/100 s, so a measurement should last some seconds.

Memory is PSS: if n processes share a page, each process counts 1/n of it, so shared_buffers count once.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Names fields of /proc/<pid>/stat after the command, counted from 0: state, ppid, …, utime, stime, cutime, cstime.
PARENT, TIMES = 1, slice(11, 15)
IDLE, IOWAIT = 3, 4


@dataclass(frozen=True, slots=True)
class Process:
    """Represents a line of /proc/<pid>/stat."""

    pid: int
    parent: int
    command: str
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Reading:
    """Holds the counters at one moment.

    `host_seconds` is the time of all cores, and `host_busy_seconds` is the time in which the cores were not idle.
    """

    cpu_seconds: dict[str, float]
    host_seconds: float
    host_busy_seconds: float


class Meter:
    """Reads groups of process trees, which are given by their root processes: `Meter({"service": [12], "postgresql":
    [34]})`.

    A process belongs to its nearest root, so that a database process below the service counts only once.
    """

    def __init__(self, roots: Mapping[str, Iterable[int]]) -> None:
        self._group_of_root = {pid: group for group, pids in roots.items() for pid in pids}
        self.groups = tuple(roots)

    def members(self) -> dict[str, list[Process]]:
        """Returns the live processes of each group.

        Raises ProcessLookupError if a root has exited, because the root's time would then be missing.
        """
        table = processes()
        members: dict[str, list[Process]] = {group: [] for group in self.groups}
        missing = self._group_of_root.keys() - table.keys()
        if missing:
            raise ProcessLookupError(f"measured processes ended: {sorted(missing)}")
        for process in table.values():
            group = self._group_of(process, table)
            if group is not None:
                members[group].append(process)
        return members

    def read(self) -> Reading:
        used = {group: sum(p.cpu_seconds for p in found) for group, found in self.members().items()}
        total, busy = host_times()
        return Reading(used, total, busy)

    def pss_bytes(self) -> dict[str, int | None]:
        """Returns the memory of each group, or None if /proc does not permit reading it."""
        return {group: sum_or_none(pss_of(p.pid) for p in found) for group, found in self.members().items()}

    def _group_of(self, process: Process, table: dict[int, Process]) -> str | None:
        current: Process | None = process
        while current is not None:
            if current.pid in self._group_of_root:
                return self._group_of_root[current.pid]
            current = table.get(current.parent)
        return None


def processes() -> dict[int, Process]:
    """Returns all processes by id, without processes that exit during the read."""
    found = (read_process(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdecimal())
    return {process.pid: process for process in found if process is not None}


def read_process(pid: int) -> Process | None:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command is in parentheses and can contain spaces and parentheses.
    command, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return Process(pid, int(fields[PARENT]), command, sum(map(int, fields[TIMES])) / TICKS_PER_SECOND)


def parent_of(pid: int) -> int:
    """Raises ProcessLookupError if the process does not exist."""
    process = read_process(pid)
    if process is None:
        raise ProcessLookupError(pid)
    return process.parent


def processes_below(root: int, command: str) -> list[int]:
    """Returns the ids of the processes named `command` below `root`."""
    meter = Meter({"root": [root]})
    return [process.pid for process in meter.members()["root"] if process.command == command]


def pss_of(pid: int) -> int | None:
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # The process has just exited.
    except OSError:
        return None
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def sum_or_none(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def host_times() -> tuple[float, float]:
    """Returns two sums over all cores since boot, in seconds: all time, and the time in which the cores were not idle.

    Time that a hypervisor takes away (steal) counts as not idle.
    """
    fields = [int(field) for field in (PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    total = sum(fields)
    return total / TICKS_PER_SECOND, (total - fields[IDLE] - fields[IOWAIT]) / TICKS_PER_SECOND


def on_cpu_seconds(pid: int) -> float:
    """Returns the processor time of a process's threads, with a precision of a nanosecond
    (/proc/<pid>/task/<tid>/schedstat)."""
    texts = [path.read_text() for path in (PROC / str(pid) / "task").glob("*/schedstat")]
    return sum(int(text.split()[0]) for text in texts) / 1e9


PEAK_SECONDS = 0.2


@contextmanager
def peak_of(meter: Meter, group: str) -> Iterator[list[int]]:
    """Yields a list with the peak PSS in bytes. Samples the PSS five times a second.

    The list is empty if /proc is not readable.
    """
    pids = [process.pid for process in meter.members()[group]]
    peak: list[int] = []
    ended = Event()

    def sample() -> None:
        while not ended.wait(PEAK_SECONDS):
            found = sum_or_none(map(pss_of, pids))
            if found is not None:
                peak[:] = [max([found, *peak])]

    thread = Thread(target=sample)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()
