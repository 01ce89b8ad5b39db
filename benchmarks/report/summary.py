"""The summary of a scenario: what docs/performance.md needs of the scenario's last run, in a file that is small.

    python -m benchmarks.report.summary benchmarks/raw/2026-11-22T140750Z-send_1.json  # `make bench` does it at its end

A raw run holds every repeat and every sample. It stays on the machine that measured it (`benchmarks/raw/`, which git
ignores). The repository keeps one summary a scenario: `benchmarks/results/SCENARIO.json`.
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
MOST_POINTS: Final = 120
"""Of one curve of a picture."""
DRAWN: Final = frozenset(curve for _, curves, _ in SERIES for curve in curves)
FIGURES: Final = ("median", "min", "max", "rows", "stages", "books", "ratios", "marks")

Document = dict[str, Any]


def summary_of(raw: Document) -> Document:
    """The run without its repeats and samples; what all systems have in common is told once."""
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
        "systems": [kept_of(system, postgresql) for system in raw["systems"]],
    }


def kept_of(system: Document, postgresql: Document) -> Document:
    """What the page shows of one system, and the facts which are this system's alone."""
    facts = {name: value for name, value in (system.get("facts") or {}).items() if name != "commit"}
    own = dict(facts.pop("postgresql", {}).items() - postgresql.items())
    kept: Document = {name: system[name] for name in ("system", "connections") if name in system}
    kept["facts"] = facts | ({"postgresql": own} if own else {})
    kept |= {name: system[name] for name in FIGURES if name in system}
    series = {name: thinned(curve) for name, curve in (system.get("series") or {}).items() if name in DRAWN}
    return kept | ({"series": series} if series else {})


def thinned(curve: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most so many points: both ends, and the lowest and the highest of each stretch of time between them."""
    if len(curve) <= most:
        return list(curve)
    stretches, between = most // 2 - 1, len(curve) - 2
    bounds = [1 + between * n // stretches for n in range(stretches + 1)]
    kept = [curve[0]]
    for first, end in pairwise(bounds):
        places = range(first, end)
        lowest, highest = (choose(places, key=lambda at: curve[at][1]) for choose in (min, max))
        kept += [curve[at] for at in sorted({lowest, highest})]
    return [*kept, curve[-1]]


def written(value: Any, indent: str = "") -> str:
    """JSON with a line for each system's figures, each row and each curve."""
    inner = f"\n{indent} "
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        parts = (f"{json.dumps(name)}: {written(each, indent + ' ')}" for name, each in value.items())
        return f"{{{inner}{f',{inner}'.join(parts)}\n{indent}}}"
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return f"[{inner}{f',{inner}'.join(written(each, indent + ' ') for each in value)}\n{indent}]"
    return json.dumps(value)


def write_summary(raw: Path, folder: Path = RESULTS) -> Path | None:
    """Of one raw run, in place of the scenario's last summary. None when the page shows nothing of such a run."""
    document = json.loads(raw.read_text())
    if not any("median" in system or isinstance(system.get("rows"), list) for system in document["systems"]):
        return None
    folder.mkdir(exist_ok=True)
    path = folder / f"{document['scenario']}.json"
    path.write_text(written(summary_of(document)) + "\n")
    return path


def main(argv: list[str] | None = None) -> None:
    """Summaries of the named raw runs; of several of one scenario the last one stays."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report.summary")
    parser.add_argument("raw", nargs="+", type=Path)
    for raw in parser.parse_args(argv).raw:
        path = write_summary(raw)
        print(f"{raw.name}: {path or 'not on the page'}")


if __name__ == "__main__":
    main()
