"""Compares the clocks of this machine and of the database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from .examination import Examination
from .finding import Finding

SUBJECT = "clock"
MOST_SECONDS: Final = 2.0


def check_clock(examined: Examination) -> Iterator[Finding]:
    """Raises psycopg's errors."""
    connection = examined.direct()
    before = time.time()
    row = connection.execute("select extract(epoch from clock_timestamp())::float8").fetchone()
    after = time.time()
    assert row is not None  # noqa: S101 - a query without a table has one row
    yield from judge_clock(row[0] - (before + after) / 2, (after - before) / 2)


def judge_clock(ahead: float, uncertain: float) -> Iterator[Finding]:
    """`ahead` is the number of seconds by which the database's clock is ahead of ours, plus or minus `uncertain`."""
    if abs(ahead) - uncertain <= MOST_SECONDS:
        return
    direction = "ahead of" if ahead > 0 else "behind"
    yield Finding(
        SUBJECT,
        f"the database's clock is {abs(ahead):.1f} s {direction} this machine's",
        "delays, timeouts and schedules use the database's clock, signatures and log lines use this machine's: "
        "signatures are refused from a difference of 15 minutes on",
        "synchronise both: `chronyc tracking` or `timedatectl` shows the state",
    )
