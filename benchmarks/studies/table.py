"""The table of targets: every system in turn, repeated, one line for each number of connections."""

from functools import partial

from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.report.runs import HEAD, Line, document, ours_valid, row
from benchmarks.scenarios import SCENARIOS, Scenario
from benchmarks.system import System

from .study import Bench, Document, Findings, Study


def measure(scenario: Scenario, bench: Bench) -> Findings:
    """All systems and numbers of connections for one scenario."""
    lines: list[Line] = []
    documents: list[Document] = []
    able, options = bench.able(scenario), bench.options
    print(HEAD)
    for connections in options.connections if scenario.measured else options.connections[:1]:
        plan = Plan(
            connections,
            bench.scaled(options.messages, 100),
            options.body_bytes,
            bench.scaled(options.samples, 10),
            rate=options.rate,
        )
        for system, line in zip(able, interleaved(scenario, able, plan, options.repeat), strict=True):
            print(row(line), flush=True)
            lines.append(line)
            documents.append(document(line, facts_of(system)))
    return Findings(documents, ours_valid(run for line in lines for run in line.runs))


def facts_of(system: System) -> Document:
    return system.facts() | {"pss_bytes": system.pss_bytes()}


def interleaved(scenario: Scenario, systems: list[System], plan: Plan, repeats: int) -> list[Line]:
    """Each system once in turn, then again, the order reversed every time; a small run of each first."""
    small = Plan(
        plan.connections, max(100, plan.messages // 10), plan.body_bytes, max(10, plan.idle_samples // 10)
    )
    for system in systems:
        system.run(scenario, small)
    runs: dict[str, list[Outcome]] = {system.name: [] for system in systems}
    for number in range(repeats):
        for system in systems if number % 2 == 0 else reversed(systems):
            runs[system.name].append(system.run(scenario, plan))
    return [Line(runs[system.name]) for system in systems]


STUDIES = [Study(scenario.name, scenario.what, partial(measure, scenario)) for scenario in SCENARIOS.values()]
