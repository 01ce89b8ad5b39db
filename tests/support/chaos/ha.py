"""Runs `make ha`, which is the campaign on three PostgreSQL servers under Patroni with failovers and switchovers under
load.

The first run has asynchronous standbys. The second run has synchronous standbys, so it must not lose any message. The
program writes a summary to a temporary folder. With --record it adds the runs to docs/reliability instead.
"""

import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Final, cast

import psycopg
import typer

from penstock.postgres.migrations import migrate
from penstock_web.local.postgres import ROLE
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.chaos.campaign import play
from tests.support.chaos.faults import Fault, Scene
from tests.support.chaos.servers import ChaosInstallation, ServiceProcess, with_signal
from tests.support.chaos.summary import RUNS, add_to_summary, say, show, write_page
from tests.support.database import memory_directory
from tests.support.ha.cluster import Cluster, Member, running_cluster

app = typer.Typer(pretty_exceptions_enable=False)

# A member reports in Patroni's REST API that it is the primary before its PostgreSQL accepts writes.
_WRITABLE_SECONDS: Final = 60


class HighlyAvailable(ChaosInstallation):
    """Runs two services. The services' database address lists all members of the cluster."""

    def __init__(self, cluster: Cluster, services: list[ServiceProcess]) -> None:
        super().__init__(services)
        self.cluster = cluster

    def database(self) -> psycopg.Connection[tuple[object, ...]]:
        return connect_writable(self.cluster.dsn(database=ROLE))


def connect_writable(
    dsn: str, seconds: float = _WRITABLE_SECONDS, pause: Callable[[float], object] = time.sleep
) -> psycopg.Connection[tuple[object, ...]]:
    """Connects to a server that accepts writes, and retries for `seconds`. Raises psycopg.OperationalError afterwards.
    `dsn` contains target_session_attrs=read-write.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return psycopg.connect(dsn, autocommit=True, connect_timeout=10)
        except psycopg.OperationalError:
            if time.monotonic() >= deadline:
                raise
        pause(0.05)


@contextmanager
def running_installation(synchronous: bool) -> Iterator[HighlyAvailable]:
    account = SystemAccount.choose()
    with ExitStack() as stack:
        state = stack.enter_context(ephemeral_state(memory_directory()))
        cluster = stack.enter_context(running_cluster(state, account, synchronous))
        with psycopg.connect(cluster.dsn(), autocommit=True) as connection:
            connection.execute(f"create role {ROLE} login password '{cluster.password}'".encode())
            connection.execute(f"create database {ROLE} owner {ROLE} template template0".encode())
        dsn = cluster.dsn(user=ROLE, database=ROLE)
        migrate(dsn, role=ROLE)
        services = [ServiceProcess(dsn, dsn, state / f"service-{number}.log", {}) for number in range(2)]
        installation = HighlyAvailable(cluster, services)
        stack.callback(installation.end_services)
        yield installation


# --- faults ----------------------------------------------------------------------------------------------------------
def switch_over(scene: Scene) -> float:
    """Switches the primary's role over to a standby. No message may be lost, even with asynchronous standbys."""
    cluster = _cluster(scene)
    former = cluster.switch_over()
    promoted = _wait_for_another(cluster, former)
    cluster.wait_for(len(cluster.members) - 1)
    return promoted


def kill_database(scene: Scene) -> float:
    """Sends SIGKILL to the primary's PostgreSQL. The primary's Patroni keeps running and releases the role at once."""
    cluster = _cluster(scene)
    former = cluster.wait_for(1)
    for pid in former.pids()[1:]:
        with_signal(pid, signal.SIGKILL)
    killed = time.time()
    promoted = _wait_for_another(cluster, former)
    _rewind(scene, killed)
    cluster.wait_for(len(cluster.members) - 1)
    return promoted


def kill_machine(scene: Scene) -> float:
    """Sends SIGKILL to all processes of the primary, and restarts the server as a standby."""
    cluster = _cluster(scene)
    former = cluster.wait_for(1)
    former.signal(signal.SIGKILL)
    return _replace(scene, cluster, former, time.time())


def hang_machine(scene: Scene) -> float:
    """Stops all processes of the primary while its kernel acknowledges packets. Kills the processes when another member
    is the primary.

    Without the kill, an asynchronous primary would acknowledge writes that no replica receives, until Patroni notices
    the new primary. A watchdog prevents such writes (Patroni's documentation, "Watchdog support").
    """
    cluster = _cluster(scene)
    former = cluster.wait_for(1)
    former.signal(signal.SIGSTOP)
    return _replace(scene, cluster, former, time.time())


def _replace(scene: Scene, cluster: Cluster, former: Member, cut: float) -> float:
    """Waits for another primary, notes the time in the ledgers, and kills and restarts the former primary."""
    promoted = _wait_for_another(cluster, former)
    former.signal(signal.SIGKILL)
    _rewind(scene, cut)
    if former.process:
        former.process.wait()
    cluster.start(former)
    cluster.wait_for(len(cluster.members) - 1)
    return promoted


def _wait_for_another(cluster: Cluster, former: Member) -> float:
    """Returns the time at which another member is the primary."""
    deadline = time.time() + 120
    while (primary := cluster.primary()) is None or primary is former:
        assert time.time() < deadline, "no other member became the primary"
        time.sleep(0.05)
    return time.time()


def _rewind(scene: Scene, cut: float) -> None:
    """Tells the ledgers the time of the last change that the new primary has replayed. Messages after that time may be
    missing.

    With a synchronous standby, only receives from standard queues may be missing, because such receives do not wait for
    a standby.
    """
    scene.forgotten()
    if _cluster(scene).synchronous:
        return
    with scene.servers.database() as connection:
        row = connection.execute("select extract(epoch from pg_last_xact_replay_timestamp())::float8").fetchone()
    assert row is not None
    scene.traffic.rewound(cast("float", row[0]), cut)


def _cluster(scene: Scene) -> Cluster:
    assert isinstance(scene.servers, HighlyAvailable)
    return scene.servers.cluster


FAULTS: Final = (
    Fault("switch_over", "failover", switch_over),
    Fault("kill_primary", "failover", kill_database),
    Fault("kill_primary_machine", "failover", kill_machine),
    Fault("hang_primary_machine", "failover", hang_machine),
)


@app.command()
def main(
    rounds: Annotated[int, typer.Option(min=1, help="number of runs of each fault in each mode")] = 1,
    seed: Annotated[int, typer.Option(help="seed of an earlier run, to repeat that run; 0 selects a random seed")] = 0,
    record: Annotated[bool, typer.Option("--record", help="add the runs to docs/reliability")] = False,
) -> None:
    """Runs failovers and switchovers with asynchronous and synchronous standbys, and reports violations in the
    ledgers.
    """
    # SIGTERM runs the context managers, which stop etcd, Patroni and PostgreSQL.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    summary = RUNS if record else Path(tempfile.mkdtemp(prefix="penstock-ha-")) / RUNS.name
    seed = seed or random.SystemRandom().randrange(1, 2**31)
    good = True
    for synchronous in (False, True):
        say(f"seed {seed}, {'synchronous' if synchronous else 'asynchronous'} standbys")
        numbers = random.Random(seed)
        faults = list(FAULTS) * rounds
        numbers.shuffle(faults)
        with running_installation(synchronous) as installation:
            report = play(installation, faults, numbers, 3600, say)
        show(report)
        mode = "Patroni, synchronous" if synchronous else "Patroni, asynchronous"
        add_to_summary(report, seed, mode, summary)
        say(f"summary: {summary}")
        if record:
            write_page()
        good = good and report.is_good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    app()
