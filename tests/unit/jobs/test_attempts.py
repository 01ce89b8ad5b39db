"""Which errors of a run lead to another attempt, and how many there are.

A run again each interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

import psycopg
import pytest

from penstock_metrics import continuous
from penstock_metrics.attempts import ATTEMPTS, LostError, is_lost, run_with_retries
from penstock_metrics.database.runs import reason
from penstock_metrics.run import RequestedDays

LOST = psycopg.errors.IdleInTransactionSessionTimeout(
    "terminating connection due to idle-in-transaction timeout"
)


def failing(*errors: Exception) -> Callable[[], str]:
    """A run that ends with these errors, one after the other, and then succeeds."""
    left = list(errors)

    def run() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return run


def test_a_lost_connection_is_tried_again() -> None:
    said: list[str] = []
    waited: list[float] = []
    assert (
        run_with_retries(failing(LOST, psycopg.OperationalError("gone")), said.append, waited.append)
        == "done"
    )
    assert waited == [5.0, 30.0]
    assert [text.partition(";")[0] for text in said] == [str(LOST), "gone"]


def test_the_last_attempt_ends_with_one_line() -> None:
    with pytest.raises(LostError, match="idle-in-transaction"):
        run_with_retries(failing(*[LOST] * ATTEMPTS), lambda _: None, lambda _: None)


def test_other_errors_are_not_repeated() -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        run_with_retries(failing(psycopg.errors.UndefinedTable("none")), lambda _: None, lambda _: None)


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (LOST, True),
        (psycopg.errors.AdminShutdown("terminating connection"), True),
        (RuntimeError("psycopg.OperationalError: server closed the connection unexpectedly"), True),
        (RuntimeError("adbc: could not import the requested snapshot"), True),
        (psycopg.errors.InsufficientPrivilege("permission denied for table history"), False),
        (ValueError("no such day"), False),
    ],
)
def test_what_counts_as_lost(error: Exception, lost: bool) -> None:
    assert is_lost(error) is lost


def test_a_stop_is_a_reason_also_behind_the_error_that_it_caused() -> None:
    broken = RuntimeError("the call of Spark broke off")
    broken.__context__ = KeyboardInterrupt()
    assert reason(broken) == "interrupted"
    assert reason(RuntimeError("x")) == "x"


@dataclass
class DoneRun:
    run_id: int
    rows_read: int = 3
    rows_written: int = 4


def test_what_was_asked_for_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then each run computes what is new; it waits for the rest of the interval, and ends with the error of a run."""
    asked: list[tuple[object, str]] = []
    waits: list[float] = []
    texts: list[str] = []

    def compute(database: Any, requested: RequestedDays, mode: str, report: object) -> DoneRun:
        asked.append((requested, mode))
        if len(asked) == 3:
            raise ConnectionError
        return DoneRun(len(asked))

    monkeypatch.setattr(continuous, "compute", compute)
    day = datetime(2026, 3, 29, tzinfo=UTC)
    requested = RequestedDays(ZoneInfo("UTC"), day)
    with pytest.raises(ConnectionError):
        continuous.follow(cast("Any", None), requested, 60, texts.append, waits.append)
    assert asked == [(requested, "continuous"), *[(RequestedDays(ZoneInfo("UTC")), "continuous")] * 2]
    assert texts == [f"run {n}: 3 messages read, 4 rows changed" for n in (1, 2)]
    assert all(0 < wait <= 60 for wait in waits)
