"""Runs the test server until the last test process ends. The test server consists of a new PostgreSQL and a service."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from penstock.observing.telemetry import configure_logging
from penstock.settings import Settings
from penstock_web.local.migrating import migrate_or_explain
from penstock_web.local.postgres import ROLE, Postgres, free_port, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from penstock_web.server import serve

from .users import ServerUsers

HOST: Final = "127.0.0.1"
# The settings make the database fast but not durable, because test data does not need to survive a crash.
DATABASE_SETTINGS: Final = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "500",
    "max_wal_size": "256MB",
}
# The server ignores settings in the environment, because test runs with different environments share the server.
SETTINGS: Final = {"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8,::1/128", "LOG_LEVEL": "warning"}
# The script ends the database and removes its folder when the test server ends, even after SIGKILL.
_CLEANER: Final = """
cat >/dev/null
if read -r pid <"$0/postgres/data/postmaster.pid"; then kill -QUIT "$pid"; fi
rm -rf "$0"
"""


def run(folder: Path, socket_number: int) -> None:
    """Runs the server until the last user closes its connection to the socket in `folder`, or until SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    users = ServerUsers(folder, socket.socket(fileno=socket_number))
    with running_database() as database:
        settings = test_settings(database.socket_dsn())
        configure_logging(settings.log_level)
        migrate_or_explain(database.service_dsn(), ROLE)
        port = free_port()
        databases = {"superuser": database.superuser_dsn(), "service": database.socket_dsn()}
        serve(settings, HOST, port, lambda: users.serve(f"http://{HOST}:{port}", databases))


def test_settings(dsn: str) -> Settings:
    """Returns the settings of a test service with the database at `dsn`."""
    return Settings.read({**SETTINGS, "DATABASE_URL": dsn, "DATABASE_DIRECT_URL": dsn})


@contextmanager
def running_database() -> Iterator[Postgres]:
    """Starts a new PostgreSQL server. Stops the server and removes its files at the end of the block."""
    with ephemeral_state() as state:
        cleaner = subprocess.Popen(
            ["/bin/sh", "-c", _CLEANER, state],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with running_postgres(state, SystemAccount.choose(), settings=DATABASE_SETTINGS) as database:
                yield database
        finally:
            cleaner.communicate()
