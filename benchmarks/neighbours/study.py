"""Measures the quiet account alone, during each noise from another account, and during all noises.

The order of the phases changes in each round. A ratio compares phases of the same round. The goal is at most twice the
value of the quiet phase.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from functools import partial
from statistics import median

import msgspec
import uvloop

from benchmarks.measure.cpu import Reading
from benchmarks.report.rows import Row, text
from benchmarks.report.runs import FOREIGN_SHARE
from benchmarks.studies.study import Bench, Document, Findings, Study

from .noise import Done, Order
from .probe import Probe, Sample
from .setup import POLLED_QUEUES, Installation, Sizes, clean_up, fill_schedules, set_up, settings

CORES = os.cpu_count() or 1
SECONDS = 60.0
SETTLE_SECONDS = 5.0
GOAL = 2.0
QUOTA = 200  # each account's requests a second; the quiet account makes far fewer
QUIET = "none"
KINDS = ("schedules", "webhooks", "policies", "polls", "senders")
PHASES: Mapping[str, Sequence[str]] = {QUIET: (), **{kind: (kind,) for kind in KINDS}, "all": KINDS}
MEASURES = {"send": "sends", "fire": "fires", "webhook": "webhooks"}


@dataclass(slots=True)
class Phase:
    """Holds the results of one phase: the probe's figures, the noises' work, and each process's use of cores."""

    sample: Sample
    done: dict[str, Done] = field(default_factory=dict)
    cores: dict[str, float] = field(default_factory=dict)


class Noises:
    """Runs the noises of a phase."""

    def __init__(self, installation: Installation, sizes: Sizes, kinds: Sequence[str]) -> None:
        self._processes: dict[str, subprocess.Popen[str]] = {}
        if "schedules" in kinds:
            fill_schedules(installation, sizes.schedules)
        for kind in kinds:
            if kind != "schedules":
                self._processes[kind] = start(order_of(kind, installation, sizes))
        for process in self._processes.values():
            wait_for_ready(process)

    def end(self) -> dict[str, Done]:
        """Stops the noises, and returns the results of each noise."""
        found = {}
        for kind, process in self._processes.items():
            output, _ = process.communicate("", timeout=120)
            found[kind] = msgspec.json.decode(output.splitlines()[-1], type=Done)
        return found


def order_of(kind: str, installation: Installation, sizes: Sizes) -> Order:
    names = {
        "polls": [f"polled{number}" for number in range(POLLED_QUEUES)],
        "senders": ["noise"],
        "policies": [installation.topic_arn],
        "webhooks": ["noise"],
    }[kind]
    count = {"polls": sizes.polls, "senders": sizes.senders, "policies": sizes.publishers, "webhooks": 1}[kind]
    endpoint = installation.service.endpoint
    return Order(kind, endpoint, installation.noisy, count, names, installation.slow_port)


def start(order: Order) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "benchmarks.neighbours.noise", msgspec.json.encode(order).decode()]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for_ready(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise RuntimeError("a noise did not begin; its output has the reason")


def run_phase(installation: Installation, sizes: Sizes, kinds: Sequence[str], seconds: float) -> Phase:
    noises = Noises(installation, sizes, kinds)
    meter = installation.service.meter
    try:
        before = meter.read()
        sample = uvloop.run(Probe(installation.quiet, seconds).run())
        after = meter.read()
    finally:
        done = noises.end()
    clean_up(installation)
    time.sleep(SETTLE_SECONDS)
    return Phase(sample, done, cores_of(before, after, sample, done))


def cores_of(before: Reading, after: Reading, sample: Sample, done: Mapping[str, Done]) -> dict[str, float]:
    """Returns the average number of cores that the server side, the probe, the noisy clients and all other programs
    used.
    """
    seconds = (after.host_seconds - before.host_seconds) / CORES
    used = {
        "server": sum(after.cpu_seconds.values()) - sum(before.cpu_seconds.values()),
        "probe": sample.cpu_seconds,
        "noises": sum(result.cpu_seconds for result in done.values()),
    }
    used["others"] = after.host_busy_seconds - before.host_busy_seconds - sum(used.values())
    return {who: max(0.0, each) / seconds for who, each in used.items()}


def measure(quotas: Mapping[str, str], bench: Bench) -> Findings:
    """Runs all phases in each round on a service with these settings, and prints a row for each phase."""
    seconds = max(10.0, SECONDS * float(bench.options.scale))
    sizes = Sizes(*(bench.scaled(size, 1) for size in astuple(Sizes())))
    installation = set_up(bench.another_penstock({**settings(), **quotas}))
    rounds = []
    for number in range(bench.options.repeat):
        rounds.append({name: run_phase(installation, sizes, PHASES[name], seconds) for name in order(number)})
        print(text(rows_of(rounds)), flush=True)
    service = installation.service
    facts = service.facts() | {"pss_bytes": service.pss_bytes(), "sizes": asdict(sizes)}
    service.stop()
    rows = rows_of(rounds)
    samples = [phase.sample for each in rounds for phase in each.values()]
    print("".join(f"refused: {sample.refusals}\n" for sample in samples if sample.refused), end="", flush=True)
    document: Document = {"system": "penstock", "facts": facts, "rows": rows, "marks": marks_of(rounds)}
    return Findings([document], valid=not any(sample.refused for sample in samples))


def order(number: int) -> list[str]:
    """Returns the phases of a round. Each round begins with a different phase, and every second round reverses the
    order.
    """
    names = list(PHASES)
    names = names[number % len(names) :] + names[: number % len(names)]
    return names[::-1] if number % 2 else names


def rows_of(rounds: Sequence[Mapping[str, Phase]]) -> list[Row]:
    return [row_of(name, [(each[QUIET], each[name]) for each in rounds]) for name in PHASES]


def row_of(name: str, pairs: Sequence[tuple[Phase, Phase]]) -> Row:
    """Returns the medians of a phase over all rounds, together with the medians of the quiet phase."""
    row: Row = {"noise": name}
    ratios = []
    for title, kind in MEASURES.items():
        found = [phase.sample.p99_ms(kind) for _, phase in pairs]
        quotients = [phase.sample.p99_ms(kind) / quiet.sample.p99_ms(kind) for quiet, phase in pairs]
        ratios.append(median(quotients))
        row |= {f"{title} p99 ms": round(median(found), 1), f"{title} : quiet": round(ratios[-1], 2)}
    row["goal (2)"] = "reached" if max(ratios) <= GOAL else "MISSED"
    row["missing"] = sum(sum(phase.sample.missing.values()) for _, phase in pairs)
    row["refused"] = sum(phase.sample.refused for _, phase in pairs)
    row |= {f"{who} cores": round(median(phase.cores[who] for _, phase in pairs), 2) for who in pairs[0][1].cores}
    return row | {"noises did": done_text([phase.done for _, phase in pairs])}


def done_text(found: Sequence[Mapping[str, Done]]) -> str:
    """Returns the median numbers of responses and refusals for each noise in a phase."""
    return ", ".join(
        f"{kind} {round(median(done[kind].answers for done in found)):,}"
        f" ({round(median(done[kind].refused for done in found)):,} refused)"
        for kind in found[0]
    )


def marks_of(rounds: Sequence[Mapping[str, Phase]]) -> list[str]:
    """Returns a mark if other programs used the machine during the phase."""
    foreign = max(phase.cores["others"] for each in rounds for phase in each.values())
    return ["busy host"] if foreign > FOREIGN_SHARE * CORES else []


STUDIES = [
    Study(
        "neighbours",
        f"effect of a noisy account on a quiet account, with a quota of {QUOTA} requests a second",
        partial(measure, {"QUOTA_REQUESTS_PER_SECOND": f"{QUOTA}"}),
        alone=True,
    ),
    Study(
        "neighbours_unlimited",
        "effect of a noisy account on a quiet account, without a quota of requests",
        partial(measure, {}),
        alone=True,
    ),
]
