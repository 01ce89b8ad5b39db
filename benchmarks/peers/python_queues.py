"""Runs procrastinate and pgqueuer (PyPI) on a PostgreSQL with the same programs and settings as Penstock's database."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import psycopg

from benchmarks.measure.cpu import Meter
from benchmarks.postgres import EphemeralPostgres, checkpoint, shown_settings
from benchmarks.system import UnavailableError, bytes_below

from . import packages
from .library_peer import ROOT, LibraryPeer, python_driver

VERSIONS = {"procrastinate": "3.10.0", "pgqueuer": "1.6.0"}
MAX_MESSAGES = {"procrastinate": 20_000, "pgqueuer": 50_000}
PACKAGES = {
    "procrastinate": ["procrastinate==3.10.0", "psycopg[binary,pool]>=3.2"],
    "pgqueuer": ["pgqueuer[asyncpg]==1.6.0", "asyncpg"],
}
# This Python code prints the SQL of each library's schema.
SCHEMAS = {
    "procrastinate": "from procrastinate.schema import SchemaManager as S; print(S.get_schema())",
    "pgqueuer": (
        "from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment as Q; print(Q().build_install_query())"
    ),
}


class PythonQueue(LibraryPeer):
    """Implements the peers `procrastinate` and `pgqueuer`. The library's CPU counts."""

    def __init__(self, name: str, binaries: Path, settings: Mapping[str, str]) -> None:
        self.name = name
        self.max_messages = MAX_MESSAGES[name]
        self._server = EphemeralPostgres(binaries, settings)

    def start(self) -> None:
        """Raises UnavailableError."""
        interpreter = packages.python(self.name, PACKAGES[self.name])
        self.command = python_driver(interpreter, f"{self.name}_driver")
        self._server.start()
        made = subprocess.run(
            [str(interpreter), "-c", SCHEMAS[self.name]], capture_output=True, text=True, check=False, cwd=ROOT
        )
        if made.returncode != 0:
            raise UnavailableError(f"its schema: {made.stderr[-500:]}")
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            connection.execute(made.stdout.encode())
        self.meter = Meter({"postgresql": [self._server.pid]})

    def stop(self) -> None:
        self._server.stop()

    def settle(self) -> None:
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            connection.execute("vacuum analyze")
        checkpoint(self._server.dsn)

    def details(self) -> dict[str, object]:
        return {"dsn": self._server.dsn}

    def facts(self) -> dict[str, object]:
        return {"version": VERSIONS[self.name], "postgresql": shown_settings(self._server.dsn)}

    def pss_bytes(self) -> dict[str, int | None]:
        return self.meter.pss_bytes()

    def disk_bytes(self) -> int | None:
        return bytes_below(self._server.data)
