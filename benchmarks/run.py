"""Penstock beside its peers, on one machine in one run.

    python -m benchmarks.run --scenario all --peers pgmq bullmq       # or: make bench SCENARIO=all PEERS=pgmq,bullmq

Exit codes: 1 a run of Penstock lost, doubled, disordered or refused messages; 2 Penstock could not be started; 3 the
host was busy and --busy refuse was given.
"""

import argparse
import sys
from collections.abc import Collection, Sequence
from contextlib import ExitStack

from .catalogue import GROUPS, STUDIES, chosen
from .fleet import Fleet
from .gate import BusyHostError, passed
from .host import machine
from .peers.makers import PEERS
from .report import write_results
from .study import Bench, Study
from .system import System, UnavailableError

KEPT = (
    "connections",
    "messages",
    "repeat",
    "body_bytes",
    "samples",
    "processes",
    "rate",
    "scale",
    "jobs_scale",
    "jobs_repeat",
    "discard_slowest",
    "queen_seconds",
)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description=(__doc__ or "").split("\n\n")[0]
    )
    add = parser.add_argument
    add("--scenario", nargs="+", default=["all"], help=f"of {', '.join((*GROUPS, *STUDIES))}")
    add("--peers", nargs="*", default=["all"], help=f"of all, none, {', '.join(PEERS)}")
    add("--connections", nargs="+", type=int, default=[16], help="of the scenarios of the table")
    add("--messages", type=int, default=100_000, help="messages of one run of the table")
    add("--repeat", type=int, default=3, help="runs of each figure; the median counts")
    add(
        "--scale",
        type=float,
        default=1.0,
        help="multiplies the sizes of all scenarios; 0.02 for a first look",
    )
    add(
        "--rate",
        type=float,
        default=0.0,
        help="messages a second in the table's scenarios, open loop; 0: closed loop",
    )
    add(
        "--jobs-scale",
        type=int,
        default=5,
        help="sizes of the scenarios of bullmq-bench, as multiples of its own",
    )
    add("--jobs-repeat", type=int, default=5)
    add("--discard-slowest", type=int, default=1, help="runs of bullmq-bench that are left out")
    add(
        "--queen-seconds",
        type=float,
        default=600,
        help="how long the application mode is pushed over its rate",
    )
    add("--busy", choices=["mark", "wait", "refuse"], default="mark", help="what to do when the host is busy")
    add("--body-bytes", type=int, default=100)
    add("--samples", type=int, default=300, help="messages of idle_latency")
    add("--processes", type=int, default=1, help="processes of the load generator")
    add("--endpoint", default="", help="measure a running service, e.g. http://127.0.0.1:9324")
    add("--pid", nargs="*", type=int, default=[], help="its processes (roots of trees)")
    add("--database", default="", help="DSN of its database, for the CPU of PostgreSQL")
    add("--no-penstock", action="store_true", help="measure the peers only")
    add("--no-results", action="store_true", help="write no results files")
    options = parser.parse_args(argv)
    options.scenario = listed(parser, options.scenario, (*GROUPS, *STUDIES))
    given = [] if options.peers == ["none"] else options.peers
    options.peers = list(PEERS) if given == ["all"] else listed(parser, given, PEERS)
    return options


def listed(parser: argparse.ArgumentParser, given: Sequence[str], known: Collection[str]) -> list[str]:
    """Names that stand apart or with commas between them."""
    names = [name for text in given for name in text.split(",") if name]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return names


def main(argv: Sequence[str] | None = None) -> int:
    """See the exit codes above."""
    options = arguments(argv)
    with ExitStack() as stack:
        bench = Bench(options, Fleet(options.processes), stack)
        stack.callback(bench.fleet.close)
        try:
            results = [answered(study, bench) for study in chosen(options.scenario)]
            print_memory(bench.systems)
        except UnavailableError as error:
            print(f"penstock: {error}", file=sys.stderr)
            return 2
        except BusyHostError as error:
            print(error, file=sys.stderr)
            return 3
    return 0 if all(results) else 1


def answered(study: Study, bench: Bench) -> bool:
    """One study, its results file, and whether all of it was valid."""
    print(f"\n== {study.name}: {study.what}", flush=True)
    bench.load = passed(bench.options.busy)
    findings = study.measure(bench)
    if findings.systems and not bench.options.no_results:
        path = write_results(study.name, findings.systems, settings_of(bench), machine(), bench.load)
        print(f"written: {path.name}")
    return findings.valid


def settings_of(bench: Bench) -> dict[str, object]:
    options = bench.options
    return {name: getattr(options, name) for name in KEPT} | {"service_was_running": bool(options.endpoint)}


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
