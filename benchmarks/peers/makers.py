"""Maps names to the functions that make the peers."""

import subprocess
import sys
from collections.abc import Callable
from urllib.error import URLError

from benchmarks.load.fleet import Fleet
from benchmarks.measure.cpu import Reading
from benchmarks.measure.outcome import Outcome, Plan, StageCallback, ignore_stages, latency_of
from benchmarks.penstock import Penstock
from benchmarks.scenarios import Scenario
from benchmarks.system import System

from .bullmq import Bullmq
from .http_peer import Fauxqs, Moto
from .pgmq import Pgmq
from .plain_postgres import PlainPostgres
from .python_queues import PythonQueue
from .rabbitmq import Rabbitmq

# Makes a peer from the load generator and from Penstock, whose PostgreSQL settings some peers copy.
Maker = Callable[[Fleet, Penstock], System]


def python_queue(name: str, penstock: Penstock) -> System:
    return PythonQueue(name, penstock.database_binaries(), penstock.database_settings())


PEERS: dict[str, Maker] = {
    "penstock-plain": lambda fleet, _: PlainPostgres(fleet),
    "pgmq": lambda _, penstock: Pgmq(penstock.database_binaries(), penstock.database_settings()),
    "procrastinate": lambda _, penstock: python_queue("procrastinate", penstock),
    "pgqueuer": lambda _, penstock: python_queue("pgqueuer", penstock),
    "bullmq": lambda *_: Bullmq(),
    "rabbitmq-classic": lambda *_: Rabbitmq("classic"),
    "rabbitmq-lazy": lambda *_: Rabbitmq("lazy"),
    "rabbitmq-quorum": lambda *_: Rabbitmq("quorum"),
    "moto": lambda fleet, _: Moto(fleet),
    "fauxqs": lambda fleet, _: Fauxqs(fleet, durable=False),
    "fauxqs-sqlite": lambda fleet, _: Fauxqs(fleet, durable=True),
}


# --- failure tolerant ------------------------------------------------------------------------------------------------
# Wraps a peer. A failure of the peer becomes a line in the table and does not end the study.

FAILURES = (RuntimeError, OSError, URLError, subprocess.SubprocessError, ValueError)


class FailureTolerantPeer:
    """Forwards all calls to the peer. If a run raises an error, the result is an invalid outcome without
    messages."""

    def __init__(self, peer: System) -> None:
        self._peer = peer
        self.start, self.stop, self.facts = peer.start, peer.stop, peer.facts
        self.supports, self.disk_bytes = peer.supports, peer.disk_bytes

    @property
    def name(self) -> str:
        return self._peer.name

    def pss_bytes(self) -> dict[str, int | None]:
        """Returns the memory of the peer, or an empty result if its processes have exited."""
        try:
            return self._peer.pss_bytes()
        except ProcessLookupError:
            return {}

    def run(self, scenario: Scenario, plan: Plan, watch: StageCallback = ignore_stages) -> Outcome:
        try:
            return self._peer.run(scenario, plan, watch)
        except FAILURES as error:
            print(f"{self.name}, {scenario.name}: {error!r}", file=sys.stderr, flush=True)
            return failed_outcome(self.name, scenario, plan, error)


def failed_outcome(name: str, scenario: Scenario, plan: Plan, error: Exception) -> Outcome:
    nothing = Reading({}, 0.0, 0.0)
    return Outcome(
        system=name,
        scenario=scenario.name,
        plan=plan,
        messages=0,
        elapsed_seconds=1.0,
        sent_per_second=0.0,
        received_per_second=0.0,
        latency=latency_of([]),
        generator_cpu_seconds=0.0,
        before=nothing,
        after=nothing,
        bad_answers=1,
        bad_samples=[repr(error)[:500]],
    )
