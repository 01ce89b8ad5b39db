"""Finds and runs pgbench in one process. Each transaction runs one script with prepared statements."""

import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from penstock_web.local.binaries import find_binaries
from penstock_web.local_error import LocalError

from .load.wire import body_of
from .measure.cpu import Meter
from .postgres import administrator_dsn, binaries_of, checkpoint, postmaster_of
from .system import UnavailableError

INSTALLED = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class PgbenchRun:
    """Holds the results of a pgbench run. Latencies are the durations of whole transactions."""

    transactions: int
    elapsed_seconds: float
    latencies_seconds: list[float]
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Pgbench:
    program: str
    dsn: str

    def command(self, script: Path, clients: int) -> list[str]:
        """Returns the command without its last arguments: `-t` or `-T`, and the DSN."""
        return [self.program, "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-f", str(script)]

    def run(self, text: str, clients: int, transactions: int) -> PgbenchRun:
        """Runs the script `transactions` times for each client. Raises RuntimeError if a transaction failed."""
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
        """Returns the CPU time for opening the connections.

        Unlike a service, pgbench opens connections within the measured time.
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
    """Returns the path of pgbench, which can be beside the server, in any installed version, on the path, or in the
    PostgreSQL wheel.

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


# --- bare insert -----------------------------------------------------------------------------------------------------
# Measures a unit that is comparable between machines: PostgreSQL's CPU for inserting one row with pgbench. The INSERTs
# go to a table in a separate database on Penstock's server. pgbench has 16 clients and prepared statements. Each
# transaction inserts one row of 100 bytes with a generated key. As for all systems on PostgreSQL, the figure is the
# server's CPU, without the CPU of opening connections.

CLIENTS = 16
INSERTS = 20_000  # One figure needs about a second of CPU time, because the kernel counts in 1/100 s.
FIGURES = 3  # A vacuum can make one of the figures too large, but the median ignores that figure.
TABLE = "create table bare_insert (id bigint generated always as identity primary key, body text not null)"
INSERT = f"insert into bare_insert (body) values ('{body_of(100)}');\n"
FAILURES = (UnavailableError, RuntimeError, OSError, psycopg.Error)


def measure_bare_insert(dsn: str, inserts: int = INSERTS) -> list[float]:
    """Measures the CPU seconds that PostgreSQL needs for 1,000 INSERTs, and repeats the measurement FIGURES times.

    Raises one of FAILURES if pgbench is missing, the server is unknown or on another machine, no role can create a
    database, or the CPU is too low for a measurement.
    """
    if not dsn:
        raise UnavailableError("the database is unknown (--database)")
    postmaster = postmaster_of(dsn)
    program, meter = find_pgbench(binaries_of(postmaster)), Meter({"postgresql": [postmaster]})
    with own_database(administrator_dsn(dsn)) as own:
        pgbench, transactions = Pgbench(program, own), -(-inserts // CLIENTS)
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute(TABLE)
        pgbench.run(INSERT, CLIENTS, max(1, transactions // 10))
        checkpoint(own)
        figures = [one_figure(pgbench, meter, transactions) for _ in range(FIGURES)]
    if min(figures) <= 0:
        raise UnavailableError(f"{inserts} INSERTs are too few to be measured")
    return figures


def one_figure(pgbench: Pgbench, meter: Meter, transactions: int) -> float:
    opening = pgbench.opening_cpu(CLIENTS, meter)
    before = meter.read().cpu_seconds["postgresql"]
    run = pgbench.run(INSERT, CLIENTS, transactions)
    used = meter.read().cpu_seconds["postgresql"] - before - opening
    return used / run.transactions * 1000


@contextmanager
def own_database(administrator: str) -> Iterator[str]:
    """Yields the DSN of a new database, and drops the database at the end."""
    name = f"bare_insert_{uuid4().hex[:12]}"
    create, drop = sql.SQL("create database {}"), sql.SQL("drop database {} with (force)")
    with psycopg.connect(administrator, autocommit=True) as connection:
        connection.execute(create.format(sql.Identifier(name)))
        try:
            yield make_conninfo(administrator, dbname=name)
        finally:
            connection.execute(drop.format(sql.Identifier(name)))
