"""Measures Penstock and its peers on one machine in one run.

    python -m benchmarks.run --scenario all --peers pgmq bullmq       # or: make bench SCENARIO=all PEERS=pgmq,bullmq

The exit code is 1 if a run of Penstock lost, duplicated, reordered or refused messages. The exit code is 2 if Penstock
did not start, and 3 if the host was busy and the command had --busy refuse.
"""

import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from .load.fleet import Fleet
from .measure.host import BusyHostError, check_host_load, machine
from .options import arguments, select_studies, stored_options
from .report.rows import compared, line_of
from .report.runs import write_results
from .scenarios import SCENARIOS
from .studies.study import Bench, Study
from .system import System, UnavailableError


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the selected studies. The docstring of the module lists the exit codes."""
    options = arguments(argv, (__doc__ or "").split("\n\n")[0])
    # On SIGTERM, the context managers run, and stop all processes that the program has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        bench = Bench(options, Fleet(options.processes), stack)
        stack.callback(bench.fleet.close)
        try:
            results = [run_study(study, bench) for study in select_studies(options.scenario)]
            print_memory(bench.systems)
        except UnavailableError as error:
            print(f"penstock: {error}", file=sys.stderr)
            return 2
        except BusyHostError as error:
            print(error, file=sys.stderr)
            return 3
    return 0 if all(results) else 1


def run_study(study: Study, bench: Bench) -> bool:
    """Runs a study and writes the results file of the study. Returns whether all runs were valid."""
    if study.alone and bench.options.no_penstock:
        return True
    print(f"\n== {study.name}: {study.what}", flush=True)
    bench.load = check_host_load(bench.options.busy)
    bench.insert_cpu_seconds.clear()
    findings = study.measure(bench)
    systems, insert = compared(findings.systems, bench.insert_cpu_seconds)
    if insert is not None:
        print(line_of(systems, insert), flush=True)
    if systems and not bench.options.no_results:
        name = f"{study.name}_open_loop" if bench.options.rate and study.name in SCENARIOS else study.name
        path = write_results(name, systems, stored_options(bench.options), machine(), bench.load, insert)
        print(f"written: {path}")
    return findings.valid


def print_memory(systems: list[System]) -> None:
    """Prints the PSS of each system and part."""
    for system in systems:
        parts = {part: "?" if size is None else f"{size / 2**20:.0f} MiB" for part, size in system.pss_bytes().items()}
        print(f"memory (PSS) of {system.name}: {', '.join(f'{part} {size}' for part, size in parts.items())}")


if __name__ == "__main__":
    sys.exit(main())
