"""The forecast of a queue's backlog: rates of the last hour, time to drain, and the next hour with an interval.

The trend is the median of the slopes between all pairs of minutes (Theil and Sen), which a burst hardly changes. The
interval is that of a random process with independent changes per minute and this drift. After h minutes its standard
deviation is s * sqrt(h + h^2 / n), where s is that of the changes in a minute and n their number: the first term is
chance, the second the error of the estimated drift. The interval is 1.96 standard deviations on both sides: 95 % if
changes are about normal. The forecast does not foresee bursts, a daily rhythm or new consumers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median, stdev
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from penstock_metrics.span import MINUTE

from .columns import ENDINGS, WHOLE_QUEUE, Transform

HISTORY_MINUTES: Final = 60
POINTS: Final = 12
POINT_MINUTES: Final = 5
_BAND: Final = 1.96

SCHEMA: Final = T.StructType(
    [T.StructField(name, T.DoubleType()) for name in ("arrival_rate", "drain_rate", "drain_seconds")]
    + [
        T.StructField(name, T.ArrayType(T.DoubleType()))
        for name in ("forecast", "forecast_low", "forecast_high")
    ]
)


def forecasts(now_us: int, backlog: DataFrame) -> Transform:
    """From windows of a minute, a row for each queue that had messages or events in the last hour of complete minutes.

    `backlog`: (queue_id, backlog) as it is now.
    """
    last = now_us // MINUTE * MINUTE

    def transform(windows: DataFrame) -> DataFrame:
        recent = windows.where(
            (F.col("window_seconds") == 60)
            & (F.col("group_id") == WHOLE_QUEUE)
            & F.col("ends_us").between(last - HISTORY_MINUTES * MINUTE, last)
        )
        drained = sum((F.col(name) for name in ENDINGS.values()), F.lit(0))
        minute = ((last - F.col("ends_us")) / MINUTE).cast("int").alias("minutes_ago")
        rows = F.collect_list(F.struct(minute, "arrivals", drained.alias("drained"), "depth")).alias("rows")
        joined = recent.groupBy("queue_id").agg(rows).join(backlog, "queue_id", "full")
        held = F.coalesce("backlog", F.lit(0)).alias("backlog")
        forecast_rows = F.udf(_forecast_of, SCHEMA, useArrow=False)(
            F.coalesce("rows", F.array()), F.coalesce("backlog", F.lit(0))
        )
        times = [last + POINT_MINUTES * MINUTE * (point + 1) for point in range(POINTS)]
        return joined.select("queue_id", held, forecast_rows.alias("forecast")).select(
            "queue_id", "backlog", "forecast.*", F.array(*map(F.lit, times)).alias("forecast_us")
        )

    return transform


def _forecast_of(rows: Sequence[Mapping[str, int]], backlog: int) -> tuple[Any, ...]:
    depths, arrived, drained = [0] * (HISTORY_MINUTES + 1), 0, 0
    for row in rows:
        depths[HISTORY_MINUTES - row["minutes_ago"]] = row["depth"]
        if row["minutes_ago"] < HISTORY_MINUTES:
            arrived, drained = arrived + row["arrivals"], drained + row["drained"]
    seconds = HISTORY_MINUTES * 60
    rates = arrived / seconds, drained / seconds
    return *rates, drain_seconds(backlog, *rates), *outlook(depths, backlog)


def drain_seconds(backlog: int, arrival_rate: float, drain_rate: float) -> float | None:
    """Seconds until the queue is empty, at these rates in messages a second; None: never."""
    if backlog == 0:
        return 0.0
    return backlog / (drain_rate - arrival_rate) if drain_rate > arrival_rate else None


def outlook(depths: Sequence[int], backlog: int) -> tuple[list[float], list[float], list[float]]:
    """Expected, lowest and highest backlog in 5, 10 … 60 minutes. `depths`: of consecutive minutes, the newest last."""
    drift = slope(depths)
    changes = [after - before for before, after in pairwise(depths)]
    spread = stdev(changes)
    expected, low, high = [], [], []
    for ahead in range(POINT_MINUTES, POINTS * POINT_MINUTES + 1, POINT_MINUTES):
        middle = backlog + drift * ahead
        half = _BAND * spread * math.sqrt(ahead + ahead**2 / len(changes))
        expected.append(max(0.0, middle))
        low.append(max(0.0, middle - half))
        high.append(max(0.0, middle + half))
    return expected, low, high


def slope(values: Sequence[float]) -> float:
    """Change per step: the median over all pairs (Theil 1950, Sen 1968)."""
    return median(_slopes(values))


def _slopes(values: Sequence[float]) -> Iterable[float]:
    return (
        (values[later] - values[earlier]) / (later - earlier)
        for earlier in range(len(values))
        for later in range(earlier + 1, len(values))
    )
