"""Defines the faults. Each fault undoes its change, and returns the time from which the recovery counts.

The recovery counts from the start of a fault if another server can take over immediately, and otherwise from the end of
the fault. The summary counts faults by `group`.
"""

import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import psycopg

from tests.support.chaos.sandbox import Sandbox
from tests.support.chaos.servers import ChaosInstallation, Servers, wait_for_database, with_signal
from tests.support.chaos.traffic import Traffic
from tests.support.network.lying_proxy import LyingProxy
from tests.support.upgrade.release import environment_of, unpack

Group = Literal["kill", "network", "stop", "lock", "failover", "restore", "upgrade", "clock", "disk", "other"]


@dataclass(frozen=True)
class Scene:
    servers: ChaosInstallation
    traffic: Traffic
    random: random.Random
    database_back_at: list[float] = field(default_factory=list)

    @property
    def rig(self) -> Servers:
        assert isinstance(self.servers, Servers)
        return self.servers

    def pause(self, low: float, high: float) -> None:
        """Waits for a random number of seconds."""
        time.sleep(self.random.uniform(low, high))

    def proxy(self) -> LyingProxy:
        return self.random.choice((self.rig.database_proxy, self.rig.pooler_proxy))

    @property
    def sandbox(self) -> Sandbox:
        assert self.rig.sandbox is not None
        return self.rig.sandbox

    def database_is_back(self) -> None:
        """Notes the time at which the killed database accepts connections again, to exclude PostgreSQL's start from
        later delays.
        """
        self.database_back_at.append(time.time())

    def forgotten(self, until: float | None = None, since: float = math.inf) -> None:
        """Notes a crash of the database, because receives from standard queues do not wait for the disk
        (docs/explain/internals.md).

        The ledgers also excuse calls that begin before `until`, and redeliveries between `since`, the earliest moment
        of the crash, and the current time.
        """
        for ledger in self.traffic.ledgers.values():
            ledger.forgotten(until, since)


@dataclass(frozen=True)
class Fault:
    """`weight` is the relative frequency of the fault."""

    name: str
    group: Group
    run: Callable[[Scene], float]
    weight: int = 4


# --- kills -----------------------------------------------------------------------------------------------------------
def kill_service(scene: Scene) -> float:
    service = scene.random.choice(scene.rig.services)
    service.kill()
    killed = time.time()
    service.start()
    return killed


def kill_pooler(scene: Scene) -> float:
    scene.rig.kill_pooler()
    killed = time.time()
    scene.rig.start_pooler()
    return killed


def kill_database(scene: Scene) -> float:
    """Kills every process of the database, and restarts the database at once."""
    scene.rig.kill_database()
    scene.forgotten()
    killed = time.time()
    scene.rig.start_database()
    scene.database_is_back()
    return killed


def kill_backend(scene: Scene) -> float:
    """Sends SIGKILL to one process. PostgreSQL ends all other processes and recovers."""
    with scene.servers.database() as witness, suppress(psycopg.OperationalError):
        _, *processes = scene.rig.database_processes()
        with suppress(ProcessLookupError):
            os.kill(scene.random.choice(processes), signal.SIGKILL)
        killed = time.time()
        while True:
            witness.execute("select pg_sleep(0.01)")
    wait_for_database(scene.rig)
    scene.database_is_back()
    scene.forgotten(since=killed)
    return killed


def terminate_sessions(scene: Scene) -> float:
    with scene.servers.database() as connection:
        for _ in range(scene.random.randint(1, 5)):
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where pid <> pg_backend_pid() and datname = current_database()"
            )
            scene.pause(0, 0.2)
    return time.time()


# --- stops: processes that hang, while their kernel acknowledges ------------------------------------------------------
def stop_service(scene: Scene) -> float:
    service = scene.random.choice(scene.rig.services)
    return _stop(scene, [service.process.pid], 1, 8)


def stop_pooler(scene: Scene) -> float:
    return _stop(scene, [scene.rig.pooler.process.pid], 1, 12)


def stop_database(scene: Scene) -> float:
    return _stop(scene, scene.rig.database_processes(), 1, 12)


def stop_backend(scene: Scene) -> float:
    """Stops one session, which keeps its locks. Only a client's timeout ends a wait for the session's locks."""
    _, *processes = scene.rig.database_processes()
    return _stop(scene, [scene.random.choice(processes)], 1, 12)


def _stop(scene: Scene, pids: list[int], low: float, high: float) -> float:
    for pid in pids:
        with_signal(pid, signal.SIGSTOP)
    scene.pause(low, high)
    for pid in pids:
        with_signal(pid, signal.SIGCONT)
    return time.time()


# --- the network -----------------------------------------------------------------------------------------------------
def reset_connections(scene: Scene) -> float:
    scene.proxy().reset()
    return time.time()


def halve_answers(scene: Scene) -> float:
    scene.proxy().halve()
    return time.time()


def delay_network(scene: Scene) -> float:
    proxy = scene.proxy()
    proxy.delay_seconds = scene.random.uniform(0.05, 1)
    scene.pause(1, 5)
    proxy.delay_seconds = 0
    return time.time()


def swallow_connections(scene: Scene) -> float:
    """Imitates a host that vanishes: open connections acknowledge but lose all data, while new connections work."""
    scene.proxy().swallow()
    return time.time()


def black_hole(scene: Scene) -> float:
    """Also discards the data of new connections for some time."""
    proxy = scene.proxy()
    proxy.swallow(new_too=True)
    scene.pause(1, 8)
    proxy.pass_new()
    return time.time()


# --- what other users of the database do ------------------------------------------------------------------------------
def lock_table(scene: Scene) -> float:
    table = scene.random.choice(
        ("log", "lease", "fifo_message", "fifo_group", "queues", "outgoing_delivery", "schedule")
    )
    with scene.servers.database() as connection, suppress(psycopg.errors.LockNotAvailable), connection.transaction():
        connection.execute("set local lock_timeout = '2s'")
        connection.execute(f"lock table queue.{table} in access exclusive mode".encode())
        scene.pause(1, 4)
    return time.time()


def open_transaction(scene: Scene) -> float:
    """Runs an application that receives, deletes and sends in a transaction, waits, and then rolls back."""
    with scene.servers.database() as connection, suppress(psycopg.Error):
        connection.execute("begin")
        connection.execute("set local lock_timeout = '2s'")
        connection.execute("select queue.delete('standard', r.msg_id) from queue.receive('standard', 60, 3) r limit 1")
        connection.execute("select queue.send_fifo('fifo.fifo', '1', group_id) from queue.fifo_group limit 1")
        scene.pause(1, 6)
        connection.execute("rollback")
    return time.time()


# A maintenance command may fail with one of the following errors, because other work takes precedence.
_LOST_LOCKS: Final = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)


def vacuum_full(scene: Scene) -> float:
    with scene.servers.database() as connection, suppress(*_LOST_LOCKS):
        connection.execute("set lock_timeout = '2s'")
        connection.execute(f"vacuum full queue.{scene.random.choice(('lease', 'log', 'fifo_ready'))}".encode())
    return time.time()


def reindex(scene: Scene) -> float:
    with scene.servers.database() as connection, suppress(*_LOST_LOCKS):
        connection.execute("set lock_timeout = '2s'")
        connection.execute(f"reindex table queue.{scene.random.choice(('lease', 'log', 'fifo_message'))}".encode())
    return time.time()


def exhaust_connections(scene: Scene) -> float:
    """Ends the service's connections, and then opens every free connection."""
    with ExitStack() as stack:
        for _ in range(3):
            with suppress(psycopg.OperationalError):
                while True:
                    stack.enter_context(scene.servers.database())
            with suppress(psycopg.OperationalError), scene.servers.database() as connection:
                connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'penstock'")
        scene.pause(1, 5)
    return time.time()


def overload(scene: Scene) -> float:
    """Runs four endless loops for each core. The service must respond or refuse calls in time, and work normally
    afterwards.
    """
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * (os.cpu_count() or 2))]
    scene.pause(5, 10)
    for hog in hogs:
        hog.kill()
        hog.wait()
    return time.time()


# --- what operators do -----------------------------------------------------------------------------------------------
@contextmanager
def paused_bus(scene: Scene) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Prevents the delivery of the bus's events while the context is open."""
    with scene.servers.database() as connection:
        connection.execute("select pg_advisory_lock(queue.event_delivery_key(bus_id)) from queue.event_bus")
        yield connection


def restore(scene: Scene) -> float:
    """Makes a dump, and restores it into a new cluster some seconds later. Clients still have messages that they
    received after the dump. The bus delivers some events of the dump twice: before and after the restore.
    """
    rig = scene.rig
    dump = rig.state / "queue.dump"
    command: list[str | Path] = [rig.primary.binaries.path("pg_dump"), "--format=custom", "--schema=queue"]
    command += ["--no-owner", f"--dbname={rig.primary.service_dsn()}", f"--file={dump}"]
    with paused_bus(scene):
        scene.pause(0, 1)
        moment = time.time()
        failed = subprocess.run(command, check=False).returncode
    # A failed dump means that PostgreSQL crashed without a fault. `play` reports the crash.
    if failed:
        wait_for_database(rig)
        moment = time.time()
        subprocess.run(command, check=True)
    scene.pause(0.5, 3)
    scene.traffic.rewound(moment, *rig.replace_database(dump))
    return time.time()


def previous_release(scene: Scene) -> float:
    """Runs one service of the previous release for a while on the current schema, as in a rolling upgrade."""
    service, folder = scene.random.choice(scene.rig.services), scene.rig.state / "previous"
    if not folder.exists():
        unpack(folder)
    service.stop()
    service.start(environment_of(folder))
    scene.pause(2, 6)
    service.stop()
    service.start()
    return time.time()


QUICK: Final = (
    Fault("kill_service", "kill", kill_service, 24),
    Fault("kill_pooler", "kill", kill_pooler, 24),
    Fault("kill_database", "kill", kill_database, 24),
    Fault("kill_backend", "kill", kill_backend, 32),
    Fault("terminate_sessions", "kill", terminate_sessions, 32),
    Fault("stop_service", "stop", stop_service),
    Fault("stop_pooler", "stop", stop_pooler),
    Fault("stop_database", "stop", stop_database),
    Fault("stop_backend", "stop", stop_backend),
    Fault("reset_connections", "network", reset_connections),
    Fault("halve_answers", "network", halve_answers),
    Fault("delay_network", "network", delay_network),
    Fault("swallow_connections", "network", swallow_connections),
    Fault("black_hole", "network", black_hole),
    Fault("lock_table", "lock", lock_table, 2),
    Fault("open_transaction", "lock", open_transaction, 2),
    Fault("vacuum_full", "lock", vacuum_full, 1),
    Fault("reindex", "lock", reindex, 1),
    Fault("exhaust_connections", "other", exhaust_connections, 2),
    Fault("overload", "other", overload, 1),
    Fault("restore", "restore", restore, 2),
    Fault("previous_release", "upgrade", previous_release, 2),
)
"""Faults that need no root and affect no other programs."""


# --- root faults -----------------------------------------------------------------------------------------------------
# Needs a sandbox: dropped packets, clock changes and a full disk.


def drop_packets(scene: Scene) -> float:
    """Drops all packets between clients and the pooler, or the database, for a while. The clients receive no error."""
    port = scene.proxy().port
    scene.sandbox.drop(f"tcp dport {port}", f"tcp sport {port}")
    scene.pause(1, 20)
    scene.sandbox.drop()
    return time.time()


def vanish(scene: Scene) -> float:
    """Removes a host, and directs its name to another host. Open connections stay silent forever, while new connections
    work.
    """
    proxy = scene.proxy()
    vanished = time.time()
    if ports := proxy.vanish():
        clients = f"{{ {', '.join(map(str, ports))} }}"
        scene.sandbox.drop(f"tcp dport {proxy.port} tcp sport {clients}", f"tcp sport {proxy.port} tcp dport {clients}")
    return vanished


def turn_clock(scene: Scene) -> float:
    """Turns the database's clock forwards or back, and corrects it some seconds later."""
    jump = scene.random.choice((-1, 1)) * scene.random.uniform(1, 20)
    # Leases may end early while the clock is wrong, and after its correction.
    scene.forgotten(time.time() + 60)
    scene.sandbox.turn_clock(jump)
    scene.pause(2, 6)
    scene.sandbox.turn_clock(0)
    scene.forgotten()
    return time.time()


def fill_disk(scene: Scene) -> float:
    """Fills the disk. If PostgreSQL exits, the fault frees space and restarts the database, as an operator does."""
    begun, ballast = time.time(), scene.sandbox.disk / "ballast"
    with ballast.open("wb") as file, suppress(OSError):
        while True:
            free = os.statvfs(file.fileno())
            os.posix_fallocate(file.fileno(), file.tell(), max(4096, free.f_bavail * free.f_frsize))
            file.seek(0, os.SEEK_END)
    scene.pause(1, 6)
    ballast.unlink()
    freed = time.time()
    scene.rig.start_database()
    scene.forgotten(since=begun)
    return freed


ROOT: Final = (
    Fault("drop_packets", "network", drop_packets, 6),
    Fault("vanish", "network", vanish, 6),
    Fault("turn_clock", "clock", turn_clock, 3),
    Fault("fill_disk", "disk", fill_disk, 2),
)
"""Faults that need root."""
