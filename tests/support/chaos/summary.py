"""Keeps the summary of long runs, docs/reliability/runs.jsonl. Only the checker writes it, one line for each run.

The functions also print the results of a run.
"""

import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.support.chaos.campaign import Report

ROOT: Final = Path(__file__).parents[3]
RUNS: Final = ROOT / "docs/reliability/runs.jsonl"
# The summary leaves out shorter runs: runs of CI, and runs with one fault.
RECORDED_SECONDS: Final = 600


def add_to_summary(report: Report, seed: int, mode: str, summary: Path = RUNS) -> None:
    """Appends the run: its seed, the commit, and the counts and findings that the page shows.

    Times of recoveries are counted by tenths of a second, as the page shows them.
    """
    changed = "+" if _git("status", "--porcelain", "layers", "sql") else ""
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "--short", "HEAD") + changed,
        "seed": seed,
        "mode": mode,
        "seconds": report.seconds,
        **{
            name: getattr(report, name)
            for name in ("acknowledged", "deliveries", "faults", "violations", "errors")
        },
        **{name: count_tenths(getattr(report, name)) for name in ("recovery", "background")},
    }
    summary.parent.mkdir(exist_ok=True)
    with summary.open("a") as file:
        file.write(json.dumps(entry, sort_keys=True, separators=(",", ":")) + "\n")


def count_tenths(times: dict[str, list[float]]) -> dict[str, dict[str, int]]:
    """Counts by fault and time in tenths of a second."""
    return {
        name: dict(
            sorted(
                Counter(f"{duration:.1f}" for duration in seconds).items(), key=lambda item: float(item[0])
            )
        )
        for name, seconds in times.items()
    }


def runs() -> list[dict[str, Any]]:
    """Returns all of them."""
    return [json.loads(line) for line in RUNS.read_text().splitlines()]


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def say(text: str) -> None:
    """Prints without a buffer. The output of an interrupted run therefore shows the last event."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def show(report: Report) -> None:
    """Prints a table of recoveries, and the findings."""
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
