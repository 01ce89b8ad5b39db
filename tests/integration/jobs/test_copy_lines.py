"""Lines of COPY, and the pieces that they are replaced in."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession

from penstock_metrics.database.copy_lines import LATENCY_COLUMNS, CopyPiece, lines, pieces
from penstock_metrics.database.write import join_pieces
from penstock_metrics.span import HOUR, DaySpan
from tests.integration.jobs.conftest import rows_of
from tests.support.jobs.reference import at

pytestmark = [pytest.mark.metrics, pytest.mark.xdist_group("spark")]


def test_what_copy_reads(spark: SparkSession) -> None:
    """Text format of COPY: tab, newline, carriage return and backslash are escaped, null is \\N."""
    rows = spark.createDataFrame(
        [(60, 7, "a\tb\nc\\N\rd", at(0), None, [3, -(2**31)], 0.25)],
        "window_seconds int, queue_id int, group_id string, starts_us bigint, waiting bigint,"
        " sketch_buckets array<int>, gini double",
    )
    found = rows.transform(lines(rows.columns))
    line = "60\t7\ta\\tb\\nc\\\\N\\rd\t2025-11-24 16:00:00.000000+00\t\\N\t{3,-2147483648}\t0.25"
    assert rows_of(found, "piece", "line") == [(f"60 {at(0)}", line)]


def test_pieces_cover_the_windows_once() -> None:
    """Of a day of 25 hours; days of Kolkata begin within an hour of UTC."""
    for zone in (ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata")):
        start, end = datetime(2026, 10, 25, tzinfo=zone), datetime(2026, 10, 26, tzinfo=zone)
        span = DaySpan.of(start, end, datetime(2026, 11, 1, tzinfo=UTC), zone)
        for seconds in (60, 3600, 86400):
            found = [piece for _, piece in pieces(span) if piece.window_seconds == seconds]
            low, high = span.bounds(seconds)
            assert sum((piece.high - piece.low).total_seconds() for piece in found) * 1_000_000 == high - low
            assert all(earlier.high <= later.low for earlier, later in pairwise(found))


def test_adjacent_pieces_are_joined() -> None:
    first, second, third, fourth = (datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2, 3, 4))
    apart = [
        CopyPiece(60, second, third),
        CopyPiece(3600, third, fourth),
        CopyPiece(60, first, second),
        CopyPiece(3600, first, second),
    ]
    assert join_pieces(apart) == [
        CopyPiece(60, first, third),
        CopyPiece(3600, first, second),
        CopyPiece(3600, third, fourth),
    ]


def test_a_line_knows_the_name_of_its_piece(spark: SparkSession) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    day = datetime(2025, 11, 24, tzinfo=berlin)
    span = DaySpan.of(day, day, datetime(2026, 11, 1, tzinfo=UTC), berlin)
    rows = spark.createDataFrame(
        [(60, at(59)), (3600, at(60)), (86400, span.start_us)], "window_seconds int, starts_us bigint"
    )
    names = {name for (name,) in rows_of(rows.transform(lines(["starts_us"])), "piece")}
    assert len(names) == 3
    assert names <= {name for name, _ in pieces(span)}
    assert span.end_us - span.start_us == 24 * HOUR


def test_the_columns_are_those_of_the_percentiles() -> None:
    assert [name for name in LATENCY_COLUMNS if name.startswith("p")] == [
        "p50_us",
        "p90_us",
        "p95_us",
        "p99_us",
    ]
