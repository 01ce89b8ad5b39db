"""Repeats a run after a lost connection or snapshot, and repeats runs each interval.

A retry computes the same result. The state between runs is in the database.

Each run computes the changes since the zone's last run, whether that run was single or continuous. A new process
therefore continues the work of the last process.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

import psycopg
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from .database.read import SourceDatabase
from .database.runs import describe_reason
from .run import RequestedSpan, compute

Result = TypeVar("Result")

ATTEMPTS: Final = 3
PAUSE_SECONDS: Final = (5.0, 30.0)
"""The pauses before the second and the third attempt. A server that restarts is ready after these pauses."""
_LOST: Final = re.compile(
    r"OperationalError|AdminShutdown|CrashShutdown|CannotConnectNow|IdleInTransactionSessionTimeout|QueryCanceled"
    r"|terminating connection|invalid snapshot identifier|snapshot \"?[0-9A-F-]+\"? does not exist"
    r"|server closed the connection|could not import the requested snapshot"
)


def follow(
    database: SourceDatabase,
    requested: RequestedSpan,
    interval_seconds: float,
    report: Callable[[str], None],
    wait: Callable[[float], object] = time.sleep,
) -> None:
    """Computes `requested` and then changes until an interrupt. Raises the error of a failed run.

    A run begins `interval_seconds` after the start of the previous run, or at the end of the previous run if that run
    takes longer.
    """
    asked = requested
    while True:
        began = time.monotonic()
        run = run_with_retries(partial(compute, database, asked, "continuous", report), report)
        report(f"run {run.run_id}: messages read: {run.rows_read:,}; rows changed: {run.rows_written:,}")
        asked = replace(requested, start=None, end=None)
        wait(max(0.0, interval_seconds - (time.monotonic() - began)))


class LostError(Exception):
    """Every attempt lost a connection. The text gives the reason for the last loss."""


def run_with_retries(
    run: Callable[[], Result], report: Callable[[str], None], wait: Callable[[float], object] = time.sleep
) -> Result:
    """Returns the result of a run. Raises LostError after ATTEMPTS, and raises any other error at once."""
    for pause in (*PAUSE_SECONDS, None):
        try:
            return run()
        except (psycopg.Error, PySparkException, Py4JError) as error:
            if not is_lost(error):
                raise
            if pause is None:
                raise LostError(describe_reason(error)) from error
            report(f"{describe_reason(error)}; trying again in {pause:.0f} s")
            wait(pause)
    raise AssertionError("unreachable")


def is_lost(error: BaseException) -> bool:
    """Returns whether the error reports a lost connection or a lost shared snapshot."""
    return isinstance(error, psycopg.OperationalError) or bool(_LOST.search(f"{type(error).__name__} {error}"))
