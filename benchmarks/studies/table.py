"""Measures the table of goals: every system in turn, with repeats, and a line for each number of connections."""

from functools import partial

from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.report.runs import HEAD, RepeatedRuns, document, penstock_valid, row
from benchmarks.scenarios import SCENARIOS, Scenario
from benchmarks.system import System

from .study import Bench, Document, Findings, Study


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
    """Runs each system in turn after a small run of each, with the order reversed every second time."""
    small = Plan(plan.connections, max(100, plan.messages // 10), plan.body_bytes, max(10, plan.idle_samples // 10))
    for system in systems:
        system.run(scenario, small)
    runs: dict[str, list[Outcome]] = {system.name: [] for system in systems}
    for number in range(repeats):
        for system in systems if number % 2 == 0 else reversed(systems):
            runs[system.name].append(system.run(scenario, plan))
    return [RepeatedRuns(runs[system.name]) for system in systems]


STUDIES = [Study(scenario.name, scenario.what, partial(measure, scenario)) for scenario in SCENARIOS.values()]
