"""Repeats a run each interval. The state between runs is in the database, so this module keeps none.

Each run queries the database for changes since the last run of its zone, whether that run was single or continuous.
Both kinds of runs therefore agree, and a new process continues where the last process ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from .attempts import run_with_retries
from .database.read import SourceDatabase
from .run import RequestedDays, compute


def follow(
    database: SourceDatabase,
    requested: RequestedDays,
    interval_seconds: float,
    report: Callable[[str], None],
    wait: Callable[[float], object] = time.sleep,
) -> None:
    """Computes `requested` first and then the changes, until the process is interrupted. Raises the error of a failed
    run.

    A run begins `interval_seconds` after the start of the previous run. If that run takes longer, the next run begins
    at its end.
    """
    asked = requested
    while True:
        began = time.monotonic()
        run = run_with_retries(partial(compute, database, asked, "continuous", report), report)
        report(f"run {run.run_id}: {run.rows_read:,} messages read, {run.rows_written:,} rows changed")
        asked = replace(requested, start=None, end=None)
        wait(max(0.0, interval_seconds - (time.monotonic() - began)))
