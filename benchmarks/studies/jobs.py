"""Runs the four scenarios of bullmq-bench, which ChasquiMQ also uses: add, bulk add, one worker, and one worker with
100 concurrent jobs.

A job is a message. An SQS call contains at most 10 messages. A bulk of 50 is therefore five concurrent calls. A worker
with 100 concurrent jobs is ten consumers, and each consumer receives and deletes 10 messages. The original divides the
jobs of the warm-up and of the benchmark by the benchmark's time only. "jobs/s" is the true rate, and "as stated there"
is the original's rate.
"""

from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev

from benchmarks.load import flows
from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.measure.tally import percentile
from benchmarks.report.rows import Row, text, verdict_of
from benchmarks.report.runs import marks_of, penstock_valid
from benchmarks.scenarios import RECEIVES, SENDS, Scenario
from benchmarks.system import System

from .study import Bench, Document, Findings, Study, facts_of

WARM_UP_JOBS = 1_000


@dataclass(frozen=True, slots=True)
class JobScenario:
    """Describes a scenario: the original's number of jobs, the number of connections, and the payload."""

    scenario: Scenario
    jobs: int
    connections: int
    payload: str
    body_bytes: int = 50  # one UUID in a JSON object, like the original's "1x1 tiny"


JOBS = [
    JobScenario(
        Scenario("queue_add", "add a job at a time, 10x10 UUIDs", (flows.send_singly,), SENDS, drains=False),
        1_000, 1, "uuids",
    ),
    JobScenario(
        Scenario("queue_add_bulk", "add 50 jobs at a time", (flows.send_tens,), SENDS, drains=False),
        10_000, 5, "text",
    ),
    JobScenario(
        Scenario("worker_generic", "one job at a time", (flows.receive_delete_singly,), RECEIVES, filled=True),
        1_000, 1, "text",
    ),
    JobScenario(
        Scenario("worker_concurrent", "100 jobs at once", (flows.receive_delete_tens,), RECEIVES, filled=True),
        10_000, 10, "text",
    ),
]  # fmt: skip


def measure(job: JobScenario, bench: Bench) -> Findings:
    """Runs each system in turn, `--jobs-repeat` times after a warm-up, and drops the slowest runs."""
    options = bench.options
    able = bench.supporting(job.scenario)
    jobs = bench.scaled(job.jobs * options.jobs_scale, 50)
    warm_up = bench.scaled(WARM_UP_JOBS * options.jobs_scale, 50)
    runs: dict[str, list[Outcome]] = {system.name: [] for system in able}
    for _ in range(options.jobs_repeat):
        for system in able:
            system.run(job.scenario, plan_of(job, warm_up))
            runs[system.name].append(system.run(job.scenario, plan_of(job, jobs)))
    kept = {name: without_slowest(found, options.discard_slowest) for name, found in runs.items()}
    rows = [row_of(system.name, kept[system.name], warm_up) for system in able]
    print(text(rows), flush=True)
    documents = [document_of(system, row, runs[system.name]) for system, row in zip(able, rows, strict=True)]
    return Findings(documents, penstock_valid(run for found in runs.values() for run in found))


def plan_of(job: JobScenario, jobs: int) -> Plan:
    return Plan(job.connections, jobs, job.body_bytes, payload=job.payload)


def without_slowest(runs: list[Outcome], count: int) -> list[Outcome]:
    """Returns the runs without the `count` slowest runs, but at least one run."""
    ordered = sorted(runs, key=lambda run: run.messages_per_second, reverse=True)
    return ordered[: max(1, len(ordered) - count)]


def row_of(name: str, runs: list[Outcome], warm_up: int) -> Row:
    """Returns the distribution of the rates over the runs, the CPU time of the server side, and the latencies of single
    calls."""
    rates = [run.messages_per_second for run in runs]
    used = [sum(run.server_cpu_seconds.values()) for run in runs]
    return {
        "system": name,
        "jobs": runs[0].messages,
        "jobs/s": fmean(rates),
        "p50 of runs": percentile(rates, 0.5),
        "p95": percentile(rates, 0.95),
        "p99": percentile(rates, 0.99),
        "stddev": stdev(rates) if len(rates) > 1 else 0.0,
        "as stated there": fmean((run.messages + warm_up) / run.elapsed_seconds for run in runs),
        "CPU %": fmean(cpu / run.elapsed_seconds * 100 for cpu, run in zip(used, runs, strict=True)),
        "jobs/CPU s": sum(run.messages for run in runs) / max(sum(used), 0.01),
        "call p50 ms": fmean(run.latency.p50_ms for run in runs),
        "call p95 ms": fmean(run.latency.p95_ms for run in runs),
        "call p99 ms": fmean(run.latency.p99_ms for run in runs),
        "verdict": next((verdict_of(run) for run in runs if not run.valid), verdict_of(runs[0])),
    }


def document_of(system: System, row: Row, runs: list[Outcome]) -> Document:
    rates = [run.messages_per_second for run in runs]
    return {
        "system": system.name, "facts": facts_of(system), "rows": [row], "all_rates": rates, "marks": marks_of(runs)
    }  # fmt: skip


STUDIES = [Study(job.scenario.name, f"bullmq-bench: {job.scenario.what}", partial(measure, job)) for job in JOBS]
