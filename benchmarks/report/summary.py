"""Summarises the last run of a scenario, and stores the figures for docs/explain/performance.md.

    python -m benchmarks.report.summary benchmarks/raw/2026-11-22T140750Z-send_1.json  # `make bench` runs it at its end

A raw run contains every repeat and every sample. The raw run stays in `benchmarks/raw/` on the measured machine,
because git ignores this folder. The repository contains one summary for each scenario, in `benchmarks/results.json`.
"""

import argparse
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from penstock_web.report.svg import Point

from .pictures import SERIES
from .rows import CPU_FIGURE, FIGURE

RAW: Final = Path(__file__).parents[1] / "raw"
RESULTS: Final = Path(__file__).parents[1] / "results.json"
MAX_POINTS: Final = 120
"""Limits the points of a curve in a chart."""
LINE: Final = 1000
"""A line has at most this many characters. A curve, or an object that contains only figures, is always on one line."""
DRAWN_CURVES: Final = frozenset(curve for _, curves, _ in SERIES for curve in curves)
MEDIANS: Final = (
    "messages_per_second", "sent_per_second", CPU_FIGURE, FIGURE, "generator_cpu_seconds_per_1000", "p50_ms", "p99_ms"
)  # fmt: skip
TABLES: Final = ("rows", "stages", "books", "ratios", "marks")

Document = dict[str, Any]


def summary_of(raw: Document) -> Document:
    """Returns the figures for the page. The summary contains shared facts of all systems only once."""
    facts = [system.get("facts") or system for system in raw["systems"]]
    postgresql: Document = next((fact["postgresql"] for fact in facts if "postgresql" in fact), {})
    return {
        "scenario": raw["scenario"],
        "date": raw["date"],
        "commit": next((fact["commit"] for fact in facts if "commit" in fact), "unknown"),
        "machine": raw["machine"],
        "postgresql": postgresql,
        "load_before": {name: raw["load_before"][name] for name in ("busy", "busy_share")},
        "settings": raw["settings"],
        **({"bare_insert": raw["bare_insert"]} if raw.get("bare_insert") else {}),
        "systems": [summary_of_system(system, postgresql) for system in raw["systems"]],
    }


def summary_of_system(system: Document, postgresql: Document) -> Document:
    """Returns the figures of one system for the page, and the facts that differ from the shared facts."""
    facts = {name: value for name, value in (system.get("facts") or {}).items() if name != "commit"}
    own = dict(facts.pop("postgresql", {}).items() - postgresql.items())
    kept: Document = {name: system[name] for name in ("system", "connections") if name in system}
    kept["facts"] = facts | ({"postgresql": own} if own else {})
    kept |= {name: system[name] for name in TABLES if name in system}
    if figures := system.get("median"):
        kept["median"] = {name: figures[name] for name in MEDIANS if name in figures}
    series = {name: thin_out(curve) for name, curve in (system.get("series") or {}).items() if name in DRAWN_CURVES}
    return kept | ({"series": series} if series else {})


def thin_out(curve: Sequence[Point], most: int = MAX_POINTS) -> list[Point]:
    """Returns at most `most` points: both ends, and the lowest and the highest point in each segment of time between
    the ends.
    """
    if len(curve) <= most:
        return list(curve)
    segments, between = most // 2 - 1, len(curve) - 2
    bounds = [1 + between * n // segments for n in range(segments + 1)]
    kept = [curve[0]]
    for first, end in pairwise(bounds):
        places = range(first, end)
        lowest, highest = (choose(places, key=lambda at: curve[at][1]) for choose in (min, max))
        kept += [curve[at] for at in sorted({lowest, highest})]
    return [*kept, curve[-1]]


def format_json(value: Any, depth: int = 0) -> str:
    """Returns JSON that is indented by `depth` characters, and in which short members share a line."""
    whole = json.dumps(value)
    members = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    nested = dict | list if isinstance(value, dict) else dict
    if depth + len(whole) <= LINE or not any(isinstance(each, nested) for each in members):
        return whole
    first, last = ("{", "}") if isinstance(value, dict) else ("[", "]")
    named = value.items() if isinstance(value, dict) else (("", each) for each in value)
    lines: list[str] = []
    for name, each in named:
        part = (f"{json.dumps(name)}: " if name else "") + format_json(each, depth + 1)
        if lines and "\n" not in lines[-1] + part and depth + len(lines[-1]) + len(part) + 4 <= LINE:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    inner = "\n" + " " * (depth + 1)
    return f"{first}{inner}{f',{inner}'.join(lines)}\n{' ' * depth}{last}"


def read_summaries(path: Path) -> dict[str, Document]:
    """Returns the summaries in a file by scenario, or an empty result if the file does not exist."""
    found: dict[str, Document] = json.loads(path.read_text()) if path.exists() else {}
    return found


def write_summary(raw: Path, path: Path = RESULTS) -> Path | None:
    """Replaces the previous summary of the scenario with the summary of the raw run. Returns the path of the file.

    Returns None if the page shows no figures from a run of this kind.
    """
    document = json.loads(raw.read_text())
    if not any("median" in system or isinstance(system.get("rows"), list) for system in document["systems"]):
        return None
    summaries = read_summaries(path) | {document["scenario"]: summary_of(document)}
    path.write_text(format_json(dict(sorted(summaries.items()))) + "\n")
    return path


def main(argv: list[str] | None = None) -> None:
    """Writes the summaries of the given raw runs. If a scenario has several runs, only the last summary remains."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report.summary")
    parser.add_argument("raw", nargs="+", type=Path)
    for raw in parser.parse_args(argv).raw:
        path = write_summary(raw)
        print(f"{raw.name}: {path or 'not on the page'}")


if __name__ == "__main__":
    main()
