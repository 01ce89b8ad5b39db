"""Runs RabbitMQ's test of lazy queues: a consumer drains a backlog of a million persistent messages of 1,000 bytes.

The study measures each part's memory (PSS) and disk space when the system is empty, full, and drained. The study also
compares the receive rate of the million's first messages with the receive rate of as many messages in a queue without
other messages. The machine's speed changes during the minute of filling. The study therefore measures the other queue
just before and just after, while the million waits. The row also contains the other queue's rate without the million.
"""

from statistics import median

from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.report.rows import Row, text, verdict_of
from benchmarks.report.runs import marks_of, penstock_valid
from benchmarks.scenarios import SCENARIOS
from benchmarks.system import System

from .study import Bench, Document, Findings, Study, facts_of

MEBIBYTE = 2**20
WAITING = 1_000_000
MEASURED = 100_000
SLOW_PEERS = ("moto", "procrastinate", "pgqueuer")  # about 100, 1,000 and 3,000 messages a second
RECEIVE = SCENARIOS["receive_delete_10"]


def measure(bench: Bench) -> Findings:
    """Measures Penstock on a new service and database, and the running peers.

    Other studies would influence the memory of the service.
    """
    ours = [] if bench.options.no_penstock else [bench.another_penstock()]
    peers = [system for system in bench.supporting(RECEIVE) if system.name != "penstock" and is_fast_enough(system)]
    documents: list[Document] = []
    valid = True
    for system in (*ours, *peers):
        document, sound = measure_system(system, bench)
        documents.append(document)
        valid = valid and sound
    for penstock in ours:
        penstock.stop()
    return Findings(documents, valid)


def is_fast_enough(system: System) -> bool:
    return system.name not in SLOW_PEERS


def measure_system(system: System, bench: Bench) -> tuple[Document, bool]:
    waiting, measured = bench.scaled(WAITING, 2_000), bench.scaled(MEASURED, 500)
    alone = Plan(16, measured, 1_000)
    system.run(RECEIVE, alone)
    before = system.run(RECEIVE, alone)
    stages: list[Row] = []
    beside: list[Outcome] = []

    def watch(stage: str) -> None:
        stages.append(stage_of(system, stage))
        if stage in ("filled", "measured"):
            beside.append(system.run(RECEIVE, alone))

    full = system.run(RECEIVE, Plan(16, measured, 1_000, held=waiting - measured), watch)
    after = system.run(RECEIVE, alone)
    rates = rate_row(system, full, beside, [before, after]) | growth_of(stages)
    if system.name == "penstock":
        rates["goals (5, 60, 0.95)"] = "reached" if reaches_goals(rates) else "MISSED"
    print(f"{text(stages)}\n{text([rates])}", flush=True)
    runs = [before, *beside, full, after]
    document: Document = {
        "system": system.name, "facts": facts_of(system), "rows": [rates], "stages": stages, "marks": marks_of(runs)
    }  # fmt: skip
    return document, penstock_valid(runs)


def stage_of(system: System, stage: str) -> Row:
    """Returns memory and disk space in MiB at one stage of a run."""
    parts = {
        f"{part} MiB": None if size is None else round(size / MEBIBYTE, 1) for part, size in system.pss_bytes().items()
    }
    disk = system.disk_bytes()
    return {"system": system.name, "stage": stage, **parts, "disk MiB": None if disk is None else disk // MEBIBYTE}


def growth_of(stages: list[Row]) -> Row:
    """Returns how much each part grows with the million messages, in MiB."""
    by_stage = {str(row["stage"]): row for row in stages}
    empty, filled = by_stage.get("empty", {}), by_stage.get("filled", {})
    return {f"{name} more": round(more, 1) for name in empty if (more := difference(filled, empty, name)) is not None}


def difference(after: Row, before: Row, name: str) -> float | None:
    new, old = after.get(name), before.get(name)
    if not isinstance(new, int | float) or not isinstance(old, int | float):
        return None
    return new - old


def reaches_goals(row: Row) -> bool:
    """Returns whether the row reaches the goals.

    The goals allow the service to grow by 5 MiB and the database by 60 MiB, and require a receive rate of at least 0.95
    of the rate on the empty queue.
    """
    service, database, ratio = (row.get(name) for name in ("service MiB more", "postgresql MiB more", "ratio"))
    return (
        isinstance(service, float)
        and isinstance(database, float)
        and isinstance(ratio, float)
        and (service <= 5 and database <= 60 and ratio >= 0.95)
    )


def rate_row(system: System, full: Outcome, beside: list[Outcome], alone: list[Outcome]) -> Row:
    """Returns rates in messages a second.

    `beside` contains runs on an empty queue while the million waits, and `alone` runs without the million.
    """
    empty = median(run.received_per_second for run in beside)
    return {
        "system": system.name,
        "waiting": full.plan.held + full.plan.messages,
        "received/s of the full": full.received_per_second,
        "received/s of the empty": empty,
        "ratio": round(full.received_per_second / empty, 3) if empty else None,
        "without the million": median(run.received_per_second for run in alone),
        "verdict": verdict_of(full),
    }


STUDIES = [Study("million", "RabbitMQ: a million messages of 1,000 bytes wait", measure)]
