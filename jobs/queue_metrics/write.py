"""Replaces windows in queue.metrics_*: a piece is deleted and inserted in one transaction, so a re-run changes nothing.

Executors write the pieces side by side; what Spark runs twice is written twice, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame, Row

from .address import SESSION, open_connection
from .lines import LATENCY_COLUMNS, WINDOW_COLUMNS, Piece, lines, pieces, sql_name
from .span import Span, moment

COLUMNS: Final = {"metrics_window": WINDOW_COLUMNS, "metrics_latency": LATENCY_COLUMNS}
_FORECAST: Final = (
    "queue_id",
    "arrival_rate",
    "drain_rate",
    "backlog",
    "drain_seconds",
    "forecast",
    "forecast_low",
    "forecast_high",
)
_BATCH_BYTES: Final = 2**18


def replace_windows(rows: DataFrame, table: str, span: Span, address: str) -> int:
    """Makes the windows of `span` in `queue.{table}` equal to `rows`. Returns how many rows there are now."""
    expected = dict(pieces(span))
    sorted_lines = rows.transform(lines(COLUMNS[table])).repartition("piece").sortWithinPartitions("piece")
    written = sorted_lines.rdd.mapPartitions(piece_writer(address, table, expected)).collect()
    missing = expected.keys() - {name for name, _ in written}
    with open_connection(address) as connection:
        for name in missing:
            _replace(connection, table, expected[name], ())
    return sum(count for _, count in written)


def piece_writer(
    address: str, table: str, expected: Mapping[str, Piece]
) -> Callable[[Iterable[Row]], Iterator[tuple[str, int]]]:
    """What an executor does with a partition: writes its pieces, and tells their names and sizes."""

    def write(rows: Iterable[Row]) -> Iterator[tuple[str, int]]:
        with open_connection(address) as connection:
            for name, group in groupby(rows, lambda row: row["piece"]):
                yield name, _replace(connection, table, expected[name], (row["line"] for row in group))

    return write


def replace_forecasts(rows: Sequence[Row], address: str) -> int:
    """Makes queue.metrics_forecast hold exactly these."""
    names = sql.SQL(", ").join(map(sql.Identifier, (*_FORECAST, "forecast_at")))
    marks = sql.SQL(", ").join([sql.Placeholder()] * (len(_FORECAST) + 1))
    insert = sql.SQL("insert into queue.metrics_forecast ({}) values ({})").format(names, marks)
    values = [(*(row[name] for name in _FORECAST), list(map(moment, row["forecast_us"]))) for row in rows]
    with open_connection(address) as connection, connection.transaction():
        _begin(connection)
        connection.execute("delete from queue.metrics_forecast")
        connection.cursor().executemany(insert, values)
    return len(values)


def _replace(connection: psycopg.Connection[Any], table: str, piece: Piece, rows: Iterable[str]) -> int:
    names = sql.SQL(", ").join(sql.Identifier(sql_name(column)) for column in COLUMNS[table])
    name = sql.Identifier("queue", table)
    delete = sql.SQL(
        "delete from {} where window_seconds = %s and starts_at >= %s and starts_at < %s"
    ).format(name)
    count = 0
    with connection.transaction(), connection.cursor() as cursor:
        _begin(connection)
        cursor.execute(delete, (piece.window_seconds, piece.low, piece.high))
        with cursor.copy(sql.SQL("copy {} ({}) from stdin").format(name, names)) as copy:
            for batch in _batches(rows):
                copy.write("".join(batch))
                count += len(batch)
    return count


def _begin(connection: psycopg.Connection[Any]) -> None:
    for statement in SESSION:
        connection.execute(statement.encode())


def _batches(rows: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for row in rows:
        batch.append(row + "\n")
        size += len(row)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
