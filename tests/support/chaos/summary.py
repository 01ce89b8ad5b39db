"""The summary of long runs, docs/reliability/runs.jsonl: a line each, good or bad, written by the checker alone."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.support.chaos.campaign import Report

ROOT: Final = Path(__file__).parents[3]
RUNS: Final = ROOT / "docs/reliability/runs.jsonl"
# Shorter runs are not added: those of CI, and those that look at one fault.
RECORDED_SECONDS: Final = 600


def add_to_summary(report: Report, seed: int, mode: str, summary: Path = RUNS) -> None:
    """Appends the run: its seed, the commit, the counts and the findings."""
    changed = "+" if _git("status", "--porcelain", "layers", "sql") else ""
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "--short", "HEAD") + changed,
        "seed": seed,
        "mode": mode,
        **asdict(report),
    }
    summary.parent.mkdir(exist_ok=True)
    with summary.open("a") as file:
        file.write(json.dumps(entry, sort_keys=True) + "\n")


def runs() -> list[dict[str, Any]]:
    """All of them."""
    return [json.loads(line) for line in RUNS.read_text().splitlines()]


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
