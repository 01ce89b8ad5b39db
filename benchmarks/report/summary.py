"""Summarises a scenario's last run: writes the figures that docs/performance.md needs into a small file.

    python -m benchmarks.report.summary benchmarks/raw/2026-11-22T140750Z-send_1.json  # `make bench` does it at its end

A raw run has every repeat and every sample. It stays on the machine that measured it (`benchmarks/raw/`, which git
ignores). The repository has one summary of each scenario: `benchmarks/results/SCENARIO.json`.
"""

import argparse
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from penstock_web.report.svg import Point

from .pictures import SERIES

RAW: Final = Path(__file__).parents[1] / "raw"
RESULTS: Final = Path(__file__).parents[1] / "results"
MAX_POINTS: Final = 120
"""Points of one curve of a chart."""
DRAWN_CURVES: Final = frozenset(curve for _, curves, _ in SERIES for curve in curves)
FIGURES: Final = ("median", "min", "max", "rows", "stages", "books", "ratios", "marks")

Document = dict[str, Any]


def summary_of(raw: Document) -> Document:
    """The run without its repeats and samples; facts that all systems have in common are stored once."""
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
    """The figures of one system that the page shows, and the facts that only this system has."""
    facts = {name: value for name, value in (system.get("facts") or {}).items() if name != "commit"}
    own = dict(facts.pop("postgresql", {}).items() - postgresql.items())
    kept: Document = {name: system[name] for name in ("system", "connections") if name in system}
    kept["facts"] = facts | ({"postgresql": own} if own else {})
    kept |= {name: system[name] for name in FIGURES if name in system}
    series = {
        name: thin_out(curve) for name, curve in (system.get("series") or {}).items() if name in DRAWN_CURVES
    }
    return kept | ({"series": series} if series else {})


def thin_out(curve: Sequence[Point], most: int = MAX_POINTS) -> list[Point]:
    """At most so many points: both ends, and the lowest and the highest of each segment of time between them."""
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


def format_json(value: Any, indent: str = "") -> str:
    """JSON with a line for each system's figures, each row and each curve."""
    inner = f"\n{indent} "
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        parts = (f"{json.dumps(name)}: {format_json(each, indent + ' ')}" for name, each in value.items())
        return f"{{{inner}{f',{inner}'.join(parts)}\n{indent}}}"
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return f"[{inner}{f',{inner}'.join(format_json(each, indent + ' ') for each in value)}\n{indent}]"
    return json.dumps(value)


def write_summary(raw: Path, folder: Path = RESULTS) -> Path | None:
    """Writes the summary of a raw run in place of the scenario's last one; returns its path.

    Returns None if the page shows no figures of such a run.
    """
    document = json.loads(raw.read_text())
    if not any("median" in system or isinstance(system.get("rows"), list) for system in document["systems"]):
        return None
    folder.mkdir(exist_ok=True)
    path = folder / f"{document['scenario']}.json"
    path.write_text(format_json(summary_of(document)) + "\n")
    return path


def main(argv: list[str] | None = None) -> None:
    """Writes the summaries of the named raw runs; of several runs of a scenario the last one stays."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report.summary")
    parser.add_argument("raw", nargs="+", type=Path)
    for raw in parser.parse_args(argv).raw:
        path = write_summary(raw)
        print(f"{raw.name}: {path or 'not on the page'}")


if __name__ == "__main__":
    main()
