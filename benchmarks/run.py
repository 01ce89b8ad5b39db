"""Penstock beside its peers: repeats, interleaved, on one machine in one run.

python -m benchmarks.run --scenario all --connections 16 64 --messages 100000 --repeat 3 --peers pgmq
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from .fleet import Fleet
from .host import HostLoad, host_load, machine
from .outcome import Outcome, Plan
from .peers.fauxqs import Fauxqs
from .peers.pgmq import Pgmq
from .penstock import Penstock
from .report import HEAD, Line, document, row, write_results
from .scenarios import SCENARIOS, Scenario
from .system import System, UnavailableError

PEERS = ("pgmq", "fauxqs", "fauxqs-sqlite")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description=__doc__.split("\n\n")[0] if __doc__ else ""
    )
    parser.add_argument("--scenario", nargs="+", choices=["all", *SCENARIOS], default=["all"])
    parser.add_argument("--connections", nargs="+", type=int, default=[16])
    parser.add_argument("--messages", type=int, default=100_000, help="messages of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each figure; the median counts")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=["pgmq"])
    parser.add_argument("--body-bytes", type=int, default=100)
    parser.add_argument("--samples", type=int, default=300, help="messages of idle_latency")
    parser.add_argument("--processes", type=int, default=1, help="processes of the load generator")
    parser.add_argument(
        "--endpoint", default="", help="measure a running service, e.g. http://127.0.0.1:9324"
    )
    parser.add_argument("--pid", nargs="*", type=int, default=[], help="its processes (roots of trees)")
    parser.add_argument("--database", default="", help="DSN of its database, for the CPU of PostgreSQL")
    parser.add_argument("--no-penstock", action="store_true", help="measure the peers only")
    parser.add_argument("--no-results", action="store_true", help="write no results files")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 1 when a run lost, doubled or refused messages, 2 when Penstock could not be started."""
    options = arguments(argv)
    load = host_load()
    if load.busy:
        print(
            f"WARNING: the host is busy ({load.busy_share:.0%} of all cores): figures are marked",
            file=sys.stderr,
        )
    with ExitStack() as stack:
        fleet = Fleet(options.processes)
        stack.callback(fleet.close)
        try:
            systems = started(options, fleet, stack)
        except UnavailableError as error:
            print(f"penstock: {error}", file=sys.stderr)
            return 2
        chosen = list(SCENARIOS) if "all" in options.scenario else options.scenario
        print(HEAD)
        results = [measure(SCENARIOS[name], systems, options, load) for name in chosen]
        print_memory(systems)
    return 0 if all(results) else 1


def started(options: argparse.Namespace, fleet: Fleet, stack: ExitStack) -> list[System]:
    """Penstock first, since a peer takes over the settings of its database. A peer that cannot start is left out."""
    penstock = Penstock(fleet, options.endpoint, tuple(options.pid), options.database)
    systems: list[System] = []
    if not options.no_penstock:
        stack.callback(penstock.stop)
        penstock.start()
        systems.append(penstock)
    for name in options.peers:
        try:
            peer = made(name, fleet, penstock)
            stack.callback(peer.stop)
            peer.start()
        except UnavailableError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
        else:
            systems.append(peer)
    return systems


def made(name: str, fleet: Fleet, penstock: Penstock) -> System:
    if name == "pgmq":
        return Pgmq(penstock.database_binaries(), penstock.database_settings())
    return Fauxqs(fleet, durable=name == "fauxqs-sqlite")


def measure(scenario: Scenario, systems: list[System], options: argparse.Namespace, load: HostLoad) -> bool:
    """All systems and numbers of connections for one scenario; whether every run was valid."""
    lines: list[Line] = []
    documents: list[dict[str, object]] = []
    able = [system for system in systems if system.supports(scenario)]
    for connections in options.connections if scenario.measured else options.connections[:1]:
        plan = Plan(connections, options.messages, options.body_bytes, options.samples)
        for system, line in zip(able, interleaved(scenario, able, plan, options.repeat), strict=True):
            print(row(line), flush=True)
            lines.append(line)
            documents.append(document(line, system.facts() | {"pss_bytes": system.pss_bytes()}))
    if documents and not options.no_results:
        write_results(scenario.name, documents, settings_of(options), machine(), load)
    return all(run.valid for line in lines for run in line.runs)


def interleaved(scenario: Scenario, systems: list[System], plan: Plan, repeats: int) -> list[Line]:
    """Each system once in turn, then again, the order reversed every time; a small run of each first."""
    small = Plan(
        plan.connections, max(1000, plan.messages // 10), plan.body_bytes, max(10, plan.idle_samples // 10)
    )
    for system in systems:
        system.run(scenario, small)
    runs: dict[str, list[Outcome]] = {system.name: [] for system in systems}
    for number in range(repeats):
        for system in systems if number % 2 == 0 else reversed(systems):
            runs[system.name].append(system.run(scenario, plan))
    return [Line(runs[system.name]) for system in systems]


def settings_of(options: argparse.Namespace) -> dict[str, object]:
    kept = ("connections", "messages", "repeat", "body_bytes", "samples", "processes")
    return {name: getattr(options, name) for name in kept} | {"service_was_running": bool(options.endpoint)}


def print_memory(systems: list[System]) -> None:
    """PSS at the end, by part."""
    for system in systems:
        parts = {
            part: "?" if size is None else f"{size / 2**20:.0f} MiB"
            for part, size in system.pss_bytes().items()
        }
        print(f"memory (PSS) of {system.name}: {', '.join(f'{part} {size}' for part, size in parts.items())}")


if __name__ == "__main__":
    sys.exit(main())
