"""Runs Penstock on a PostgreSQL without tuning, to measure what the missing setup costs.

The server has the newest version and the default settings of `initdb`. The service connects directly to the server as
the owner of the database, whose role has no settings.
"""

import os
from pathlib import Path
from urllib.parse import urlencode

import psycopg

from benchmarks.load.fleet import Fleet
from benchmarks.penstock import Penstock
from benchmarks.postgres import EphemeralPostgres
from benchmarks.system import UnavailableError
from penstock_web.local.binaries import find_accessible_binaries, find_binaries
from penstock_web.local.system_account import SystemAccount
from penstock_web.local_error import LocalError

OWNER = "application"
# EphemeralPostgres applies these settings for other peers.
DEFAULTS = {"max_connections": "100"}


class PlainPostgres(Penstock):
    """Implements the peer `penstock-plain`, which has no PgBouncer."""

    name = "penstock-plain"

    def __init__(self, fleet: Fleet, programs: Path | None = None) -> None:
        super().__init__(fleet, programs=programs)
        self._server: EphemeralPostgres | None = None

    def start(self) -> None:
        """Starts the server and the service. Raises UnavailableError."""
        try:
            binaries = find_accessible_binaries(find_binaries("wheel"), SystemAccount.choose())
        except LocalError as error:
            raise UnavailableError(str(error)) from error
        self._server = EphemeralPostgres(binaries.directory, DEFAULTS)
        self._server.start()
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            connection.execute(f"create role {OWNER} login".encode())
            connection.execute(f"create database {OWNER} owner {OWNER}".encode())
        super().start()

    def environment(self) -> dict[str, str]:
        """Returns environment variables with the address of the server's socket.

        If the service gets an address, it starts neither a database nor a pooler.
        """
        assert self._server is not None
        where = urlencode({"host": self._server.folder, "port": 5432})
        return {**os.environ, "DATABASE_URL": f"postgresql://{OWNER}@/{OWNER}?{where}", "DATABASE_DIRECT_URL": ""}

    def stop(self) -> None:
        super().stop()
        if self._server is not None:
            self._server.stop()
