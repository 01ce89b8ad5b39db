"""Formats rows of figures (dicts) with the same columns for the terminal and for the page of results."""

from collections.abc import Iterable, Sequence

from benchmarks.measure.outcome import Outcome

Row = dict[str, object]
MISSING = "-"


def figures_of(run: Outcome) -> Row:
    """Returns the figures of a run that most studies show. CPU is in seconds for 1,000 messages, and latencies belong
    to calls.
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
    """Returns the result of comparing the run's ids, or "not compared" for a peer that only counts messages."""
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
    """Returns a figure with three or four significant digits, and other values as text."""
    if value is None:
        return MISSING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4g}"


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Returns all columns in the order of their first occurrence."""
    return list(dict.fromkeys(name for row in rows for name in row))


def table(rows: Sequence[Row]) -> list[list[str]]:
    columns = columns_of(rows)
    return [columns, *([cell(row.get(name)) for name in columns] for row in rows)]


def text(rows: Sequence[Row]) -> str:
    """Returns the rows for a terminal, in aligned columns."""
    cells = table(rows)
    widths = [max(len(line[n]) for line in cells) for n in range(len(cells[0]))]
    return "\n".join("  ".join(part.rjust(width) for part, width in zip(line, widths, strict=True)) for line in cells)


def markdown(rows: Sequence[Row]) -> str:
    """Returns the rows as a Markdown table."""
    head, *body = table(rows)
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
