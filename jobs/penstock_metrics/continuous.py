"""Repeats a run each interval: a run leaves its state for the next one in the database, so this module holds none.

Each run queries the database for changes since the last run of its zone, of either mode. So continuous and single runs
agree by construction, and a new process continues where the last one ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from .attempts import run_with_retries
from .database.read import Database
from .run import RequestedDays, compute


def follow(
    database: Database,
    requested: RequestedDays,
    interval_seconds: float,
    report: Callable[[str], None],
    wait: Callable[[float], object] = time.sleep,
) -> None:
    """Computes `requested` first, then changes, until it is interrupted. Raises the error of a failing run.

    A run begins `interval_seconds` after the start of the one before, or at its end, if it takes longer.
    """
    asked = requested
    while True:
        began = time.monotonic()
        run = run_with_retries(partial(compute, database, asked, "continuous", report), report)
        report(f"run {run.run_id}: {run.rows_read:,} messages read, {run.rows_written:,} rows changed")
        asked = replace(requested, start=None, end=None)
        wait(max(0.0, interval_seconds - (time.monotonic() - began)))
