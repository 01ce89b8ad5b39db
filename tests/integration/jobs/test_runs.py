"""queue.metrics_run: how runs end that do not finish. docs/metrics_job.md, "When something breaks"."""

from __future__ import annotations

import subprocess
import sys

import psycopg
import pytest

from penstock_metrics.database.runs import record_run
from tests.support.database import Database

# A run that has begun, says so, and goes on until its input ends.
UNENDING = """
import sys
from penstock_metrics.database.runs import record_run
with record_run(sys.argv[1], "once", "UTC"):
    print("begun", flush=True)
    sys.stdin.read()
"""


def ends(database: Database) -> list[tuple[bool, str | None]]:
    """Of each run, in their order, whether it has ended, and its error."""
    with psycopg.connect(database.dsn) as connection:
        return connection.execute(
            "select finished_at is not null, error from queue.metrics_run order by run_id"
        ).fetchall()


def test_the_next_run_ends_one_that_was_killed(database: Database) -> None:
    command = [sys.executable, "-c", UNENDING, database.dsn]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.kill()
    assert ends(database) == [(False, None)]
    with record_run(database.dsn, "once", "UTC"):
        assert ends(database) == [(True, "the process ended before the run"), (False, None)]
    assert ends(database)[1] == (True, None)


def test_an_interrupted_run_says_so(database: Database) -> None:
    """Also when the interrupt made a call of Spark's fail."""
    with pytest.raises(KeyboardInterrupt), record_run(database.dsn, "continuous", "UTC"):
        raise KeyboardInterrupt
    broken = OSError("broken")
    broken.__cause__ = KeyboardInterrupt()
    with pytest.raises(OSError, match="broken"), record_run(database.dsn, "continuous", "UTC"):
        raise broken
    assert ends(database) == [(True, "interrupted")] * 2
