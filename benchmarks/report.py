"""Medians of repeats, the table on the terminal and the results file."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from .host import HostLoad
from .outcome import Outcome

RESULTS = Path(__file__).parent / "results"
FOREIGN_SHARE = 0.10  # CPU of others during a run, as a part of all cores, above which the figure is marked
SHORT_CPU_SECONDS = 1.0  # /proc counts in 1/100 s a process: below this the CPU figure is coarse


@dataclass(frozen=True, slots=True)
class Goal:
    """What Penstock must reach with 16 connections and 100-byte bodies; see docs/benchmarks.md."""

    messages_per_second: float = 0.0
    cpu_seconds_per_1000: float = 0.0
    p50_ms: float = 0.0
    p99_ms: float = 0.0


CONNECTIONS = 16  # for which the goals are set
GOALS = {
    "send_1": Goal(15_000, 0.060),
    "send_10": Goal(50_000, 0.020),
    "warski": Goal(15_000, 0.060),
    "receive_delete_10": Goal(30_000, 0.035),
    "receive_delete_1": Goal(6_000, 0.15),
    "idle_latency": Goal(p50_ms=1.0, p99_ms=5.0),
}


@dataclass(slots=True)
class Line:
    """All repeats of one scenario, system and number of connections."""

    runs: list[Outcome]

    def median_of(self, value: Callable[[Outcome], float]) -> float:
        return median(map(value, self.runs))

    def figures(self) -> dict[str, float]:
        """Medians; each figure is taken over the repeats by itself."""
        rates = [run.messages_per_second for run in self.runs]
        return {
            "messages_per_second": self.median_of(lambda run: run.messages_per_second),
            "messages_per_second_min": min(rates),
            "messages_per_second_max": max(rates),
            "sent_per_second": self.median_of(lambda run: run.sent_per_second),
            "received_per_second": self.median_of(lambda run: run.received_per_second),
            "server_cpu_seconds_per_1000": self.median_of(lambda run: run.server_cpu_seconds_per_1000),
            "p50_ms": self.median_of(lambda run: run.latency.p50_ms),
            "p99_ms": self.median_of(lambda run: run.latency.p99_ms),
            "generator_cpu_seconds_per_1000": self.median_of(
                lambda run: run.generator_cpu_seconds / run.messages * 1000 if run.messages else 0.0
            ),
            "foreign_cpu_share": max(run.foreign_cpu_share for run in self.runs),
        } | {f"{part}_cpu_seconds_per_1000": self.part(part) for part in self.runs[0].server_cpu_seconds}

    def part(self, part: str) -> float:
        return self.median_of(
            lambda run: run.server_cpu_seconds.get(part, 0.0) / run.messages * 1000 if run.messages else 0.0
        )

    @property
    def marks(self) -> list[str]:
        """Why the figures are not to be trusted; empty when nothing is wrong."""
        marks = marks_of(self.runs)
        timed = self.runs[0].scenario != "idle_latency"
        if timed and self.median_of(lambda run: sum(run.server_cpu_seconds.values())) < SHORT_CPU_SECONDS:
            marks.append("short")
        return marks


def marks_of(runs: Sequence[Outcome]) -> list[str]:
    """A run that was not valid; a machine that was busy with other work."""
    bad = [run for run in runs if not run.valid]
    marks = [
        f"INVALID: {run.verdict}, bad answers {run.bad_answers} {run.bad_samples[:1]}" for run in bad[:1]
    ]
    return marks + ["busy host"] * any(run.foreign_cpu_share > FOREIGN_SHARE for run in runs)


def ours_valid(runs: Iterable[Outcome]) -> bool:
    """Whether every run of Penstock was; faults of peers are marked, but are not ours."""
    return all(run.valid for run in runs if run.system == "penstock")


HEAD = (
    f"{'scenario':<18}{'conn':>5} {'system':<14}{'msg/s':>10}{'min':>10}{'max':>10}{'CPU s/1000':>11}{'p50 ms':>8}"
    f"{'p99 ms':>8}{'load CPU':>9}  server CPU by part"
)


def row(line: Line) -> str:
    """One line of the table."""
    run, figures = line.runs[0], line.figures()
    parts = ", ".join(f"{part} {line.part(part):.4f}" for part in run.server_cpu_seconds)
    cells = (
        f"{run.scenario:<18}{run.plan.connections:>5} {run.system:<14}{figures['messages_per_second']:>10,.0f}"
        f"{figures['messages_per_second_min']:>10,.0f}{figures['messages_per_second_max']:>10,.0f}"
        f"{figures['server_cpu_seconds_per_1000']:>11.4f}{figures['p50_ms']:>8.2f}{figures['p99_ms']:>8.2f}"
        f"{figures['generator_cpu_seconds_per_1000']:>9.4f}  {parts}"
    )
    return "  ".join(
        [
            cells,
            *([f"sent {figures['sent_per_second']:,.0f}/s"] if run.scenario == "warski" else []),
            *goal_notes(line),
            *line.marks,
        ]
    )


def goal_notes(line: Line) -> list[str]:
    """Whether Penstock reaches its goal; nothing for peers and for other settings than the goal's."""
    run, figures = line.runs[0], line.figures()
    goal = GOALS.get(run.scenario)
    if (
        goal is None
        or run.system != "penstock"
        or (run.plan.connections, run.plan.body_bytes, run.plan.rate) != (CONNECTIONS, 100, 0.0)
    ):
        return []
    checks = [
        (goal.messages_per_second, figures["messages_per_second"] >= goal.messages_per_second, "msg/s ≥"),
        (
            goal.cpu_seconds_per_1000,
            figures["server_cpu_seconds_per_1000"] <= goal.cpu_seconds_per_1000,
            "CPU ≤",
        ),
        (goal.p50_ms, figures["p50_ms"] <= goal.p50_ms, "p50 ≤"),
        (goal.p99_ms, figures["p99_ms"] <= goal.p99_ms, "p99 ≤"),
    ]
    return [f"{'reached' if met else 'MISSED'} {what} {wanted:g}" for wanted, met, what in checks if wanted]


def document(line: Line, facts: dict[str, object]) -> dict[str, object]:
    """A line as stored."""
    return {
        "system": line.runs[0].system,
        "connections": line.runs[0].plan.connections,
        "facts": facts,
        "median": {name: round(value, 5) for name, value in line.figures().items()},
        "marks": line.marks,
        "runs": [stored(run) for run in line.runs],
    }


def stored(run: Outcome) -> dict[str, object]:
    """A run with the figures that follow from its counters."""
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
) -> Path:
    """Write `results/<UTC time>-<scenario>.json`; returns its path."""
    now = datetime.now(UTC)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y-%m-%dT%H%M%SZ}-{scenario}.json"
    content = {
        "scenario": scenario,
        "date": now.isoformat(timespec="seconds"),
        "machine": machine,
        "load_before": asdict(load) | {"busy": load.busy},
        "settings": settings,
        "systems": list(lines),
    }
    path.write_text(json.dumps(content, indent=1, default=str) + "\n")
    return path
