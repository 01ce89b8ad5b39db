"""A run again each interval."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from penstock_metrics import continuous
from penstock_metrics.run import RequestedDays


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
