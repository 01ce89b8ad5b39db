"""Defines the study (a named measurement of one or more systems), and the systems and options that all
studies share.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from benchmarks.bare_insert import FAILURES, INSERTS, measure_bare_insert
from benchmarks.load.fleet import Fleet
from benchmarks.measure.host import HostLoad
from benchmarks.peers.failure_tolerant import FailureTolerantPeer
from benchmarks.peers.makers import PEERS
from benchmarks.penstock import Penstock
from benchmarks.scenarios import Scenario
from benchmarks.system import System, UnavailableError

Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class Findings:
    """`systems` are the results to store. `valid` means that no message was lost, duplicated, out of order or
    refused.
    """

    systems: list[Document]
    valid: bool


@dataclass
class Bench:
    """The systems under test, which are started when the first study needs them, and stopped with `stack`."""

    options: argparse.Namespace
    fleet: Fleet
    stack: ExitStack
    load: HostLoad = field(default_factory=lambda: HostLoad(0.0, 0.0))
    insert_cpu_seconds: list[float] = field(default_factory=list)
    """CPU of 1,000 bare INSERTs, as measured around the present study."""
    reasons: set[str] = field(default_factory=set)
    """The reasons for missing figures. Each reason is printed once."""

    @cached_property
    def systems(self) -> list[System]:
        """Returns Penstock, and the peers that can be started. Penstock is first, because peers copy its database's
        settings.
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
        """Returns Penstock, and starts it unless --no-penstock is given. Raises UnavailableError."""
        options = self.options
        penstock = Penstock(self.fleet, options.endpoint, tuple(options.pid), options.database)
        self.stack.callback(penstock.stop)
        if not options.no_penstock:
            penstock.start()
        return penstock

    def another_penstock(self, settings: Mapping[str, str] = MappingProxyType({})) -> Penstock:
        """Yields a second service with a separate database, for a study with `settings` or a study that would disturb
        the others.
        """
        penstock = Penstock(self.fleet, settings=settings)
        self.stack.callback(penstock.stop)
        penstock.start()
        return penstock

    def measure_insert(self, penstock: Penstock) -> None:
        """Measures a bare INSERT on that service's PostgreSQL, or prints the reason for missing multiples.

        A study that shows CPU a message calls this function just before and just after, because machines change their
        speed.
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
    """A study. `measure` prints its table and returns the results to store, or no results if it has stored them
    itself.

    With `alone`, the study has no peers, and starts a separate service even beside a running one.
    """

    name: str
    what: str
    measure: Callable[[Bench], Findings]
    alone: bool = False
