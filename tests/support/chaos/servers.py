"""Runs PostgreSQL, PgBouncer, two services, and proxies between them that imitate faulty networks.

services ── proxy ── PgBouncer ── proxy ── PostgreSQL        calls
services ─────────────────────── proxy ── PostgreSQL         merged calls, LISTEN
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg

from penstock.postgres.migrations import migrate
from penstock_web.local.pgbouncer import PgBouncer, running_pgbouncer
from penstock_web.local.postgres import ROLE, Postgres, free_port, running_postgres, start
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.chaos.sandbox import Sandbox
from tests.support.database import memory_directory
from tests.support.network.lying_proxy import LyingProxy
from tests.support.sql.server_crash import children, is_running, kill_server
from tests.support.wait import wait_until

REQUEST_TIMEOUT_SECONDS = 15
SERVICE_SETTINGS = {
    "QUEUE_REQUEST_TIMEOUT_SECONDS": str(REQUEST_TIMEOUT_SECONDS),
    "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8",
    "QUEUE_SHARDS": "2",
}
# `wal_level` allows a standby. Unlike the servers of other tests, these servers use fsync.
SERVER_SETTINGS = {
    "wal_level": "replica",
    "max_wal_senders": "5",
    "hot_standby": "on",
    "max_connections": "100",
    "max_wal_size": "512MB",
}


# The maximum number of starts of a service that exits at once.
STARTS = 10


class ServiceProcess:
    """Runs a service process, which restarts on the same port."""

    def __init__(self, database_url: str, direct_url: str, log: Path, settings: dict[str, str]) -> None:
        self.port = free_port()
        addresses = {"DATABASE_URL": database_url, "DATABASE_DIRECT_URL": direct_url}
        self._settings = {**SERVICE_SETTINGS, **addresses, **settings}
        self._log = log
        self.process = self.start()

    def start(self, code: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Returns when the service is ready. `code` contains environment variables that select another release's code.

        Restarts the service, like a supervisor, if it exits because it cannot reach the database.
        """
        for _ in range(STARTS):
            ready, ready_fd = os.pipe()
            command = [sys.executable, "-m", "penstock_web.cli", "worker", "--host", "127.0.0.1"]
            with self._log.open("ab") as log:
                self.process = subprocess.Popen(
                    [*command, "--port", str(self.port), "--ready-fd", str(ready_fd)],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=[ready_fd],
                    env={**os.environ, **self._settings, **(code or {})},
                )
            os.close(ready_fd)
            said = os.read(ready, 1)  # The line is b"" if the process has exited.
            os.close(ready)
            if said:
                return self.process
            self.kill()
        raise RuntimeError(f"a service does not start: {self.last_lines()}")

    def last_lines(self) -> str:
        return self._log.read_text()[-2000:]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()

    def stop(self) -> None:
        """Sends SIGTERM. The service finishes its requests before it exits."""
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
        if self.process.stdin:
            self.process.stdin.close()


@dataclass
class ChaosInstallation:
    """Provides services, ports for the webhook endpoint and the mapping's target, and a database connection that no
    fault affects.
    """

    services: list[ServiceProcess]
    webhook_port: int = field(default_factory=free_port, init=False)
    mapping_port: int = field(default_factory=free_port, init=False)

    @property
    def ports(self) -> list[int]:
        return [service.port for service in self.services]

    def database(self) -> psycopg.Connection[tuple[object, ...]]:
        raise NotImplementedError

    def crashes(self) -> list[str]:
        """Returns log lines about PostgreSQL processes that a signal killed, except for signals from faults."""
        return []

    def end_services(self) -> None:
        for service in self.services:
            with_signal(service.process.pid, signal.SIGCONT)
            service.kill()


@dataclass
class Servers(ChaosInstallation):
    """Runs PostgreSQL, a pooler and proxies, which faults restart. `home` is the folder of the current PostgreSQL."""

    state: Path
    home: Path
    stack: ExitStack
    account: SystemAccount
    primary: Postgres
    database_proxy: LyingProxy
    pooler: PgBouncer
    pooler_proxy: LyingProxy
    sandbox: Sandbox | None
    unexpected_restarts: int = 0
    """The number of PostgreSQL's recoveries that no fault caused."""

    def database(self) -> psycopg.Connection[tuple[object, ...]]:
        try:
            return self._connect()
        except psycopg.OperationalError as error:
            if not _is_recovering(error):
                raise
        self.unexpected_restarts += 1
        wait_for_database(self)
        return self._connect()

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.primary.superuser_dsn("penstock"), autocommit=True, connect_timeout=10)

    def database_log(self) -> str:
        """Returns PostgreSQL's log since its last start."""
        return (self.primary.data.parent / "log").read_text(errors="replace")

    def crashes(self) -> list[str]:
        ends = (line for line in self.database_log().splitlines() if "was terminated by signal" in line)
        return [line for line in ends if f"signal {signal.SIGKILL:d}:" not in line]

    def kill_database(self) -> None:
        kill_server(self.primary.data)

    def start_database(self) -> None:
        start(self.home, self.account, settings=SERVER_SETTINGS)

    def database_processes(self) -> list[int]:
        """Returns the process ids of the postmaster and its children."""
        postmaster = int((self.primary.data / "postmaster.pid").read_text().split("\n")[0])
        return [postmaster, *children(postmaster)]

    def start_pooler(self) -> None:
        self.pooler = self.stack.enter_context(_pooler(self.state, self._seen_by_pooler(), self.pooler.port))

    def kill_pooler(self) -> None:
        self.pooler.process.kill()
        self.pooler.process.wait()

    def _seen_by_pooler(self) -> Postgres:
        return seen_through(self.primary, self.database_proxy)

    def replace_database(self, dump: Path) -> tuple[float, float]:
        """Restores the dump into a new cluster and stops the old cluster. Returns the times at which the services
        stopped and started again.
        """
        for service in self.services:
            service.stop()
        stopped = time.time()
        self.home = self.account.create_private_folder(self.state / f"restored-{time.time():.0f}", 0o711)
        new = self.stack.enter_context(running_postgres(self.home, self.account, settings=SERVER_SETTINGS))
        with psycopg.connect(new.superuser_dsn(), autocommit=True) as connection:
            connection.execute(f"alter role {ROLE} password '{self.primary.password}'".encode())
        new = replace(new, password=self.primary.password)
        programs, dsn = new.binaries, new.service_dsn()
        restore = [programs.path("pg_restore"), "--exit-on-error", "--no-owner", "--no-acl", dump]
        subprocess.run([*map(str, restore), f"--dbname={dsn}"], check=True)
        migrate(dsn, role=ROLE)
        subprocess.run(
            [sys.executable, "-m", "penstock_web.cli", "doctor", "--after-restore"],
            env={**os.environ, "DATABASE_DIRECT_URL": dsn},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        self.kill_database()
        shutil.rmtree(self.primary.data)
        self.primary = new
        self.database_proxy.target = ("127.0.0.1", new.port)
        self.database_proxy.reset()
        started = time.time()
        for service in self.services:
            service.start()
        return stopped, started


def seen_through(server: Postgres, proxy: LyingProxy) -> Postgres:
    return replace(server, socket_directory=Path("127.0.0.1"), port=proxy.port)


def _pooler(state: Path, server: Postgres, port: int = 0) -> AbstractContextManager[PgBouncer]:
    return running_pgbouncer(state, server, "*", pool_size=15, port=port)


@contextmanager
def running_servers(sandbox: Sandbox | None = None, **settings: str) -> Iterator[Servers]:
    """Runs all servers with a migrated schema. Stops all servers at the end, even if a fault is active.

    `settings` contains environment variables for the services.
    """
    account = sandbox.account() if sandbox else SystemAccount.choose()
    with ExitStack() as stack:
        state = stack.enter_context(ephemeral_state(sandbox.disk if sandbox else memory_directory()))
        primary = stack.enter_context(running_postgres(state, account, settings=SERVER_SETTINGS))
        migrate(primary.service_dsn(), role=ROLE)
        database_proxy = LyingProxy("127.0.0.1", primary.port)
        stack.callback(database_proxy.close)
        pooler = stack.enter_context(_pooler(state, seen_through(primary, database_proxy)))
        pooler_proxy = LyingProxy("127.0.0.1", pooler.port)
        stack.callback(pooler_proxy.close)
        pooled = f"postgresql://{ROLE}:{primary.password}@127.0.0.1:{pooler_proxy.port}/penstock"
        direct = seen_through(primary, database_proxy).service_dsn()
        logs = [state / f"service-{number}.log" for number in range(2)]
        services = [ServiceProcess(pooled, direct, log, settings) for log in logs]
        servers = Servers(
            services, state, state, stack, account, primary, database_proxy, pooler, pooler_proxy, sandbox
        )
        stack.callback(servers.end_services)
        yield servers


def _is_recovering(error: psycopg.OperationalError) -> bool:
    """Returns whether the server is running but does not accept connections yet."""
    words = ("not yet accepting connections", "starting up", "in recovery mode", "shutting down")
    return any(each in str(error) for each in words)


def with_signal(pid: int, number: signal.Signals) -> None:
    """Sends the signal to a process that is still running."""
    if is_running(pid):
        os.kill(pid, number)


def wait_for_database(servers: Servers) -> None:
    def responses() -> bool:
        try:
            with servers._connect() as connection:
                connection.execute("select 1")
        except psycopg.OperationalError:
            return False
        return True

    wait_until(responses)
