"""Retries a run that lost a connection to the database or its snapshot. A retry computes the same result."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final, TypeVar

import psycopg
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from .database.runs import reason

Result = TypeVar("Result")

ATTEMPTS: Final = 3
PAUSE_SECONDS: Final = (5.0, 30.0)
"""The job pauses this long before the second and the third attempt. A restarting server is ready by then."""
_LOST: Final = re.compile(
    r"OperationalError|AdminShutdown|CrashShutdown|CannotConnectNow|IdleInTransactionSessionTimeout|QueryCanceled"
    r"|terminating connection|invalid snapshot identifier|snapshot \"?[0-9A-F-]+\"? does not exist"
    r"|server closed the connection|could not import the requested snapshot"
)


class LostError(Exception):
    """Every attempt lost a connection. The text is the reason of the last attempt."""


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
                raise LostError(reason(error)) from error
            report(f"{reason(error)}; trying again in {pause:.0f} s")
            wait(pause)
    raise AssertionError("unreachable")


def is_lost(error: BaseException) -> bool:
    """Returns whether the error says that a connection, or the snapshot that connections share, was lost."""
    return isinstance(error, psycopg.OperationalError) or bool(
        _LOST.search(f"{type(error).__name__} {error}")
    )
