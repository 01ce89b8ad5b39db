"""Shows a message's CPU as a multiple of a bare INSERT's CPU in the same run. This multiple also applies to other
machines.
"""

from collections.abc import Iterable
from statistics import median
from typing import Any, Final, cast

from .rows import Row

CPU_COLUMN: Final = "CPU s/1000"
COLUMN: Final = "CPU in INSERTs"
CPU_FIGURE: Final = "server_cpu_seconds_per_1000"
FIGURE: Final = "server_cpu_inserts"

Document = dict[str, Any]


def with_multiples(row: Row, insert: float | None) -> Row:
    """Adds a column "CPU in INSERTs" after each column of server-side CPU. The new cells are empty if `insert` is
    None.

    `insert`: CPU seconds of 1,000 INSERTs. A row with such columns stays unchanged.
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
    """Returns a system's stored results with the multiples beside its CPU."""
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

    Without a measurement the function returns the systems unchanged and no unit.
    """
    if not measured:
        return list(systems), None
    insert = median(measured)
    unit = {"cpu_seconds_per_1000": round(insert, 5), "measured": [round(each, 5) for each in measured]}
    return [system_with_multiples(system, insert) for system in systems], unit


def line_of(systems: Iterable[dict[str, object]], unit: Document) -> str:
    """Returns a line for the terminal with the unit and the multiples of each system."""
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
