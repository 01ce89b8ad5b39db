"""Computes the row of queue.metrics_forecast from a queue's stored windows, for `groupBy("queue_id").applyInArrow`.

With any traffic, the input of a queue is at most 700 minute windows and 600 hour windows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .intervals import LEVEL
from .outlook import ForecastQueue, QueueOutlook, WindowCounts, build_outlook
from .series import POINTS, STEP

WINDOWS: Final = pa.schema(
    [
        ("queue_id", pa.int32()),
        ("window_seconds", pa.int32()),
        ("ends_us", pa.int64()),
        ("arrivals", pa.int64()),
        ("drained", pa.int64()),
        ("depth", pa.int64()),
        ("oldest_age_us", pa.int64()),
    ]
)
_DEPTHS: Final = pa.list_(pa.float64())
FORECAST: Final = pa.schema(
    [
        ("queue_id", pa.int32()),
        ("backlog", pa.int64()),
        ("arrival_rate", pa.float64()),
        ("drain_rate", pa.float64()),
        ("drain_seconds", pa.float64()),
        ("forecast_us", pa.list_(pa.int64())),
        ("forecast", _DEPTHS),
        ("forecast_low", _DEPTHS),
        ("forecast_high", _DEPTHS),
        ("method", pa.string()),
        ("reason", pa.string()),
        ("interval_level", pa.float64()),
        ("interval_coverage", pa.float64()),
        ("mean_error", pa.float64()),
        ("unchanged_error", pa.float64()),
        ("backtests", pa.int32()),
        ("warnings", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """The facts about a queue that its windows do not contain. `created_us` may be before the first window."""

    created_us: int
    retention_seconds: int
    backlog: int


def build_forecaster(facts: Mapping[int, QueueFacts], last_us: int) -> Callable[[pa.Table], pa.Table]:
    """Returns a function from a queue's windows (WINDOWS) up to `last_us` to the queue's row (FORECAST)."""

    def forecast_queue(windows: pa.Table) -> pa.Table:
        queue_id = windows["queue_id"][0].as_py()
        return pa.Table.from_pylist([forecast_row(queue_id, windows, facts[queue_id], last_us)], FORECAST)

    return forecast_queue


def forecast_row(queue_id: int, windows: pa.Table, facts: QueueFacts, last_us: int) -> dict[str, Any]:
    """Returns the row of a queue (FORECAST)."""
    queue = read_queue(windows, facts, last_us)
    return {"queue_id": queue_id, "backlog": facts.backlog, **_build_columns(build_outlook(queue), last_us)}


def read_queue(windows: pa.Table, facts: QueueFacts, last_us: int) -> ForecastQueue:
    """Returns a queue, which begins at its creation or with its first window, whichever is later."""
    minutes, hours = (_read_windows(windows, seconds) for seconds in (60, 3600))
    starts = [
        int(held.ends_us.min()) - seconds * 1_000_000
        for held, seconds in ((minutes, 60), (hours, 3600))
        if len(held.ends_us)
    ]
    begins_us = max(facts.created_us, min(starts, default=facts.created_us))
    return ForecastQueue(minutes, hours, facts.backlog, begins_us, last_us, facts.retention_seconds)


def _read_windows(windows: pa.Table, seconds: int) -> WindowCounts:
    held = windows.filter(pc.equal(windows["window_seconds"], seconds))
    return WindowCounts(*(held[name].to_numpy().astype(np.int64) for name in WINDOWS.names[2:]))


def _build_columns(outlook: QueueOutlook, last_us: int) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "arrival_rate": outlook.rates.arrivals,
        "drain_rate": outlook.rates.drained,
        "drain_seconds": outlook.drain_seconds,
        "reason": outlook.reason,
        "warnings": json.dumps({name: value for name, value in asdict(outlook.warnings).items() if value is not None}),
    }
    if outlook.forecast is None:
        return columns
    test, around = outlook.forecast.test, outlook.forecast.intervals
    return columns | {
        "forecast_us": [last_us + STEP * (point + 1) for point in range(POINTS)],
        "forecast": outlook.forecast.expected.tolist(),
        "forecast_low": around.low.tolist(),
        "forecast_high": around.high.tolist(),
        "method": test.method,
        "interval_level": LEVEL,
        "interval_coverage": around.coverage,
        "mean_error": test.loss,
        "unchanged_error": test.unchanged_loss,
        "backtests": len(test.origins),
    }
