"""Measures the machine's speed at the time of a run: the cost of a peer's send just before and just after.

The goal was set on another machine, and this machine may change its speed within an hour. The goal is therefore a
multiple: the allowed cost of a push divided by the peer's cost of a send on that machine (reference.py). On this
machine, the same multiple of the peer's present cost is allowed.
"""

from statistics import median
from typing import Final

from benchmarks.measure.outcome import Plan
from benchmarks.report.reference import REFERENCE
from benchmarks.report.rows import Row
from benchmarks.scenarios import SCENARIOS
from benchmarks.studies.study import Bench

PEER: Final = "pgmq"
SENDING: Final = "send_1"
RUNS = 3


def peer_send_cpu(bench: Bench) -> float | None:
    """Returns the median of the peer's server CPU seconds for 1,000 sends (16 connections), or None if the run does
    not measure the peer.
    """
    if PEER not in bench.options.peers:
        return None
    scenario, options = SCENARIOS[SENDING], bench.options
    plan = Plan(16, bench.scaled(options.messages, 1_000), options.body_bytes)
    peers = [system for system in bench.supporting(scenario) if system.name == PEER]
    costs = [peer.run(scenario, plan).server_cpu_seconds_per_1000 for peer in peers for _ in range(RUNS)]
    return median(costs) if costs and all(costs) else None


def compare_with_peer(before: float | None, after: float | None, of_a_push: float, pushes_a_core: float) -> Row:
    """Lines of the table. `of_a_push` is the CPU seconds of 1,000 pushes. `pushes_a_core` is the goal in pushes a
    second.
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
