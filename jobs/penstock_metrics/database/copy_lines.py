"""Turns result rows into pairs (piece, line) on executors. A line is in the format of COPY. The job compares all rows
of a piece at once.

A piece has one hour of minute windows, one day of hour windows, or ten days of day windows, so a transaction has a few
thousand rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock_metrics.span import HOUR, DaySpan, to_datetime
from penstock_metrics.transforms.columns import COUNTS, Transform

DAY: Final = 24 * HOUR
PIECE_US: Final = {60: HOUR, 3600: DAY, 86400: 10 * DAY}
_KEY: Final = ("window_seconds", "queue_id", "group_id")
_TIMES: Final = ("starts_us", "ends_us")
_SKETCH: Final = ("sketch_buckets", "sketch_counts")
KEYS: Final = {
    "metrics_window": (*_KEY, "starts_at", "zone"),
    "metrics_latency": (*_KEY, "measure", "starts_at", "zone"),
}
WINDOW_COLUMNS: Final = (
    *_KEY,
    *_TIMES,
    "zone",
    *COUNTS,
    "depth",
    "waiting",
    "received",
    "oldest_age_us",
    "visible",
    "in_flight",
    "delayed",
    "groups",
    "top_group_share",
    "gini",
)
LATENCY_COLUMNS: Final = (
    *_KEY,
    "measure",
    *_TIMES,
    "zone",
    "count",
    "sum_us",
    *(f"p{percent}_us" for percent in (50, 90, 95, 99)),
    "max_us",
    *_SKETCH,
    "negative_count",
)


@dataclass(frozen=True, slots=True)
class CopyPiece:
    """The windows of `window_seconds` that start in [low, high)."""

    window_seconds: int
    low: datetime
    high: datetime


def split_pieces(span: DaySpan) -> Iterator[tuple[str, CopyPiece]]:
    """Yields the name and the piece for all pieces of a span. `write_lines` uses these pieces' names."""
    for seconds, step in PIECE_US.items():
        low, high = span.bounds(seconds)
        for start in range(low // step * step, high, step):
            yield (
                f"{seconds} {start}",
                CopyPiece(seconds, to_datetime(max(start, low)), to_datetime(min(start + step, high))),
            )


def write_lines(columns: Sequence[str]) -> Transform:
    """Transforms rows to pairs (piece, line) in the text format of COPY."""

    def transform(rows: DataFrame) -> DataFrame:
        step = F.create_map(*(F.lit(number).cast("bigint") for pair in PIECE_US.items() for number in pair))
        start = F.col("starts_us") - F.pmod("starts_us", step[F.col("window_seconds").cast("bigint")])
        piece = F.concat_ws(" ", F.col("window_seconds").cast("string"), start.cast("string"))
        cells = (F.coalesce(_write_cell(name), F.lit("\\N")) for name in columns)
        return rows.select(piece.alias("piece"), F.concat_ws("\t", *cells).alias("line"))

    return transform


def name_in_sql(column: str) -> str:
    """Returns the name of a column in its table."""
    return column.replace("_us", "_at") if column in _TIMES else column


def _write_cell(name: str) -> Column:
    column = F.col(name)
    if name in _TIMES:
        return F.date_format(F.timestamp_micros(column), "yyyy-MM-dd HH:mm:ss.SSSSSS'+00'")
    if name in _SKETCH:
        return F.concat(F.lit("{"), F.array_join(column, ","), F.lit("}"))
    return _escape(column) if name == "group_id" else column.cast("string")


def _escape(text: Column) -> Column:
    for plain, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = F.replace(text, F.lit(plain), F.lit(escaped))
    return text
