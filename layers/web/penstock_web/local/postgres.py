"""Starts, adopts and stops the PostgreSQL server of `penstock up`. The server has its own data folder, socket folder
and port on 127.0.0.1, and therefore does not affect an installed server. If a service is killed, the server continues,
and the next service adopts it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from penstock.postgres.roles import create_roles
from penstock.postgres.statement import Row
from penstock_web.local_error import LocalError

from .binaries import Binaries, Source, find_accessible_binaries, find_binaries
from .system_account import SystemAccount

ROLE: Final = "penstock"
DATABASE: Final = "penstock"
_PGPASS: Final = "pgpass"
_STOP_SECONDS: Final = 20
_START_SECONDS: Final = 60
# A server logs one of these messages if it cannot start because processes of a killed server still run.
_STILL_ENDING_MESSAGES: Final = ("pre-existing shared memory block", 'lock file "postmaster.pid" already exists')
# The path of a Unix socket can have 107 bytes, or 103 bytes on macOS. PostgreSQL appends "/.s.PGSQL.12345" to the
# folder.
_MAX_SOCKET_FOLDER_LENGTH: Final = 80

# The settings suit a small machine that also runs other programs. Data is durable, because fsync and synchronous_commit
# are on by default.
SERVER_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "wal_compression": "on",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "checkpoint_completion_target": "0.9",
    "random_page_cost": "1.1",
    # The server ends forgotten transactions, because they prevent vacuum.
    "idle_in_transaction_session_timeout": "10min",
    # Each autovacuum run makes two transactions, even in an idle database. PostgreSQL's default is one minute.
    "autovacuum_naptime": "30s",
    "jit": "off",
    "log_line_prefix": "%m [%p] ",
    # Logged statements have no parameters, because parameters contain message bodies.
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "timezone": "UTC",
}


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server. The role `penstock` owns the database and is not a superuser."""

    data: Path
    port: int
    socket_directory: Path
    password: str
    binaries: Binaries
    account: SystemAccount
    adopted: bool

    def service_dsn(self, database: str = DATABASE) -> str:
        """Returns the TCP address with the password, for the service and applications."""
        return _service_dsn(self.port, self.password, database)

    def display_dsn(self) -> str:
        """Returns the TCP address without the password, for users and logs. The address contains the path of libpq's
        password file instead.
        """
        where = urlencode({"passfile": self.data.parent / _PGPASS}, quote_via=quote)
        return f"postgresql://{ROLE}@127.0.0.1:{self.port}/{DATABASE}?{where}"

    def socket_dsn(self, database: str = DATABASE) -> str:
        """Returns the address of the Unix socket, for the service's connections. A Unix socket needs less CPU time than
        TCP.
        """
        # libpq does not decode + as a space.
        where = urlencode({"host": self.socket_directory, "port": self.port}, quote_via=quote)
        return f"postgresql://{ROLE}:{self.password}@/{database}?{where}"

    def superuser_dsn(self, database: str = "postgres") -> str:
        """Returns the address of the Unix socket for the superuser. Only the server's user and root can enter the
        socket's folder.
        """
        return make_conninfo(host=str(self.socket_directory), port=self.port, user="postgres", dbname=database)


def service_dsn(state: Path) -> str | None:
    """Returns the last address of the database in a state folder, or None if the folder's files are missing or
    unreadable.
    """
    try:
        home = state / "postgres"
        port, password = (home / "port").read_text(), (home / "password").read_text()
    except OSError:
        return None
    return _service_dsn(int(port), password, DATABASE)


def _service_dsn(port: int, password: str, database: str) -> str:
    return f"postgresql://{ROLE}:{password}@127.0.0.1:{port}/{database}"


@contextmanager
def running_postgres(
    state: Path, account: SystemAccount, source: Source = "any", settings: Mapping[str, str] | None = None
) -> Iterator[Postgres]:
    """Runs a server in `state`/postgres until the end of the block. `settings` override SERVER_SETTINGS. Raises
    LocalError."""
    home, binaries = _prepare(state, account, source)
    try:
        # The server starts within `try`, because a signal can interrupt the start.
        yield _run(home, binaries, account, settings or {})
    finally:
        command: list[str | Path] = [binaries.path("pg_ctl"), "stop", "-D", home / "data", "-m", "fast"]
        account.run([*command, "-w", "-t", str(_STOP_SECONDS)])


def start(
    state: Path, account: SystemAccount, source: Source = "any", settings: Mapping[str, str] | None = None
) -> Postgres:
    """Starts or adopts the server of a state folder. The caller does not need to stop the server."""
    home, binaries = _prepare(state, account, source)
    return _run(home, binaries, account, settings or {})


def _ignore_libpq_variables() -> None:
    """Removes libpq's variables, such as PGOPTIONS, from this process's environment, because they apply to other
    databases.
    """
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]


def _prepare(state: Path, account: SystemAccount, source: Source) -> tuple[Path, Binaries]:
    home = account.create_private_folder(state / "postgres")
    binaries = find_accessible_binaries(_find_binaries(home / "data", source), account)
    if not (home / "data/PG_VERSION").exists():
        _initialise(binaries, account, home)
    return home, binaries


def _run(home: Path, binaries: Binaries, account: SystemAccount, settings: Mapping[str, str]) -> Postgres:
    _ignore_libpq_variables()
    server = _adopt(binaries, account, home) or _launch(binaries, account, home, settings)
    _create_role_and_database(server)
    account.write(home / _PGPASS, f"127.0.0.1:*:*:{ROLE}:{server.password}\n")
    return server


def _find_binaries(data: Path, source: Source) -> Binaries:
    version = data / "PG_VERSION"
    if not version.exists():
        return find_binaries(source)
    major = int(version.read_text())
    try:
        return find_binaries(source, major)
    except LocalError as error:
        raise LocalError(
            f"PostgreSQL {major} wrote {data}, but this machine does not have PostgreSQL {major}. Install PostgreSQL "
            f"{major}, or start with another --data-dir and move the data with pg_dump and pg_restore"
        ) from error


def _initialise(binaries: Binaries, account: SystemAccount, home: Path) -> None:
    """Creates the database cluster in a temporary folder, and then renames the folder. An interruption therefore never
    leaves an incomplete cluster.
    """
    unfinished = home / "data.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    account.write(home / "password", secrets.token_urlsafe(18))
    command: list[str | Path] = [
        binaries.path("initdb"),
        "-D",
        unfinished,
        "-U",
        "postgres",
        "-E",
        "UTF8",
        "--no-locale",
    ]
    done = account.run([*command, "--auth-local=trust", "--auth-host=scram-sha-256"])
    if done.returncode != 0:
        raise LocalError(f"initdb failed: {' '.join(done.stdout.split())}")
    with (unfinished / "postgresql.conf").open("a") as file:
        file.write("\ninclude_if_exists = 'penstock.conf'\n")
    unfinished.rename(home / "data")


def _adopt(binaries: Binaries, account: SystemAccount, home: Path) -> Postgres | None:
    if account.run([binaries.path("pg_ctl"), "status", "-D", home / "data"]).returncode != 0:
        return None
    lines = (home / "data/postmaster.pid").read_text().split("\n")
    server = _server(binaries, account, home, int(lines[3]), Path(lines[4]), adopted=True)
    try:
        psycopg.connect(server.superuser_dsn(), connect_timeout=_START_SECONDS).close()
    except psycopg.OperationalError:
        return None
    return server


def _launch(binaries: Binaries, account: SystemAccount, home: Path, settings: Mapping[str, str]) -> Postgres:
    sockets = _create_socket_directory(account, home)
    log = _create_log(account, home)
    forget_other_process(home / "data/postmaster.pid")
    deadline = time.monotonic() + _START_SECONDS
    ports = _find_ports(home)
    port = next(ports)
    while time.monotonic() < deadline:
        _configure(account, home, {**SERVER_SETTINGS, **settings}, port, sockets)
        log_text = _try_to_start(binaries, account, home, log)
        if log_text is None:
            account.write(home / "port", str(port))
            return _server(binaries, account, home, port, sockets, adopted=False)
        if "could not bind" in log_text:
            port = next(ports)
        elif any(words in log_text for words in _STILL_ENDING_MESSAGES):
            time.sleep(0.1)
            # The server has started if it was only recovering from a crash.
            if server := _adopt(binaries, account, home):
                return server
        else:
            break
    raise LocalError(f"PostgreSQL did not start. See {log}")


def forget_other_process(pid_file: Path) -> None:
    """Removes the pid file of a killed server if another program now has the server's process id. PostgreSQL would not
    start while the pid file exists. A restarted container reuses process ids. The caller has locked the state folder,
    so no other `penstock up` runs a server in the folder. Works only on Linux.
    """
    with suppress(OSError, ValueError):
        pid = int(pid_file.read_text().split("\n", 1)[0])
        if Path(f"/proc/{pid}/comm").read_text().strip() != "postgres":
            pid_file.unlink()


def _try_to_start(binaries: Binaries, account: SystemAccount, home: Path, log: Path) -> str | None:
    """Tries to start the server. Returns None after success, and the new text in the log after a failure."""
    already = log.stat().st_size
    command: list[str | Path] = [binaries.path("pg_ctl"), "start", "-D", home / "data", "-l", log]
    if account.run([*command, "-w", "-s", "-t", str(_START_SECONDS)], log=log).returncode == 0:
        return None
    return log.read_bytes()[already:].decode(errors="replace")


def _create_log(account: SystemAccount, home: Path) -> Path:
    log = home / "log"
    if log.exists():
        log.replace(home / "log.previous")
    return account.write(log, "")


def _server(
    binaries: Binaries, account: SystemAccount, home: Path, port: int, sockets: Path, *, adopted: bool
) -> Postgres:
    password = (home / "password").read_text()
    return Postgres(home / "data", port, sockets, password, binaries, account, adopted)


def _create_socket_directory(account: SystemAccount, home: Path) -> Path:
    """Returns the folder for the Unix socket. If the state folder's path is too long for a socket, creates a temporary
    folder and a link to it.
    """
    if len(str(home)) <= _MAX_SOCKET_FOLDER_LENGTH:
        return account.create_private_folder(home / "socket")
    link = home / "socket"
    if not link.is_dir():
        link.unlink(missing_ok=True)
        link.symlink_to(tempfile.mkdtemp(prefix="penstock-"))
    return account.create_private_folder(link.resolve())


def _find_ports(home: Path) -> Iterator[int]:
    """Yields the port of the last start, so that the address stays the same, and then free ports."""
    remembered = home / "port"
    if remembered.exists():
        yield int(remembered.read_text())
    while True:
        yield free_port()


def free_port() -> int:
    """Returns a free TCP port of 127.0.0.1, below the range from which Linux takes the ports of outgoing connections.
    A connection of another program could otherwise take the port before the caller listens on it."""
    while True:
        port = 10_240 + secrets.randbelow(22_528)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _configure(account: SystemAccount, home: Path, settings: Mapping[str, str], port: int, sockets: Path) -> None:
    whole = {**settings, "port": str(port), "unix_socket_directories": str(sockets)}
    lines = ["{} = '{}'".format(name, value.replace("'", "''")) for name, value in whole.items()]
    head = "# Written at each start. ALTER SYSTEM wins over this file."
    account.write(home / "data/penstock.conf", "\n".join([head, *lines, ""]))


def _create_role_and_database(server: Postgres) -> None:
    """Creates missing roles and the missing database. Checks at every start, because an earlier start could have been
    interrupted.
    """
    with psycopg.connect(server.superuser_dsn(), autocommit=True) as connection:
        if not _exists(connection, "select from pg_roles where rolname = %s", ROLE):
            create = sql.SQL("create role {} login password {}")
            connection.execute(create.format(sql.Identifier(ROLE), sql.Literal(server.password)))
        if not _exists(connection, "select from pg_database where datname = %s", DATABASE):
            create = sql.SQL("create database {} owner {} template template0")
            connection.execute(create.format(sql.Identifier(DATABASE), sql.Identifier(ROLE)))
        create_roles(connection, ROLE)
        # With pg_monitor, the role sees the age of other roles' transactions, as the alerts need
        # (docs/operate/alerts.md).
        connection.execute(sql.SQL("grant pg_monitor to {}").format(sql.Identifier(ROLE)))


def _exists(connection: psycopg.Connection[Row], query: Any, name: str) -> bool:
    return connection.execute(query, (name,)).fetchone() is not None
