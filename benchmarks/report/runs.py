"""Computes medians of repeats, prints the table, and writes a raw run's file."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks.measure.host import HostLoad
from benchmarks.measure.outcome import Outcome

from .summary import RAW, write_summary

FOREIGN_SHARE = 0.10  # The report marks a figure if other programs used more than this share of all cores.
SHORT_CPU_SECONDS = 1.0  # A CPU figure below this limit is coarse, because /proc counts 1/100 s for each process.


@dataclass(frozen=True, slots=True)
class Goal:
    """Holds Penstock's goals with 16 connections and bodies of 100 bytes (docs/explain/benchmarks.md)."""

    messages_per_second: float = 0.0
    cpu_seconds_per_1000: float = 0.0
    p50_ms: float = 0.0
    p99_ms: float = 0.0


CONNECTIONS = 16  # The goals apply to this number of connections.
GOALS = {
    "send_1": Goal(15_000, 0.060),
    "send_10": Goal(50_000, 0.020),
    "warski": Goal(15_000, 0.060),
    "receive_delete_10": Goal(30_000, 0.035),
    "receive_delete_1": Goal(6_000, 0.15),
    "idle_latency": Goal(p50_ms=1.0, p99_ms=5.0),
}


@dataclass(slots=True)
class RepeatedRuns:
    """Holds the repeats of one scenario, system and number of connections."""

    runs: list[Outcome]

    def figures(self, choose: Callable[[list[float]], float] = median) -> dict[str, float]:
        """Returns the median of all repeats for each figure, or the value that `choose` selects."""
        runs = [figures_of(run) for run in self.runs]
        return {name: choose([run.get(name, 0.0) for run in runs]) for name in runs[0]}

    @property
    def marks(self) -> list[str]:
        """Returns the reasons not to trust the figures."""
        marks = marks_of(self.runs)
        timed = self.runs[0].scenario != "idle_latency"
        if timed and median(sum(run.server_cpu_seconds.values()) for run in self.runs) < SHORT_CPU_SECONDS:
            marks.append("short")
        return marks


def figures_of(run: Outcome) -> dict[str, float]:
    """Returns the figures of one run. CPU time is in seconds for 1,000 messages."""
    for_1000 = 1000 / run.messages if run.messages else 0.0
    return {
        "messages_per_second": run.messages_per_second,
        "sent_per_second": run.sent_per_second,
        "received_per_second": run.received_per_second,
        "server_cpu_seconds_per_1000": run.server_cpu_seconds_per_1000,
        "p50_ms": run.latency.p50_ms,
        "p99_ms": run.latency.p99_ms,
        "generator_cpu_seconds_per_1000": run.generator_cpu_seconds * for_1000,
        "foreign_cpu_share": run.foreign_cpu_share,
    } | {f"{part}_cpu_seconds_per_1000": seconds * for_1000 for part, seconds in run.server_cpu_seconds.items()}


def marks_of(runs: Sequence[Outcome]) -> list[str]:
    """Returns a mark for the first invalid run, and a mark if the machine was busy with other work."""
    bad = [run for run in runs if not run.valid]
    marks = [f"INVALID: {run.verdict}, bad answers {run.bad_answers} {run.bad_samples[:1]}" for run in bad[:1]]
    return marks + ["busy host"] * any(run.foreign_cpu_share > FOREIGN_SHARE for run in runs)


def penstock_valid(runs: Iterable[Outcome]) -> bool:
    """Returns whether all runs of Penstock were valid. The report only marks peers' errors."""
    return all(run.valid for run in runs if run.system == "penstock")


HEAD = (
    f"{'scenario':<18}{'conn':>5} {'system':<14}{'msg/s':>10}{'min':>10}{'max':>10}{'CPU s/1000':>11}{'p50 ms':>8}"
    f"{'p99 ms':>8}{'load CPU':>9}  server CPU by part"
)


def row(repeated: RepeatedRuns) -> str:
    run, figures = repeated.runs[0], repeated.figures()
    slowest, fastest = (repeated.figures(end)["messages_per_second"] for end in (min, max))
    parts = ", ".join(f"{part} {figures[f'{part}_cpu_seconds_per_1000']:.4f}" for part in run.server_cpu_seconds)
    cells = (
        f"{run.scenario:<18}{run.plan.connections:>5} {run.system:<14}{figures['messages_per_second']:>10,.0f}"
        f"{slowest:>10,.0f}{fastest:>10,.0f}"
        f"{figures['server_cpu_seconds_per_1000']:>11.4f}{figures['p50_ms']:>8.2f}{figures['p99_ms']:>8.2f}"
        f"{figures['generator_cpu_seconds_per_1000']:>9.4f}  {parts}"
    )
    return "  ".join(
        [
            cells,
            *([f"sent {figures['sent_per_second']:,.0f}/s"] if run.scenario == "warski" else []),
            *goal_notes(repeated),
            *repeated.marks,
        ]
    )


def goal_notes(repeated: RepeatedRuns) -> list[str]:
    """Returns notes that say whether Penstock reaches its goal. There are no notes for peers, or for runs whose
    settings differ from the settings of the goal.
    """
    run, figures = repeated.runs[0], repeated.figures()
    goal = GOALS.get(run.scenario)
    if (
        goal is None
        or run.system != "penstock"
        or (run.plan.connections, run.plan.body_bytes, run.plan.rate) != (CONNECTIONS, 100, 0.0)
    ):
        return []
    checks = [
        (goal.messages_per_second, figures["messages_per_second"] >= goal.messages_per_second, "msg/s ≥"),
        (goal.cpu_seconds_per_1000, figures["server_cpu_seconds_per_1000"] <= goal.cpu_seconds_per_1000, "CPU ≤"),
        (goal.p50_ms, figures["p50_ms"] <= goal.p50_ms, "p50 ≤"),
        (goal.p99_ms, figures["p99_ms"] <= goal.p99_ms, "p99 ≤"),
    ]
    return [f"{'reached' if met else 'MISSED'} {what} {wanted:g}" for wanted, met, what in checks if wanted]


def document(repeated: RepeatedRuns, facts: dict[str, object]) -> dict[str, object]:
    """Returns the repeats in the stored format."""
    return {
        "system": repeated.runs[0].system,
        "connections": repeated.runs[0].plan.connections,
        "facts": facts,
        "median": rounded(repeated.figures()),
        "min": rounded(repeated.figures(min)),
        "max": rounded(repeated.figures(max)),
        "marks": repeated.marks,
        "runs": [stored_run(run) for run in repeated.runs],
    }


def rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in figures.items()}


def stored_run(run: Outcome) -> dict[str, object]:
    """Returns a run in the stored format, including the figures that are computed from it."""
    return asdict(run) | {
        "messages_per_second": run.messages_per_second,
        "server_cpu_seconds": run.server_cpu_seconds,
        "server_cpu_seconds_per_1000": run.server_cpu_seconds_per_1000,
        "foreign_cpu_share": run.foreign_cpu_share,
    }


def write_results(
    scenario: str,
    lines: Iterable[dict[str, object]],
    settings: dict[str, object],
    machine: dict[str, object],
    load: HostLoad,
    bare_insert: dict[str, object] | None = None,
) -> Path:
    """Writes the raw run to `raw/<UTC time>-<scenario>.json`, and writes the summary of its scenario. Returns the path
    of the raw run.

    `bare_insert` is the unit of the multiples, or None.
    """
    now = datetime.now(UTC)
    RAW.mkdir(exist_ok=True)
    path = RAW / f"{now:%Y-%m-%dT%H%M%SZ}-{scenario}.json"
    content = {
        "scenario": scenario,
        "date": now.isoformat(timespec="seconds"),
        "machine": machine,
        "load_before": asdict(load) | {"busy": load.busy},
        "settings": settings,
        "bare_insert": bare_insert,
        "systems": list(lines),
    }
    path.write_text(json.dumps(content, indent=1, default=str) + "\n")
    write_summary(path)
    return path
