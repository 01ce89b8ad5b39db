"""Defines a study (a named measurement of one or more systems) and the resources that all studies share."""

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType

from benchmarks.load.fleet import Fleet
from benchmarks.measure.host import HostLoad
from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.peers.makers import PEERS, FailureTolerantPeer
from benchmarks.penstock import Penstock
from benchmarks.pgbench import FAILURES, INSERTS, measure_bare_insert
from benchmarks.report.runs import HEAD, RepeatedRuns, document, penstock_valid, row
from benchmarks.scenarios import SCENARIOS, Scenario
from benchmarks.system import System, UnavailableError

Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class Findings:
    """Holds a study's results. `systems` are the results to store. `valid` means that the systems lost, duplicated,
    reordered and refused no message.
    """

    systems: list[Document]
    valid: bool


@dataclass
class Bench:
    """Starts a system when a study first needs the system. `stack` stops the systems."""

    options: argparse.Namespace
    fleet: Fleet
    stack: ExitStack
    load: HostLoad = field(default_factory=lambda: HostLoad(0.0, 0.0))
    insert_cpu_seconds: list[float] = field(default_factory=list)
    """Contains the CPU times of 1,000 bare INSERTs just before and just after the study."""
    reasons: set[str] = field(default_factory=set)
    """Contains the reasons for missing figures, so that each reason is printed only once."""

    @cached_property
    def systems(self) -> list[System]:
        """Returns Penstock and the available peers.

        Penstock is first, because peers copy the settings of its database.
        """
        found: list[System] = [] if self.options.no_penstock else [self.penstock]
        for name in self.options.peers:
            try:
                peer = FailureTolerantPeer(PEERS[name](self.fleet, self.penstock))
                self.stack.callback(peer.stop)
                peer.start()
            except UnavailableError as error:
                print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
            else:
                found.append(peer)
        return found

    @cached_property
    def penstock(self) -> Penstock:
        """Returns Penstock, and starts the service unless --no-penstock is given. Raises UnavailableError."""
        options = self.options
        penstock = Penstock(self.fleet, options.endpoint, tuple(options.pid), options.database)
        self.stack.callback(penstock.stop)
        if not options.no_penstock:
            penstock.start()
        return penstock

    def another_penstock(self, settings: Mapping[str, str] = MappingProxyType({})) -> Penstock:
        """Returns a second service with a separate database, for a study that needs `settings` or that disturbs other
        studies.
        """
        penstock = Penstock(self.fleet, settings=settings)
        self.stack.callback(penstock.stop)
        penstock.start()
        return penstock

    def measure_insert(self, penstock: Penstock) -> None:
        """Measures a bare INSERT on the PostgreSQL of the service, or prints why the multiples are missing.

        A study that shows the CPU time for each message calls this function just before and just after its runs,
        because the speed of a machine changes.
        """
        try:
            self.insert_cpu_seconds += measure_bare_insert(penstock.dsn, self.scaled(INSERTS, 5_000))
        except FAILURES as error:
            if str(error) not in self.reasons:
                print(f"CPU is not compared with a bare INSERT: {error}", flush=True)
            self.reasons.add(str(error))

    def supporting(self, scenario: Scenario) -> list[System]:
        return [system for system in self.systems if system.supports(scenario)]

    def scaled(self, count: int, least: int = 1) -> int:
        """Returns a study's size multiplied by --scale."""
        return max(least, round(count * float(self.options.scale)))


@dataclass(frozen=True, slots=True)
class Study:
    """Describes a study.

    `measure` prints the table of the study and returns the results to store, or returns no results if it has already
    stored the results. If `alone` is true, the study has no peers, and starts a separate service even if another
    service is running.
    """

    name: str
    what: str
    measure: Callable[[Bench], Findings]
    alone: bool = False


# --- table -----------------------------------------------------------------------------------------------------------
# Measures the table of goals: every system in turn, with repeats, and a line for each number of connections.


def measure(scenario: Scenario, bench: Bench) -> Findings:
    """Measures all systems and numbers of connections for one scenario."""
    tables: list[RepeatedRuns] = []
    documents: list[Document] = []
    able, options = bench.supporting(scenario), bench.options
    print(HEAD)
    bench.measure_insert(bench.penstock)
    for connections in options.connections if scenario.measured else options.connections[:1]:
        plan = Plan(
            connections,
            bench.scaled(options.messages, 100),
            options.body_bytes,
            bench.scaled(options.samples, 10),
            rate=options.rate,
        )
        for system, repeated in zip(able, interleaved(scenario, able, plan, options.repeat), strict=True):
            print(row(repeated), flush=True)
            tables.append(repeated)
            documents.append(document(repeated, facts_of(system)))
    bench.measure_insert(bench.penstock)
    return Findings(documents, penstock_valid(run for repeated in tables for run in repeated.runs))


def facts_of(system: System) -> Document:
    return system.facts() | {"pss_bytes": system.pss_bytes()}


def interleaved(scenario: Scenario, systems: list[System], plan: Plan, repeats: int) -> list[RepeatedRuns]:
    """Runs each system in turn, after a small warm-up. Every second round reverses the order of the systems."""
    small = Plan(plan.connections, max(100, plan.messages // 10), plan.body_bytes, max(10, plan.idle_samples // 10))
    for system in systems:
        system.run(scenario, small)
    runs: dict[str, list[Outcome]] = {system.name: [] for system in systems}
    for number in range(repeats):
        for system in systems if number % 2 == 0 else reversed(systems):
            runs[system.name].append(system.run(scenario, plan))
    return [RepeatedRuns(runs[system.name]) for system in systems]


STUDIES = [Study(scenario.name, scenario.what, partial(measure, scenario)) for scenario in SCENARIOS.values()]
