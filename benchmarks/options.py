"""Defines the command's options: sizes, the reaction to a busy host, and the address of a running service."""

import argparse
from collections.abc import Callable, Collection, Sequence
from functools import partial

from .neighbours import study as neighbours
from .peers.makers import PEERS
from .queen import study as queen
from .studies import (
    buses,
    checks,
    fairness,
    fan_out,
    growth,
    hostile,
    jobs,
    long_polls,
    million,
    schedules,
    stored_events,
    warski,
)
from .studies.study import STUDIES as TABLE
from .studies.study import Bench, Findings, Study

# Lists the name, default and help text of each option. The default has the type of the option. The results include the
# values.
SIZES: tuple[tuple[str, int | float, str], ...] = (
    ("messages", 100_000, "messages in each run of the table's scenarios"),
    ("repeat", 3, "runs of each figure; the median counts"),
    ("body-bytes", 100, "bytes of a body in the table's scenarios"),
    ("samples", 300, "messages in each run of idle_latency"),
    ("processes", 1, "processes of the load generator"),
    ("scale", 1.0, "factor for sizes and durations of all scenarios; 0.02 for a quick trial"),
    (
        "rate",
        0.0,
        "messages a second; 0: a closed loop in the table's scenarios, an adaptive rate in the application mode",
    ),
    ("jobs-scale", 5, "sizes of bullmq-bench's scenarios, as multiples of the originals"),
    ("jobs-repeat", 5, "runs of bullmq-bench's scenarios"),
    ("discard-slowest", 1, "number of the slowest runs of bullmq-bench's scenarios to leave out"),
    ("queen-consumers", 60, "consumers in each of the application mode's two groups"),
    ("queen-acks", 10, "messages that a consumer acknowledges with one call, 1 to 10"),
    ("queen-seconds", 600.0, "seconds for which the application mode's producers exceed the consumers' rate"),
)


def arguments(argv: Sequence[str] | None, description: str) -> argparse.Namespace:
    """Parses the arguments. Commas or spaces can separate names. An unknown name ends the program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=description)
    add = parser.add_argument
    add("--scenario", nargs="+", default=["all"], help=f"names of {', '.join((*GROUPS, *STUDIES))}")
    add("--peers", nargs="*", default=["all"], help=f"names of all, none, {', '.join(PEERS)}")
    add("--connections", nargs="+", type=int, default=[16], help="numbers of connections in the table's scenarios")
    for name, default, text in SIZES:
        add(f"--{name}", type=type(default), default=default, help=f"{text} (default: {default:g})")
    add("--busy", choices=["mark", "wait", "refuse"], default="mark", help="what to do when the host is busy")
    add("--endpoint", default="", help="measure a running service, e.g. http://127.0.0.1:9324")
    add(
        "--pid",
        nargs="*",
        type=int,
        default=[],
        help="process ids of the running service (roots of process trees)",
    )
    add("--database", default="", help="DSN of the running service's database, for the CPU of PostgreSQL")
    add("--no-penstock", action="store_true", help="measure the peers only")
    add("--no-results", action="store_true", help="write neither a raw run nor a summary")
    options = parser.parse_args(argv)
    options.scenario = parse_names(parser, options.scenario, (*GROUPS, *STUDIES))
    given = [] if options.peers == ["none"] else options.peers
    options.peers = list(PEERS) if given == ["all"] else parse_names(parser, given, PEERS)
    return options


def parse_names(parser: argparse.ArgumentParser, given: Sequence[str], known: Collection[str]) -> list[str]:
    names = [name for text in given for name in text.split(",") if name]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return names


def stored_options(options: argparse.Namespace) -> dict[str, object]:
    """Returns the options that influence the figures."""
    kept = {name.replace("-", "_"): getattr(options, name.replace("-", "_")) for name, *_ in SIZES}
    return {"connections": options.connections} | kept | {"service_was_running": bool(options.endpoint)}


# --- catalogue -------------------------------------------------------------------------------------------------------
# All studies by name, and names for groups of studies.


def run_program(main: Callable[[list[str]], int], bench: Bench) -> Findings:
    """Runs a study that is also a separate program, with the program's defaults. A small --scale shortens the run."""
    scale = float(bench.options.scale)
    seconds = [] if scale >= 1 else ["--seconds", f"{max(5, round(30 * scale))}"]
    return Findings([], main(seconds + ["--no-results"] * bool(bench.options.no_results)) == 0)


PROGRAMS = [
    Study("fairness", "waits of quiet groups beside a noisy group", partial(run_program, fairness.main), alone=True),
    Study(
        "schedules",
        "lag of schedules, and cost of idle schedules",
        partial(run_program, schedules.main),
        alone=True,
    ),
]
PARTS: dict[str, list[Study]] = {
    "table": TABLE,
    "warski": warski.STUDIES,
    "jobs": jobs.STUDIES,
    "million": million.STUDIES,
    "queen": queen.STUDIES,
    "hostile": hostile.STUDIES,
    "long_polls": long_polls.STUDIES,
    "fan_out": fan_out.STUDIES,
    "bus": buses.STUDIES + stored_events.STUDIES,
    "checks": checks.STUDIES,
    "neighbours": neighbours.STUDIES,
    "others": PROGRAMS,
    "growth": growth.STUDIES,
}
STUDIES: dict[str, Study] = {study.name: study for studies in PARTS.values() for study in studies}
GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(STUDIES),
    **{name: tuple(study.name for study in studies) for name, studies in PARTS.items()},
    "warski": ("warski", *(study.name for study in warski.STUDIES)),
}


def select_studies(names: list[str]) -> list[Study]:
    """Returns the studies with these names or in these groups, in the order of the catalogue and without repetition."""
    selected = {name for given in names for name in GROUPS.get(given, (given,))}
    return [study for name, study in STUDIES.items() if name in selected]
