"""Maintains the summary of long runs, docs/reliability/runs.jsonl. The checker writes one line for each run.

Also prints a run's results, and generates the tables in docs/explain/reliability.md from the summary (`make generate`).
"""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.support.chaos.campaign import Report

ROOT: Final = Path(__file__).parents[3]
RUNS: Final = ROOT / "docs/reliability/runs.jsonl"
# The summary excludes shorter runs, such as CI's runs and runs with one fault.
RECORDED_SECONDS: Final = 600


def add_to_summary(report: Report, seed: int, mode: str, summary: Path = RUNS) -> None:
    """Appends the run's seed, commit, counts and violations.

    Counts recovery times by tenths of a second, like the page.
    """
    changed = "+" if _git("status", "--porcelain", "layers", "sql") else ""
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "--short", "HEAD") + changed,
        "seed": seed,
        "mode": mode,
        "seconds": report.seconds,
        **{name: getattr(report, name) for name in ("acknowledged", "deliveries", "faults", "violations", "errors")},
        **{name: count_tenths(getattr(report, name)) for name in ("recovery", "background")},
    }
    summary.parent.mkdir(exist_ok=True)
    with summary.open("a") as file:
        file.write(json.dumps(entry, sort_keys=True, separators=(",", ":")) + "\n")


def count_tenths(times: dict[str, list[float]]) -> dict[str, dict[str, int]]:
    """Counts each fault's durations by tenths of a second."""
    return {
        name: dict(sorted(Counter(f"{duration:.1f}" for duration in seconds).items(), key=lambda item: float(item[0])))
        for name, seconds in times.items()
    }


def runs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RUNS.read_text().splitlines()]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def say(text: str) -> None:
    """Prints without a buffer, so that the output of an interrupted run includes the last event."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def show(report: Report) -> None:
    """Prints the recovery times and the violations."""
    say(f"{report.acknowledged} acknowledged, {report.deliveries} delivered, faults {report.faults}")
    say(f"{'':36}times   half in  all in (s)   schedules half in  all in")
    for name, times in sorted(report.recovery.items()):
        half, worst = sorted(times)[len(times) // 2], max(times)
        fires = sorted(report.background[name])
        say(f"{name:36}{len(times):5}{half:10.2f}{worst:8.2f}{fires[len(fires) // 2]:25.2f}{fires[-1]:8.2f}")
    say(f"{report.tally}")
    for detail in report.details:
        say(detail)
    say(f"excused {report.excused}, violations {report.violations}, errors {report.errors}")


PAGE: Final = ROOT / "docs/explain/reliability.md"
BEGIN: Final = "<!-- written by `make generate` from reliability/runs.jsonl -->\n"


def page(path: Path = PAGE) -> str:
    """Returns the page with tables from the current summary."""
    return path.read_text().partition(BEGIN)[0] + BEGIN + "\n" + "\n".join(_tables(runs())) + "\n"


def _tables(every: list[dict[str, Any]]) -> Iterator[str]:
    columns = ("runs", "time", "acknowledged", "delivered", *_GROUPS, "findings")
    yield f"| {' | '.join(columns)} |"
    yield "| --- " * len(columns) + "|"
    for mode in sorted({run["mode"] for run in every}):
        yield _totals(mode, [run for run in every if run["mode"] == mode])
    yield _totals("all", every)
    yield ""
    yield "Seconds until calls, and schedules, work again:"
    yield ""
    yield "| fault | times | calls: half within | 99 % | most | schedules: half within | 99 % | most |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    calls, schedules = _times(every, "recovery"), _times(every, "background")
    for name in sorted(calls):
        yield f"| {name} | {len(calls[name])} | {_shares(calls[name])} | {_shares(schedules[name])} |"
    yield ""
    yield "| run | commit | seed | kind | seconds | acknowledged | findings |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for run in every:
        found = [f"{what} {number}" for what, number in run["violations"].items()]
        found += [error.partition(": ends of the first calls")[0] for error in run["errors"]]
        yield (
            f"| {run['at'][:16]} | {run['commit']} | {run['seed']} | {run['mode']} | {run['seconds']} |"
            f" {run['acknowledged']:,} | {', '.join(found) or 'none'} |"
        )


def _totals(name: str, some: list[dict[str, Any]]) -> str:
    faults = {group: sum(run["faults"].get(group, 0) for run in some) for group in _GROUPS}
    found = sum(sum(run["violations"].values()) + len(run["errors"]) for run in some)
    counts = " | ".join(f"{faults[group]:,}" for group in _GROUPS)
    acknowledged, delivered = (sum(run[what] for run in some) for what in ("acknowledged", "deliveries"))
    minutes = sum(run["seconds"] for run in some) / 60
    return f"| {name}: {len(some)} | {minutes:.0f} min | {acknowledged:,} | {delivered:,} | {counts} | {found} |"


_GROUPS: Final = ("kill", "network", "stop", "lock", "clock", "disk", "failover", "restore")


def _times(every: list[dict[str, Any]], what: str) -> dict[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)
    for run in every:
        for name, counted in run[what].items():
            for seconds, number in counted.items():
                times[name] += [float(seconds)] * number
    return {name: sorted(seconds) for name, seconds in times.items()}


def _shares(times: list[float]) -> str:
    at = (times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)], times[-1])
    return " | ".join(f"{seconds:.1f}" for seconds in at)


def write_page() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    write_page()
