"""Runs PgBouncer in transaction mode between the service and the PostgreSQL of `penstock up`. Uses an installed
PgBouncer. On Debian and Ubuntu, this module can also unpack the package into a cache folder without root. The
configuration is infra/pgbouncer/pgbouncer.ini.tmpl, which deployments also use. PgBouncer reads the passwords of roles
other than the service's role from the database, with the function in auth_query.sql.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

import psycopg
from psycopg import sql

from penstock_web.local_error import LocalError

from .debian import find_library_path, unpack_package
from .guardian import build_command_line
from .postgres import DATABASE, ROLE, Postgres, free_port
from .state import cache_directory
from .system_account import SystemAccount

_START_SECONDS: Final = 60
_STOP_SECONDS: Final = 5
LOOKUP_ROLE: Final = "penstock_pooler"


@dataclass(frozen=True, slots=True)
class Program:
    """The path of PgBouncer's program, and the path of the libraries of an unpacked program."""

    path: Path
    libraries: str = ""


@dataclass(frozen=True, slots=True)
class PgBouncer:
    """A running pooler."""

    port: int
    password: str
    process: subprocess.Popen[bytes]

    def dsn(self, database: str = DATABASE) -> str:
        """Returns an address for clients that do not prepare statements, such as psycopg with
        prepare_threshold=None."""
        return f"postgresql://{ROLE}:{self.password}@127.0.0.1:{self.port}/{database}"


def find_pgbouncer(account: SystemAccount) -> Program:
    """Returns the installed program. If PgBouncer is not installed, unpacks its package. Raises LocalError."""
    for place in (shutil.which("pgbouncer"), "/usr/sbin/pgbouncer"):
        if place and Path(place).exists():
            return Program(Path(place))
    root = unpack_package("pgbouncer", account_cache(account) / "pgbouncer")
    return Program(root / "usr/sbin/pgbouncer", find_library_path(root))


def account_cache(account: SystemAccount) -> Path:
    """Returns the cache folder. Raises LocalError if PgBouncer's user cannot enter the folder."""
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    if not account.can_enter(cache):
        raise LocalError(f"PgBouncer does not run as root, and its user cannot enter {cache}")
    return cache


@contextmanager
def running_pgbouncer(
    state: Path,
    server: Postgres,
    database: str = DATABASE,
    pool_size: int = 20,
    port: int = 0,
    query_wait_seconds: int = 3,
) -> Iterator[PgBouncer]:
    """Runs a pooler in `state`/pgbouncer until the end of the block. `database` is "*" for all databases. If `port` is
    0, PgBouncer uses a free port. PgBouncer closes the connection of a client that waits longer than
    `query_wait_seconds` for a server connection. If `database` is "*", the pooler does not get the SQL function that
    looks up passwords. In a database without the SQL function, only the service's role can log in through the pooler.
    """
    program = find_pgbouncer(server.account)
    home = server.account.create_private_folder(state / "pgbouncer")
    _stop_leftover(home)
    port = port or free_port()
    if database != "*":
        install_lookup(server, database)
    limits = {"pool_size": pool_size, "query_wait_seconds": query_wait_seconds}
    _configure(home, server, database, port, limits)
    process = _launch(program, server.account, home)
    try:
        _wait_until_open(process, port, home)
        yield PgBouncer(port, server.password, process)
    finally:
        _stop(process)


def install_lookup(server: Postgres, database: str) -> None:
    """Creates the role and the function with which PgBouncer looks up the passwords of other roles."""
    with psycopg.connect(server.superuser_dsn(database), autocommit=True) as connection:
        connection.execute(_configuration_file("auth_query.sql").read_bytes())
        alter = sql.SQL("alter role {} password {}")
        password = _read_lookup_password(server)
        connection.execute(alter.format(sql.Identifier(LOOKUP_ROLE), sql.Literal(password)))


def _read_lookup_password(server: Postgres) -> str:
    """Returns the password of the role that looks up passwords. Creates the password at the first call for a server."""
    path = server.data.with_name("password.pooler")
    if not path.exists():
        server.account.write(path, secrets.token_urlsafe(18))
    return path.read_text()


def _configuration_file(name: str) -> Path:
    """Returns a file's path. An installed package has the file next to this module, and a clone of the repository has
    the file in infra/pgbouncer.
    """
    installed = Path(__file__).with_name(name)
    return installed if installed.exists() else Path(__file__).parents[4] / "infra/pgbouncer" / name


def _configure(home: Path, server: Postgres, database: str, port: int, limits: dict[str, int]) -> None:
    account = server.account
    known = {ROLE: server.password, LOOKUP_ROLE: _read_lookup_password(server)}
    users = account.write(home / "users.txt", "".join(f'"{name}" "{word}"\n' for name, word in known.items()))
    host = str(server.socket_directory).replace("'", "''")
    address = f"host='{host}' port={server.port} auth_user={LOOKUP_ROLE}"
    # safe_substitute keeps `$1`, a parameter of a query in the template.
    text = Template(_configuration_file("pgbouncer.ini.tmpl").read_text()).safe_substitute(
        databases=f"{database} = {address}",
        listen_host="127.0.0.1",
        listen_port=port,
        auth_type="scram-sha-256",
        auth_file=users,
        max_client_connections=1000,
        **limits,
        log_file=home / "log",
        pid_file=home / "pid",
    )
    account.write(home / "pgbouncer.ini", text)


def _launch(program: Program, account: SystemAccount, home: Path) -> subprocess.Popen[bytes]:
    more = {"LD_LIBRARY_PATH": program.libraries} if program.libraries else {}
    return account.start([program.path, "-q", home / "pgbouncer.ini"], output=subprocess.DEVNULL, environment=more)


def _wait_until_open(process: subprocess.Popen[bytes], port: int, home: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            # PgBouncer listens before it writes its pid file.
            if probe.connect_ex(("127.0.0.1", port)) == 0 and (home / "pid").exists():
                return
        time.sleep(0.01)
    raise LocalError(f"PgBouncer did not start. See {home / 'log'}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _stop_leftover(home: Path) -> None:
    """Ends the pooler of a service that was killed, because the pooler's configuration can contain an outdated server
    address.
    """
    pid_file = home / "pid"
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text())
    if str(home / "pgbouncer.ini") in build_command_line(pid):
        os.kill(pid, signal.SIGKILL)
    pid_file.unlink(missing_ok=True)
