"""Formats rows (dicts) that have the same columns, for the terminal and for the page of results."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, Final, cast

from benchmarks.measure.outcome import Outcome

Row = dict[str, object]
MISSING = "-"


def figures_of(run: Outcome) -> Row:
    """Returns the figures of a run, for most studies.

    CPU time is in seconds for 1,000 messages. The latencies are the latencies of single calls.
    """
    return {
        "messages": run.messages,
        "sent/s": round(run.sent_per_second, 1),
        "received/s": round(run.received_per_second, 1),
        "CPU s/1000": round(run.server_cpu_seconds_per_1000, 4),
        "load CPU s/1000": round(run.generator_cpu_seconds / run.messages * 1000, 4) if run.messages else None,
        "p50 ms": round(run.latency.p50_ms, 2),
        "p99 ms": round(run.latency.p99_ms, 2),
        "verdict": verdict_of(run),
    }


def verdict_of(run: Outcome) -> str:
    """Returns the result of comparing the ids of the run, or "not compared" for a peer that only counts messages."""
    if run.messages == 0:
        return f"FAILED: {run.bad_samples[:1]}"
    if run.verdict is None:
        return "not compared"
    if run.valid:
        return "clean"
    found = run.verdict
    return (
        f"lost {found.lost}, twice {found.duplicated}, phantom {found.phantom}, undeleted {found.undeleted}, "
        f"bad answers {run.bad_answers}"
    )


def cell(value: object) -> str:
    """Returns a number with three or four significant digits, or another value as text."""
    if value is None:
        return MISSING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4g}"


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Returns all columns in the order in which they first occur."""
    return list(dict.fromkeys(name for row in rows for name in row))


def table(rows: Sequence[Row]) -> list[list[str]]:
    columns = columns_of(rows)
    return [columns, *([cell(row.get(name)) for name in columns] for row in rows)]


def text(rows: Sequence[Row]) -> str:
    """Returns the rows as aligned columns for a terminal."""
    cells = table(rows)
    widths = [max(len(line[n]) for line in cells) for n in range(len(cells[0]))]
    return "\n".join("  ".join(part.rjust(width) for part, width in zip(line, widths, strict=True)) for line in cells)


def markdown(rows: Sequence[Row]) -> str:
    """Returns the rows as a Markdown table."""
    head, *body = table(rows)
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# --- inserts ---------------------------------------------------------------------------------------------------------
# Shows a message's CPU as a multiple of a bare INSERT's CPU in the same run. The multiple is comparable between
# machines.

CPU_COLUMN: Final = "CPU s/1000"
COLUMN: Final = "CPU in INSERTs"
CPU_FIGURE: Final = "server_cpu_seconds_per_1000"
FIGURE: Final = "server_cpu_inserts"

Document = dict[str, Any]


def with_multiples(row: Row, insert: float | None) -> Row:
    """Adds a column "CPU in INSERTs" after each column with CPU time of the server side, unless the row already has
    such columns.

    `insert` is the CPU time of 1,000 INSERTs in seconds. If `insert` is None, the new cells are empty.
    """
    if any(COLUMN in name for name in row):
        return row
    shown: Row = {}
    for name, value in row.items():
        shown[name] = value
        if CPU_COLUMN in name and "load" not in name and isinstance(value, int | float):
            shown[name.replace(CPU_COLUMN, COLUMN)] = round(value / insert, 2) if insert else ""
    return shown


def system_with_multiples(system: Document, insert: float) -> Document:
    """Returns the stored results of a system, with multiples in addition to CPU times."""
    figures = {
        kind: system[kind] | {FIGURE: round(system[kind][CPU_FIGURE] / insert, 4)}
        for kind in ("median", "min", "max")
        if CPU_FIGURE in system.get(kind, {})
    }
    rows = {"rows": [with_multiples(row, insert) for row in system["rows"]]} if system.get("rows") else {}
    return system | figures | rows


def compared(
    systems: Iterable[dict[str, object]], measured: list[float]
) -> tuple[list[dict[str, object]], Document | None]:
    """Returns the systems with their multiples, and the unit, which is the median of the measured values.

    Without measurements, the function returns unchanged systems and no unit.
    """
    if not measured:
        return list(systems), None
    insert = median(measured)
    unit = {"cpu_seconds_per_1000": round(insert, 5), "measured": [round(each, 5) for each in measured]}
    return [system_with_multiples(system, insert) for system in systems], unit


def line_of(systems: Iterable[dict[str, object]], unit: Document) -> str:
    """Returns a line for the terminal that contains the unit and the multiples of each system."""
    parts = [
        f"{system.get('system', 'penstock')} {', '.join(found)}"
        for system in systems
        if (found := [f"{multiple:.2f}" for multiple in multiples_of(system)])
    ]
    one = f"a bare INSERT: {unit['cpu_seconds_per_1000']:.4f} s of CPU for 1,000"
    return f"{one}; a message in INSERTs: {'; '.join(parts)}" if parts else one


def multiples_of(system: dict[str, object]) -> list[float]:
    figures = cast("dict[str, float]", system.get("median") or {})
    rows = cast("list[dict[str, float]]", system.get("rows") or [])
    found = [figures[FIGURE]] if FIGURE in figures else []
    return found + [value for row in rows for name, value in row.items() if COLUMN in name]


# --- reference -------------------------------------------------------------------------------------------------------
# The peers' figures on the machine for which the goals were set. See docs/explain/benchmarks.md. Machines differ, and a
# slow machine does not slow all programs equally. A goal is therefore a multiple of a peer's figure in the same run. On
# the current machine, the ratio of Penstock's figure to the peer's figure must not exceed the ratio of the goal to the
# peer's figure below.

CPU, P50 = "server_cpu_seconds_per_1000", "p50_ms"

# Maps a scenario to the figure's name, and to each peer's median on the machine of the goals.
REFERENCE: Final[dict[str, tuple[str, dict[str, float]]]] = {
    "send_1": (CPU, {
        "pgmq": 0.090, "procrastinate": 0.457, "pgqueuer": 0.368, "bullmq": 0.050, "rabbitmq-classic": 0.102,
        "rabbitmq-quorum": 0.076, "fauxqs": 0.028, "fauxqs-sqlite": 0.126, "moto": 8.8,
    }),
    "send_10": (CPU, {
        "pgmq": 0.015, "procrastinate": 0.098, "pgqueuer": 0.057, "bullmq": 0.037, "rabbitmq-classic": 0.039,
        "rabbitmq-quorum": 0.019, "fauxqs": 0.005, "fauxqs-sqlite": 0.070, "moto": 8.5,
    }),
    "warski": (CPU, {"fauxqs": 0.025, "fauxqs-sqlite": 0.183, "moto": 9.4}),
    "receive_delete_10": (CPU, {
        "pgmq": 0.063, "rabbitmq-classic": 0.021, "rabbitmq-quorum": 0.009, "fauxqs": 0.016, "fauxqs-sqlite": 0.131,
        "moto": 7.0,
    }),
    "receive_delete_1": (CPU, {"pgmq": 0.466, "fauxqs": 0.046}),
    "idle_latency": (P50, {"rabbitmq-classic": 0.60, "fauxqs": 0.43, "fauxqs-sqlite": 0.74, "moto": 2.9}),
}  # fmt: skip
