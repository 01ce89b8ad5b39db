"""Replaces windows in queue.metrics_*: a piece is deleted and inserted in one transaction, so a re-run changes nothing.

Executors write the pieces concurrently; a task that Spark runs twice writes its pieces twice, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql
from pyspark.sql import DataFrame

from penstock_metrics.span import Span
from penstock_metrics.transforms.columns import Batches, mapped

from .address import TRANSACTION_SETTINGS, open_connection
from .copy_lines import LATENCY_COLUMNS, WINDOW_COLUMNS, Piece, lines, pieces, sql_name

COLUMNS: Final = {"metrics_window": WINDOW_COLUMNS, "metrics_latency": LATENCY_COLUMNS}
_NEWLINE: Final = "\n"
WRITTEN: Final = pa.schema([("piece", pa.string()), ("rows", pa.int64())])


def replace_windows(rows: DataFrame, table: str, span: Span, address: str) -> int:
    """Replaces the windows of `span` in `queue.{table}` by `rows`. Returns how many rows it wrote."""
    expected = dict(pieces(span))
    in_pieces = rows.transform(lines(COLUMNS[table])).repartition("piece").sortWithinPartitions("piece")
    written = mapped(in_pieces, piece_writer(address, table, expected), WRITTEN).collect()
    missing = expected.keys() - {row["piece"] for row in written}
    with open_connection(address) as connection:
        for name in missing:
            _replace(connection, table, expected[name], ())
    return sum(row["rows"] for row in written)


def piece_writer(
    address: str, table: str, expected: Mapping[str, Piece]
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The function with which an executor writes a partition's pieces; it returns their names and sizes."""

    def write(batches: Batches) -> Iterator[pa.RecordBatch]:
        with open_connection(address) as connection:
            for name, texts in groupby(_texts(batches), lambda text: text.piece):
                count = _replace(connection, table, expected[name], texts)
                yield pa.record_batch({"piece": [name], "rows": [count]}, WRITTEN)

    return write


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of a piece."""

    piece: str
    rows: int
    lines: bytes


def _texts(batches: Batches) -> Iterator[Text]:
    """The texts of pieces, without a Python object for each line: a piece's rows, and their bytes, are adjacent."""
    for batch in batches:
        ends = pc.run_end_encode(batch["piece"])
        start = 0
        for name, end in zip(ends.values.to_pylist(), ends.run_ends.to_pylist(), strict=True):
            whole = pa.ListArray.from_arrays([0, end - start], batch["line"].slice(start, end - start))
            yield Text(name, end - start, f"{pc.binary_join(whole, _NEWLINE)[0]}\n".encode())
            start = end


def _replace(connection: psycopg.Connection[Any], table: str, piece: Piece, texts: Iterable[Text]) -> int:
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
            for text in texts:
                copy.write(text.lines)
                count += text.rows
    return count


def _begin(connection: psycopg.Connection[Any]) -> None:
    for statement in TRANSACTION_SETTINGS:
        connection.execute(statement.encode())
