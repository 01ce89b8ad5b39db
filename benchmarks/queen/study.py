"""Runs the application mode as a study: with FIFO groups and with fair queues. Each study has a separate verdict."""

from dataclasses import asdict
from functools import partial
from statistics import median
from time import sleep
from typing import Final

import uvloop

from benchmarks.measure.outcome import Plan, latency_of
from benchmarks.penstock import Penstock
from benchmarks.report.rows import REFERENCE, Row, text
from benchmarks.scenarios import SCENARIOS
from benchmarks.studies.study import Bench, Document, Findings, Study

from .application import Run, run_application
from .profile import Profile
from .sampler import Sample, database_state

MEBIBYTE = 2**20
# The study waits this long for cleanup before it reads the size. The database stores deduplication ids for five
# minutes.
RETURN_SECONDS = 420
SHOWN_SAMPLES = 600
GOAL_PUSHES_A_CORE = 2_500
# The first rate is near the limit of two cores, so that even a run of a minute exceeds the limit from the start. Later,
# the rate follows the consumption.
FIRST_RATES = {"fifo": 1_000.0, "fair": 4_000.0}


def measure(groups: str, bench: Bench) -> Findings:
    """Uses a separate service and database, because sizes and restarts must belong to this run."""
    options = bench.options
    profile = Profile(
        groups=groups,
        consumers=options.queen_consumers,
        acks_a_call=options.queen_acks,
        rate=options.rate,
        first_rate=FIRST_RATES[groups],
        seconds=max(10.0, options.queen_seconds * options.scale),
    )
    send_before = peer_send_cpu(bench)
    penstock = bench.another_penstock()
    try:
        bench.measure_insert(penstock)
        before = database_state(penstock.dsn)[0] / MEBIBYTE
        run = uvloop.run(run_application(penstock, profile))
        send_after = peer_send_cpu(bench)
        after = wait_until_shrunk(penstock, before, RETURN_SECONDS * min(1.0, options.scale))
        facts = penstock.facts() | {"pss_bytes": penstock.pss_bytes()}
        bench.measure_insert(penstock)
    finally:
        penstock.stop()
    of_a_push = pushing_cores(run) / (pushing_rate(run) or 1) * 1000
    row = (
        row_of(run)
        | compare_with_peer(send_before, send_after, of_a_push, GOAL_PUSHES_A_CORE)
        | {
            "database before MiB": round(before, 1),
            "peak MiB": round(max(sample.database_mib for sample in run.samples), 1),
            "after MiB": round(after, 1),
        }
    )
    print("\n".join(f"{name:>32}  {value}" for name, value in row.items()))
    print(text([{"group": n} | asdict(books) for n, books in enumerate(run.books)]), flush=True)
    return Findings([document_of(run, row, facts)], is_valid(run))


def wait_until_shrunk(penstock: Penstock, before: float, seconds: float) -> float:
    """Waits until the size is at most 1.1 times the size before the run, or until `seconds` have passed.

    Returns the last size in MiB.
    """
    size, waited = database_state(penstock.dsn)[0] / MEBIBYTE, 0.0
    while size > 1.1 * before and waited < seconds:
        sleep(2)
        waited += 2
        size = database_state(penstock.dsn)[0] / MEBIBYTE
    return size


def pushing_cores(run: Run) -> float:
    """Returns the number of cores that the server side used during the push phase."""
    begin, full, _ = (sum(reading.cpu_seconds.values()) for reading in run.readings)
    return (full - begin) / run.push_seconds


def pushing_rate(run: Run) -> float:
    return run.app.ledger.acknowledged / run.push_seconds


def row_of(run: Run) -> Row:
    app, ledger = run.app, run.app.ledger
    begin, _, end = (sum(reading.cpu_seconds.values()) for reading in run.readings)
    cores, pushes = pushing_cores(run), pushing_rate(run)
    deliveries = sum(group.completed for group in ledger.groups)
    waits, completions, pushed = (latency_of(each) for each in (app.waits, app.completions, app.pushes))
    return {
        "pushed": ledger.acknowledged,
        "pushes/s": round(pushes, 1),
        "server cores while pushing": round(cores, 2),
        "pushes/s a core": round(pushes / cores, 1) if cores else None,
        "goal": "reached" if cores and pushes / cores >= GOAL_PUSHES_A_CORE else f"MISSED {GOAL_PUSHES_A_CORE:,}",
        "deliveries/s": round(deliveries / (run.push_seconds + run.drain_seconds), 1),
        "CPU s/1000 pushes": round((end - begin) / max(1, ledger.acknowledged) * 1000, 3),
        "load CPU s": round(run.generator_cpu_seconds, 1),
        "push errors": ledger.push_errors,
        "forwarded": len(ledger.forwarded),
        "forward errors": ledger.forward_errors,
        "stage 2 lost": len(ledger.forwarded - ledger.stage2),
        "stage 2 twice": ledger.stage2_duplicates,
        "calls": ", ".join(f"{action} {len(times):,}" for action, times in app.tally.call_seconds.items() if times),
        "bad answers": app.tally.bad_answers,
        "peak backlog": max(max(sample.backlog) for sample in run.samples),
        "drained in s": round(run.drain_seconds, 1),
        "push p50/p99 ms": f"{pushed.p50_ms:.1f} / {pushed.p99_ms:.1f}",
        "queue wait p50/p99 ms": f"{waits.p50_ms:.0f} / {waits.p99_ms:.0f}",
        "completion p50/p99 ms": f"{completions.p50_ms:.0f} / {completions.p99_ms:.0f}",
        "restarts": run.restarts,
    }


def is_valid(run: Run) -> bool:
    ledger = run.app.ledger
    return (
        all(books.clean for books in run.books)
        and not ledger.push_errors
        and not run.restarts
        and ledger.forwarded == ledger.stage2
        and not ledger.stage2_duplicates
    )


def document_of(run: Run, row: Row, facts: Document) -> Document:
    books = [{"group": n} | asdict(each) for n, each in enumerate(run.books)]
    return {
        "system": "penstock",
        "facts": facts,
        "profile": asdict(run.app.profile),
        "rows": [row],
        "books": books,
        "bad_samples": run.app.tally.bad_samples,
        "series": series(run.samples),
        "marks": [] if is_valid(run) else ["INVALID"],
    }


def series(samples: list[Sample]) -> dict[str, list[tuple[float, float]]]:
    """Returns at most SHOWN_SAMPLES points of each curve, in the form [seconds, value]."""
    kept = samples[:: max(1, len(samples) // SHOWN_SAMPLES)]
    return {
        "backlog of the first group": [(round(s.at, 1), s.backlog[0]) for s in kept],
        "backlog of the second group": [(round(s.at, 1), s.backlog[1]) for s in kept],
        "queue wait p50 ms": [(round(s.at, 1), round(s.waited.p50_ms)) for s in kept],
        "queue wait p99 ms": [(round(s.at, 1), round(s.waited.p99_ms)) for s in kept],
        "completion p50 ms": [(round(s.at, 1), round(s.completed_after.p50_ms)) for s in kept],
        "completion p99 ms": [(round(s.at, 1), round(s.completed_after.p99_ms)) for s in kept],
        "rate of pushes": [(round(s.at, 1), round(s.rate)) for s in kept],
        "database MiB": [(round(s.at, 1), round(s.database_mib, 1)) for s in kept],
        "memory of the service MiB": [(round(s.at, 1), round(s.memory_mib["service"], 1)) for s in kept],
        "database connections": [(round(s.at, 1), s.connections) for s in kept],
    }


STUDIES = [
    Study("queen_fifo", "Queen's application mode, sessions as FIFO groups", partial(measure, "fifo"), alone=True),
    Study("queen_fair", "Queen's application mode, sessions as groups of fair queues", partial(measure, "fair")),
]


# --- peer cost -------------------------------------------------------------------------------------------------------
# Measures the machine's speed before and after a run by the cost of a peer's send.
# The goal was set on another machine, and this machine's speed can change within an hour. The goal is therefore a
# multiple: the allowed cost of a push divided by the peer's cost of a send on the other machine (REFERENCE). On this
# machine, the limit is the same multiple of the peer's current cost.

PEER: Final = "pgmq"
SENDING: Final = "send_1"
RUNS = 3


def peer_send_cpu(bench: Bench) -> float | None:
    """Returns the median of the CPU seconds that the peer's server needs for 1,000 sends with 16 connections.

    Returns None if the run does not include this peer.
    """
    if PEER not in bench.options.peers:
        return None
    scenario, options = SCENARIOS[SENDING], bench.options
    plan = Plan(16, bench.scaled(options.messages, 1_000), options.body_bytes)
    peers = [system for system in bench.supporting(scenario) if system.name == PEER]
    costs = [peer.run(scenario, plan).server_cpu_seconds_per_1000 for peer in peers for _ in range(RUNS)]
    return median(costs) if costs and all(costs) else None


def compare_with_peer(before: float | None, after: float | None, of_a_push: float, pushes_a_core: float) -> Row:
    """Returns rows for the table of the study.

    `of_a_push` is the number of CPU seconds for 1,000 pushes. `pushes_a_core` is the goal, in pushes a second on one
    core.
    """
    if before is None or after is None:
        return {}
    multiple = of_a_push / ((before + after) / 2)
    allowed = 1000 / pushes_a_core / REFERENCE[SENDING][1][PEER]
    return {
        f"CPU s/1000 sends of {PEER} before, after": f"{before:.4f}, {after:.4f}",
        f"CPU of a push : of a send of {PEER}": round(multiple, 2),
        f"the goal's push : {PEER}'s send there": f"{allowed:.2f}, {'reached' if multiple <= allowed else 'MISSED'}",
    }
