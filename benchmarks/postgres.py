"""Reads the process and the settings of a PostgreSQL, makes checkpoints, and starts an ephemeral PostgreSQL for a
peer."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from .measure.cpu import parent_of
from .system import UnavailableError, wait_until

# These settings are paths, identity and logging, which must differ between the servers. Peers copy all other configured
# settings.
NOT_COPIED = {
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "external_pid_file",
    "port",
    "listen_addresses",
    "cluster_name",
    "logging_collector",
    "dynamic_shared_memory_type",
    "default_text_search_config",
    "max_connections",
}
NOT_COPIED_PREFIXES = ("unix_socket", "ssl", "log_", "lc_", "datestyle", "timezone")
DURABILITY = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method")
SHOWN_SETTINGS = (
    *DURABILITY,
    "server_version",
    "shared_buffers",
    "max_connections",
    "max_wal_size",
    "wal_level",
    "autovacuum",
)


def postmaster_of(dsn: str) -> int:
    """Returns the process id of the server. Raises UnavailableError if the server is on another machine."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute("select pg_backend_pid(), inet_server_addr()").fetchone()
        assert row is not None
        try:
            return parent_of(int(row[0]))
        except ProcessLookupError:
            raise UnavailableError(f"the database at {row[1]} is on another machine: its CPU cannot be read") from None


def settings_of(dsn: str) -> dict[str, str]:
    """Returns the settings from the configuration file and from the command line.

    Values are in the units that `-c name=value` assumes for numbers without a unit.
    """
    query = "select name, setting from pg_settings where source in ('configuration file', 'command line')"
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute(query).fetchall()
    return {name: value for name, value in rows if is_copied(name)}


def is_copied(name: str) -> bool:
    return name not in NOT_COPIED and not name.lower().startswith(NOT_COPIED_PREFIXES)


def shown_settings(dsn: str) -> dict[str, str]:
    """Returns the settings of a session that influence the figures."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute(
            "select name, current_setting(name) from pg_settings where name = any(%s)", [list(SHOWN_SETTINGS)]
        )
        return dict(rows.fetchall())


def data_folder(dsn: str) -> Path:
    """Returns the data folder of the server, which contains the write-ahead log.

    That folder is the working folder of the server process, so the caller needs no special role.
    """
    return Path(f"/proc/{postmaster_of(dsn)}/cwd").resolve()


def administrator_dsn(dsn: str) -> str:
    """Returns the DSN of a role that can create databases.

    If the role in `dsn` cannot create databases, the function returns the DSN of the superuser `postgres` on the
    server's socket. The role of `penstock up` cannot create databases. Only root and the server's user can enter the
    socket's folder.
    """
    query = "select rolsuper or rolcreatedb from pg_roles where rolname = current_user"
    with psycopg.connect(dsn, autocommit=True) as connection:
        if connection.execute(query).fetchone() == (True,):
            return dsn
    # Line 4 of the server's lock file contains the port, and line 5 contains the folder of the first socket.
    lines = (data_folder(dsn) / "postmaster.pid").read_text().splitlines()
    return make_conninfo(host=lines[4], port=lines[3], user="postgres", dbname="postgres")


def checkpoint(dsn: str) -> None:
    """Writes dirty pages before a measured time, if the role has the permission."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        try:
            connection.execute("checkpoint")
        except psycopg.errors.InsufficientPrivilege:
            return


def binaries_of(postmaster: int | None) -> Path:
    """Returns the program folder of a running server, or the folder of the newest installed version.

    Raises UnavailableError.
    """
    if postmaster is not None:
        return Path(f"/proc/{postmaster}/exe").readlink().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    found = shutil.which("postgres")
    if not installed and not found:
        raise UnavailableError("no PostgreSQL programs found")
    return installed[-1] if installed else Path(str(found)).resolve().parent


class EphemeralPostgres:
    """Runs a server on a Unix socket and deletes it at the end. If the caller is root, the server's user is `postgres`
    or `nobody`.
    """

    def __init__(self, binaries: Path, settings: Mapping[str, str]) -> None:
        self._binaries = binaries
        self._settings = {"max_connections": "450", **settings}
        self.folder = Path(tempfile.mkdtemp(prefix="pb", dir="/tmp"))
        """This folder contains the data and the Unix socket of the server."""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        return f"host={self.folder} port=5432 user=postgres dbname=postgres"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Runs initdb and starts the server. If the server does not start, raises UnavailableError with the server's
        log."""
        user, log = server_user(), self.folder / "log"
        if user is not None:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        initdb = [self._binaries / "initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        with log.open("wb") as output:
            self._popen([str(part) for part in initdb], user, output.fileno()).wait()
            options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
            place = ["-D", str(self.folder / "data"), "-k", str(self.folder), "-c", "listen_addresses="]
            self._process = self._popen([str(self._binaries / "postgres"), *place, *options], user, output.fileno())
        wait_until(self._answers, self._process, log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _popen(self, command: list[str], user: pwd.struct_passwd | None, output: int) -> subprocess.Popen[bytes]:
        uid, gid = (user.pw_uid, user.pw_gid) if user is not None else (None, None)
        groups: list[int] | None = [] if user is not None else None
        return subprocess.Popen(
            command, stdout=output, stderr=output, cwd="/", user=uid, group=gid, extra_groups=groups
        )

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn).close()
        except psycopg.OperationalError:
            return False
        return True


def server_user() -> pwd.struct_passwd | None:
    """Returns the user for the server if the caller is root, and otherwise None."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]
