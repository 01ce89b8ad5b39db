"""Writes docs/explain/performance.md, docs/performance/studies.md and charts from the scenarios' summaries.

    python -m benchmarks.report.page                 # from benchmarks/results.json
    python -m benchmarks.report.page --check         # only checks whether the pages match the summaries

The pages contain no text from any other source. The pages omit the summary of a study if the study's format has
changed.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks.measure.host import interpreter_text
from benchmarks.options import STUDIES

from .pictures import draw
from .rows import CPU, CPU_COLUMN, CPU_FIGURE, FIGURE, REFERENCE, Row, cell, columns_of, markdown, with_multiples
from .runs import CONNECTIONS, GOALS
from .summary import RESULTS, read_summaries

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "explain" / "performance.md"
STUDIES_PAGE = DOCS / "performance" / "studies.md"
HEAD = """# Performance

For everybody: see what a message costs in CPU, how fast it is, and how Penstock compares with its peers.
"""
IN_SHORT = """## In short

Penstock at 16 connections with bodies of 100 bytes, and the peers that need less CPU in the same run (RabbitMQ is
release 3.10). **CPU s/1000** is the CPU time of the whole server side (service, PostgreSQL, PgBouncer) for 1,000
messages. To plan a machine, use [Machine size and connections](../operate/sizing.md).

`send_1` and `send_10` send one and ten messages a call; `receive_delete_1` and `receive_delete_10` receive and delete
as many. In `warski`, half of the connections send bulks while half receive. `idle_latency` is the time from a send to a
waiting receiver.
"""
BESIDE_PEERS = """## Beside its peers

[How speed is measured](benchmarks.md#peers) says what each peer is, and which of them keep messages on disk. RabbitMQ
is release 3.10 on one node. The CPU of a library counts, because it does a service's work. `-`: not measured.
"""
SOURCE = """## Where the figures come from

- {circumstances}
- The load generator uses the same cores. {busy}
- {interpreters}
- A run of less than a second of CPU gives a coarse figure: {short}.
- A bare INSERT of one row (pgbench, 16 clients) took PostgreSQL {insert} s of CPU for 1,000 in the same runs. Compare
  other machines by this unit.
- The goals were set on another machine. There, the goals divided by the figures of the peers gave {pairs} multiples;
  Penstock reaches {reached} of them here, and misses these:
"""
REPEAT = """## How to repeat

```text
make bench SCENARIO=table                # the figures above, beside all peers
make bench SCENARIO=send_1 PEERS=none    # one scenario of Penstock alone
python -m benchmarks.report.page         # writes this page from benchmarks/results.json
```

For the method and the goals, see [How speed is measured](benchmarks.md). [Studies](../performance/studies.md) covers
backlogs, many queues, many connections, noisy neighbours and other loads.
"""
STUDIES_HEAD = """# Studies

For everybody: look up how Penstock behaves under a special load, such as a backlog of millions.

[How speed is measured](../explain/benchmarks.md) explains the loads. All studies used 2 cores (AMD EPYC) that the load
generator shared. "sent/s" and "received/s" count messages; **CPU s/1000** is the CPU of the whole server side for 1,000
messages. "verdict clean": each message arrived once, and no answer was wrong. "busy host": other programs used the
cores, so rates and latencies are worse. `-`: not measured.
`benchmarks/results.json` has more figures of each run, and the machine.
"""
# The page of studies omits these columns.
UNSHOWN = {
    "load CPU s/1000", "load CPU s", "messages", "article sent/s", "p50 of runs", "p95", "p99", "stddev",
    "as stated there", "call p95 ms", "without the million", "seconds", "server cores", "probe cores", "noises cores",
    "others cores", "us a queue", "quiet_received",
}  # fmt: skip
# 0 is impossible in columns such as "p50 ms" and "call p99 ms".
_IS_LATENCY = re.compile(r"(?:.* )?p\d+ ms").fullmatch
Results = dict[str, Any]


def page(results: dict[str, Results]) -> str:
    """Returns the text of the performance page."""
    goals = [results[name] for name in STUDIES if name in results and name in GOALS]
    in_short = [row for document in goals for row in rows_in_short(document)]
    parts = [HEAD, f"{IN_SHORT}\n{markdown(in_short)}\n", BESIDE_PEERS]
    for title, name in (("CPU s/1000", CPU_FIGURE), ("Messages a second", "messages_per_second"), ("p50 ms", "p50_ms")):
        if rows := rows_of_systems(goals, title, name):
            parts.append(f"{markdown(rows)}\n")
    return "\n".join((*parts, source(goals), REPEAT))


def studies_page(results: dict[str, Results]) -> str:
    """Returns the text of the page of studies, in the order of the catalogue."""
    known = [results[name] for name in STUDIES if name in results and name not in GOALS]
    return "\n".join(part for part in (STUDIES_HEAD, *map(section, known)) if part)


def rows_of_systems(goals: Sequence[Results], title: str, name: str) -> list[Row]:
    """Returns a row for each system. The row has one figure for each scenario."""
    found: dict[str, Row] = {}
    for document in goals:
        for system in systems_of(document):
            if figures := system.get("median"):
                row = found.setdefault(system["system"], {title: system["system"]})
                row[document["scenario"]] = measured(figures.get(name, 0))
    return list(found.values())


def source(goals: Sequence[Results]) -> str:
    """Returns the section that names the machine, the days and the missed goals."""
    beside = [row for document in goals for row in rows_beside_peers(document)]
    missed = [row for row in beside if row.pop("reached") == "no"]
    marks = {
        mark: [
            f"{system['system']} in {document['scenario']}"
            for document in goals
            for system in systems_of(document)
            if mark in system["marks"]
        ]
        for mark in ("busy host", "short")
    }
    inserts = sorted(
        system["median"][CPU_FIGURE] / system["median"][FIGURE]
        for document in goals
        for system in systems_of(document)
        if (system.get("median") or {}).get(FIGURE)
    )
    busy = (
        f"Other programs also used the cores during these runs: {', '.join(marks['busy host'])}."
        if marks["busy host"]
        else ""
    )
    short = f"{len(marks['short'])} of {sum(len(systems_of(document)) for document in goals)} runs here"
    days = sorted({document["date"][:10] for document in goals})
    commits = sorted({document["commit"] for document in goals})
    machines = sorted({f"{host_of(document)}, {document['machine']['kernel']}" for document in goals})
    ends = dict.fromkeys(f"{each:.3f}" for each in (*inserts[:1], *inserts[-1:]))
    text = SOURCE.format(
        circumstances=f"{'; '.join(machines)}; {', '.join(days)}; commits {', '.join(commits)}.",
        busy=busy,
        interpreters=interpreters(goals),
        short=short,
        insert=" to ".join(ends) or "an unknown number of",
        pairs=len(beside),
        reached=len(beside) - len(missed),
    ).replace(" \n", "\n")
    return f"{text}\n{markdown(missed)}\n" if missed else text


def measured(figure: float) -> float | None:
    """Returns the figure, or None for 0. Every call takes some time, so 0 means that there is no measurement."""
    return figure or None


def rows_in_short(document: Results) -> Iterable[Row]:
    """If the scenario has a goal, returns a row: Penstock's figures, and the peers that need less CPU time."""
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
        (figures[CPU_FIGURE], name) for name, figures in peers.items() if figures[CPU_FIGURE] < own[CPU_FIGURE]
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
    """Returns rows with the ratio of Penstock's figure to the figure of each peer in this run, and the ratio of the
    goal."""
    figure, peers = REFERENCE.get(document["scenario"], ("", {}))
    goal = GOALS.get(document["scenario"])
    valid_figures = {
        system["system"]: float(system["median"][figure])
        for system in systems_of(document)
        if figure
        if system["connections"] == CONNECTIONS and not any(mark.startswith("INVALID") for mark in system["marks"])
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
    """Returns a sentence that names each scenario's interpreter."""
    scenarios: dict[str, list[str]] = {}
    for document in documents:
        scenarios.setdefault(interpreter_of(document), []).append(document["scenario"])
    parts = (f"{name} ({', '.join(found)})" for name, found in scenarios.items())
    return f"Interpreter: {'; '.join(parts)}."


def interpreter_of(document: Results) -> str:
    """Returns the interpreter of the service and of the Python libraries, if the summary names it."""
    running = document["settings"].get("service_was_running")
    beside = ", of the runner beside a service that ran already" if running else ""
    return interpreter_text(document["machine"]) + beside


def systems_of(document: Results) -> list[Results]:
    return cast("list[Results]", document["systems"])


def section(document: Results) -> str:
    """Returns the section of a study: title, circumstances, tables and charts."""
    tables = [condense(rows) for kind in ("rows", "books") if (rows := rows_of(document, kind))]
    if not tables:
        return ""
    pictures = " ".join(f"![{path.stem}]({path.name})" for path in draw(document))
    what = STUDIES[document["scenario"]].what
    title = f"## {what[:1].upper()}{what[1:]}"
    return "\n\n".join(part for part in (title, circumstances(document), *tables, pictures) if part) + "\n"


def condense(rows: Sequence[Row]) -> str:
    """Returns a table of the columns whose values differ, and a sentence about the columns whose values are equal in
    all rows."""
    columns = columns_of(rows)
    values = {name: [row.get(name) for row in rows] for name in columns}
    empty = {name for name, found in values.items() if set(found) <= {None, ""}}
    zero = [name for name in columns if all(value == 0 for value in values[name])]
    equal = [name for name in columns if len(rows) > 1 and len(set(map(cell, values[name]))) == 1]
    left_out = empty | set(zero) | set(equal)
    shown = [{name: row.get(name) for name in columns if name not in left_out} for row in rows]
    said = [f"{name} {cell(rows[0][name])}" for name in equal if name not in empty | set(zero) | {"system"}]
    said += [f"0 {', '.join(zero)}"] if zero else []
    sentence = f"In each row: {'; '.join(said)}." if said else ""
    return "\n\n".join(part for part in (markdown(shown) if len(shown[0]) > 1 else "", sentence) if part)


def rows_of(document: Results, kind: str) -> list[Row]:
    """Returns the rows of one kind, with the name of the system in the first column."""
    return [
        {"system": system.get("system", "penstock")}
        | {
            name: measured(figure) if isinstance(figure, int | float) and _IS_LATENCY(name) else figure
            for name, figure in with_multiples(row, None).items()
            if name not in UNSHOWN
        }
        for system in systems_of(document)
        for row in system.get(kind) or []
    ]


def host_of(document: Results) -> str:
    return f"{document['machine']['cores']} cores ({document['machine']['cpu']})"


def circumstances(document: Results) -> str:
    marks = sorted({mark.split(":")[0] for system in systems_of(document) for mark in system.get("marks") or []})
    memory = [memory_of(system) for system in systems_of(document) if system.get("system") == "penstock"]
    parts = (f"{document['date'][:10]}, commit {document['commit']}, {interpreter_of(document)}", *memory[-1:], *marks)
    return "; ".join(part for part in parts if part) + "."


def memory_of(system: Results) -> str:
    """Returns the PSS of Penstock's parts after the scenario."""
    parts = (system.get("facts") or {}).get("pss_bytes") or {}
    sizes = ", ".join(f"{part} {size / 2**20:.0f} MiB" for part, size in parts.items() if size)
    return f"memory (PSS) at the end: {sizes}" if sizes else ""


def main(argv: list[str] | None = None) -> int:
    """Writes the pages. With --check, the program only checks the pages, and returns 1 if a page differs from the
    summaries."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report.page")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    results = read_summaries(options.results)
    pages = {PAGE: page(results), STUDIES_PAGE: studies_page(results)}
    if options.check:
        return 0 if all(path.exists() and path.read_text() == text for path, text in pages.items()) else 1
    for path, text in pages.items():
        path.write_text(text)
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
