"""Writes docs/explain/performance.md and its pictures from the summaries of the scenarios.

    python -m benchmarks.report.page                 # from benchmarks/results.json
    python -m benchmarks.report.page --check         # only checks whether the page matches the summaries

No text of that page is written by hand. Summaries of studies that changed their form are left out.
"""

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from benchmarks.catalogue import STUDIES
from benchmarks.measure.host import interpreter_text

from .inserts import COLUMN, CPU_COLUMN, CPU_FIGURE, FIGURE, with_multiples
from .pictures import draw
from .reference import CPU, REFERENCE
from .rows import Row, cell, markdown
from .runs import CONNECTIONS, GOALS
from .summary import RESULTS, read_summaries

PAGE = Path(__file__).parents[2] / "docs" / "explain" / "performance.md"
HEAD = """# Performance

For everybody: see what a message costs in CPU, how fast it is, and how Penstock compares with its peers.

[How speed is measured](benchmarks.md) has the method. For planning, use [Sizing](../operate/sizing.md), a separate run
of Penstock alone. Each section has a separate day and commit, named below its heading, so sections do not repeat each
other's figures.

- **CPU** is user and system time of the whole server side (service, PostgreSQL, PgBouncer; of libraries: the library
  too) for 1,000 messages. The load generator is apart. "short" is a run of less than a second of CPU, whose CPU figure
  is coarse.
- **CPU in INSERTs** says how many bare INSERTs of one row cost PostgreSQL as much CPU as a message costs the server
  side. pgbench measures them (16 clients, prepared statements) on Penstock's server in the same run, so that figures of
  different machines can be compared.
- **Goals** were set on another machine: "The goals beside each peer" has what carries over.
- **"busy host"**: other programs used the machine, so rates and latencies are worse than on a quiet one.
- **"optimised"**: an interpreter built with profile-guided optimisation; a "plain" one was not. It runs Penstock and
  the libraries in Python.
- **`-`, or an empty cell**: not measured. Libraries have no load generator beside them, and some clients do not time
  their calls.

Written by `python -m benchmarks.report.page` from the summary of each scenario in `benchmarks/results.json`.
"""
IN_SHORT = """## In short

Penstock's figures of the table below, and the peers that need less CPU of the server side for a message in the same
run. All other peers need more.
"""
BESIDE_PEERS = """## The goals beside each peer

What Penstock needs as a multiple of what a peer needs in the same run, and the multiple that the goal allows: the goal
divided by the peer's figure on the machine for which the goal was set. Only valid runs, and peers with a figure there.
"""
# columns such as "p50 ms" and "call p99 ms", in which 0 is impossible
_IS_LATENCY = re.compile(r"(?:.* )?p\d+ ms").fullmatch
Results = dict[str, Any]


def page(results: dict[str, Results]) -> str:
    """Returns the text of the page, with sections in the order of the catalogue."""
    known = [results[name] for name in STUDIES if name in results]
    table = [row for document in known for row in table_rows(document)]
    parts = [HEAD]
    if in_short := [row for document in known for row in rows_in_short(document)]:
        parts.append(f"{IN_SHORT}\n{markdown(in_short)}\n")
    if table:
        goals = [document for document in known if document["scenario"] in GOALS]
        parts.append(f"## The table of goals\n\n{markdown(table)}\n\n{interpreters(goals)}\n")
    if beside := [row for document in known for row in rows_beside_peers(document)]:
        parts.append(f"{BESIDE_PEERS}\n{markdown(beside)}\n")
    parts += [section(document) for document in known if document["scenario"] not in GOALS]
    return "\n".join(part for part in parts if part)


def table_rows(document: Results) -> Iterable[Row]:
    """Returns the rows of a scenario that has a goal."""
    goal = GOALS.get(document["scenario"])
    for system in systems_of(document) if goal else []:
        figures = system.get("median")
        if figures is None or goal is None:
            continue
        yield {
            "scenario": document["scenario"],
            "connections": system["connections"],
            "system": system["system"],
            "msg/s": figures["messages_per_second"],
            "sent/s": figures["sent_per_second"] or None,
            CPU_COLUMN: figures[CPU_FIGURE],
            COLUMN: figures.get(FIGURE, ""),
            "load CPU s/1000": measured(figures["generator_cpu_seconds_per_1000"]),
            "p50 ms": measured(figures["p50_ms"]),
            "p99 ms": measured(figures["p99_ms"]),
            "goal": goal_text(document["scenario"]) if system["system"] == "penstock" else "",
            "marks": ", ".join(system["marks"]),
            "date": document["date"][:10],
        }


def measured(figure: float) -> float | None:
    """Returns the figure, or None for 0, which stands for an unmeasured figure because every call takes some time."""
    return figure or None


def rows_in_short(document: Results) -> Iterable[Row]:
    """Returns a row for a scenario that has a goal: Penstock's figures, and the peers that need less CPU."""
    valid = {
        system["system"]: system["median"]
        for system in systems_of(document)
        if system.get("median")
        and system["connections"] == CONNECTIONS
        and not any(mark.startswith("INVALID") for mark in system["marks"])
    }
    if document["scenario"] not in GOALS or "penstock" not in valid:
        return
    own = valid["penstock"]
    peers = {name: figures for name, figures in valid.items() if not name.startswith("penstock")}
    less = sorted(
        (figures[CPU_FIGURE], name)
        for name, figures in peers.items()
        if figures[CPU_FIGURE] < own[CPU_FIGURE]
    )
    yield {
        "scenario": document["scenario"],
        "msg/s": own["messages_per_second"],
        CPU_COLUMN: own[CPU_FIGURE],
        "p50 ms": measured(own["p50_ms"]),
        "goal": goal_text(document["scenario"]),
        "less CPU": ", ".join(f"{name} {cell(cpu)}" for cpu, name in less) or "none",
        "of peers": len(peers),
    }


def rows_beside_peers(document: Results) -> Iterable[Row]:
    """Returns rows with the ratio of Penstock's figure to each peer's in this run, and the ratio that the goal
    allows.
    """
    figure, peers = REFERENCE.get(document["scenario"], ("", {}))
    goal = GOALS.get(document["scenario"])
    valid_figures = {
        system["system"]: float(system["median"][figure])
        for system in systems_of(document)
        if figure
        if system["connections"] == CONNECTIONS
        and not any(mark.startswith("INVALID") for mark in system["marks"])
    }
    if goal is None or "penstock" not in valid_figures:
        return
    wanted = goal.cpu_seconds_per_1000 if figure == CPU else goal.p50_ms
    for peer, there in peers.items():
        if valid_figures.get(peer):
            multiple, allowed = valid_figures["penstock"] / valid_figures[peer], wanted / there
            yield {
                "scenario": document["scenario"],
                "figure": "CPU" if figure == CPU else "p50",
                "peer": peer,
                "Penstock : peer": f"{multiple:.2f}",
                "goal : peer": f"{allowed:.2f}",
                "reached": "yes" if multiple <= allowed else "no",
            }


def goal_text(scenario: str) -> str:
    goal = GOALS[scenario]
    parts = (
        f"{goal.messages_per_second:,.0f} msg/s" if goal.messages_per_second else "",
        f"{goal.cpu_seconds_per_1000:g} s" if goal.cpu_seconds_per_1000 else "",
        f"p50 {goal.p50_ms:g} ms, p99 {goal.p99_ms:g} ms" if goal.p50_ms else "",
    )
    return ", ".join(part for part in parts if part)


def interpreters(documents: Iterable[Results]) -> str:
    """Returns a sentence that names the interpreter of each scenario."""
    scenarios: dict[str, list[str]] = {}
    for document in documents:
        scenarios.setdefault(interpreter_of(document), []).append(document["scenario"])
    parts = (f"{name} ({', '.join(found)})" for name, found in scenarios.items())
    return f"Interpreter: {'; '.join(parts)}."


def interpreter_of(document: Results) -> str:
    """Returns the interpreter of the service and of the libraries in Python, if the summary names it."""
    running = document["settings"].get("service_was_running")
    beside = ", of the runner beside a service that ran already" if running else ""
    return interpreter_text(document["machine"]) + beside


def systems_of(document: Results) -> list[Results]:
    return cast("list[Results]", document["systems"])


def section(document: Results) -> str:
    """Returns the section of a study: title, circumstances, tables and charts."""
    tables = [markdown(rows) for kind in ("rows", "stages", "books") if (rows := rows_of(document, kind))]
    if not tables:
        return ""
    pictures = " ".join(f"![{path.stem}](../performance/{path.name})" for path in draw(document))
    title = f"## {STUDIES[document['scenario']].what}"
    return "\n\n".join(part for part in (title, circumstances(document), *tables, pictures) if part) + "\n"


def rows_of(document: Results, kind: str) -> list[Row]:
    """Returns the rows of a kind, with the name of the system as first column."""
    return [
        {"system": system.get("system", "penstock")}
        | {
            name: measured(figure) if isinstance(figure, int | float) and _IS_LATENCY(name) else figure
            for name, figure in with_multiples(row, None).items()
        }
        for system in systems_of(document)
        for row in system.get(kind) or []
    ]


def circumstances(document: Results) -> str:
    machine, load = document["machine"], document["load_before"]
    host = f"{machine['cores']} cores ({machine['cpu']}), {machine['kernel']}, {interpreter_of(document)}"
    marks = sorted(
        {mark.split(":")[0] for system in systems_of(document) for mark in system.get("marks") or []}
    )
    memory = [memory_of(system) for system in systems_of(document) if system.get("system") == "penstock"]
    parts = (
        f"{document['date'][:10]}, {host}, commit {document['commit']}",
        f"host {'busy' if load['busy'] else 'quiet'} before ({load['busy_share']:.0%})",
        *memory[-1:],
        *marks,
    )
    return "; ".join(parts) + "."


def memory_of(system: Results) -> str:
    """Returns the PSS of Penstock's parts after the scenario."""
    parts = (system.get("facts") or {}).get("pss_bytes") or {}
    sizes = ", ".join(f"{part} {size / 2**20:.0f} MiB" for part, size in parts.items() if size)
    return f"memory (PSS) at the end: {sizes}" if sizes else "memory not looked at"


def main(argv: list[str] | None = None) -> int:
    """Writes the page. With --check, the program only returns 1 if the page differs from the summaries."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report.page")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    text = page(read_summaries(options.results))
    if options.check:
        return 0 if PAGE.exists() and PAGE.read_text() == text else 1
    PAGE.write_text(text)
    print(f"written: {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
