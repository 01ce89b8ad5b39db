"""Writes changed windows to queue.metrics_* and leaves equal rows unchanged.

Executors write pieces concurrently, several pieces in a transaction. The transaction copies the pieces to a temporary
table, removes the windows of the scope that the temporary table lacks, and adds or changes the windows that differ. A
repeated write of a piece changes no rows. Spark can repeat a task, and a run can follow a killed run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from penstock_metrics.scope import Scope
from penstock_metrics.span import to_datetime
from penstock_metrics.transforms.columns import Batches, map_batches

from .address import TRANSACTION_SETTINGS, open_connection
from .copy_lines import KEYS, LATENCY_COLUMNS, WINDOW_COLUMNS, CopyPiece, name_in_sql, split_pieces, write_lines

COLUMNS: Final = {"metrics_window": WINDOW_COLUMNS, "metrics_latency": LATENCY_COLUMNS}
# The values that a run measures in the windows that contain the run's time. A later run keeps the stored values.
MEASURED: Final = ("visible", "in_flight", "delayed")
_NEWLINE: Final = "\n"
_ROWS_AT_ONCE: Final = 20_000  # The approximate maximum number of rows that a transaction writes.
_OPEN_ROWS: Final = 50_000
# A temporary table has no statistics, so PostgreSQL may compare all pairs of rows. For 20,160 rows, comparing all pairs
# took over 30 s, and a hash join took 0.04 s.
_JOIN_BY_HASH: Final = ("set local enable_nestloop = off", "set local enable_mergejoin = off")
WRITTEN: Final = pa.schema([("piece", pa.string()), ("changed", pa.int64())])


@dataclass(frozen=True, slots=True)
class WindowTable:
    """A table of windows, and the run's scope, in which the run may change each queue's windows since a given time."""

    table: str
    zone: str
    expected: Mapping[str, CopyPiece]
    queue_ids: Sequence[int]
    since_us: Sequence[int]

    @classmethod
    def of(cls, table: str, zone: str, scope: Scope) -> WindowTable:
        ids, since = list(scope.since_us), list(scope.since_us.values())
        return cls(table, zone, dict(split_pieces(scope.span)), ids, since)


def write_windows(rows: DataFrame, target: WindowTable, address: str) -> int:
    """Replaces the windows of the target with `rows`. Returns the number of added, changed and removed rows."""
    zoned = rows.withColumn("zone", F.when(F.col("window_seconds") == 86400, F.lit(target.zone)).otherwise(""))
    made = zoned.transform(write_lines(COLUMNS[target.table]))
    in_pieces = made.repartition("piece").sortWithinPartitions("piece")
    written = map_batches(in_pieces, build_piece_writer(address, target), WRITTEN).collect()
    missing = target.expected.keys() - {row["piece"] for row in written}
    with open_connection(address) as connection, connection.transaction():
        _begin(connection)
        removed = _remove(connection, target, missing, incoming=False)
    changed: int = sum(row["changed"] for row in written)
    return removed + changed


def build_piece_writer(address: str, target: WindowTable) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Returns the executors' function that writes a partition's pieces and yields batches of WRITTEN."""

    def write(batches: Batches) -> Iterator[pa.RecordBatch]:
        with open_connection(address) as connection:
            for texts in _group_transactions(_read_texts(batches)):
                names, changed = _write(connection, target, texts)
                counts = [changed, *[0] * (len(names) - 1)]
                yield pa.record_batch({"piece": names, "changed": counts}, WRITTEN)

    return write


@dataclass(frozen=True, slots=True)
class Text:
    """The lines of one piece."""

    piece: str
    rows: int
    lines: bytes


def _read_texts(batches: Batches) -> Iterator[Text]:
    """Yields the texts of pieces. A piece's rows are adjacent bytes, so no line becomes a Python object."""
    for batch in batches:
        ends = pc.run_end_encode(batch["piece"])
        start = 0
        for name, end in zip(ends.values.to_pylist(), ends.run_ends.to_pylist(), strict=True):
            whole = pa.ListArray.from_arrays([0, end - start], batch["line"].slice(start, end - start))
            yield Text(name, end - start, f"{pc.binary_join(whole, _NEWLINE)[0]}\n".encode())
            start = end


def _group_transactions(texts: Iterator[Text]) -> Iterator[Iterator[Text]]:
    """Yields the texts of each transaction, in whole pieces. The caller must read a group before the next group."""
    rows, number, piece = 0, 0, ""

    def transaction(text: Text) -> int:
        """Returns the number of the text's transaction. A new piece after _ROWS_AT_ONCE rows begins a transaction."""
        nonlocal rows, number, piece
        if text.piece != piece and rows >= _ROWS_AT_ONCE:
            rows, number = 0, number + 1
        rows, piece = rows + text.rows, text.piece
        return number

    for _, together in groupby(texts, transaction):
        yield together


def _write(connection: psycopg.Connection[Any], target: WindowTable, texts: Iterable[Text]) -> tuple[list[str], int]:
    """Returns the names of the pieces, and the number of added, changed and removed rows."""
    columns = sql.SQL(", ").join(map(sql.Identifier, _list_columns(target)))
    table = sql.Identifier("queue", target.table)
    names: dict[str, None] = {}
    with connection.transaction(), connection.cursor() as cursor:
        _begin(connection)
        cursor.execute(sql.SQL("create temporary table incoming (like {}) on commit drop").format(table))
        cursor.execute("alter table incoming alter computed_at drop not null")
        with cursor.copy(sql.SQL("copy incoming ({}) from stdin").format(columns)) as copy:
            for text in texts:
                copy.write(text.lines)
                names[text.piece] = None
        changed = _remove(connection, target, names, incoming=True)
        cursor.execute(_build_upsert(target))
        changed += cursor.rowcount
    return list(names), changed


def _list_columns(target: WindowTable) -> list[str]:
    return [name_in_sql(column) for column in COLUMNS[target.table]]


def _build_upsert(target: WindowTable) -> sql.Composed:
    """Returns the statement that adds missing rows and changes different rows. A new null does not replace a measured
    value."""
    key = KEYS[target.table]
    values = [name for name in _list_columns(target) if name not in key]

    def both(name: str) -> tuple[sql.Composable, sql.Composable]:
        mine, new = sql.Identifier("t", name), sql.Identifier("excluded", name)
        return mine, sql.SQL("coalesce({}, {})").format(new, mine) if name in MEASURED else new

    pairs = {name: both(name) for name in values}
    return sql.SQL(
        "insert into {table} as t ({columns}) select {columns} from incoming on conflict ({key})"
        " do update set {assignments}, computed_at = clock_timestamp() where ({old}) is distinct from ({new})"
    ).format(
        table=sql.Identifier("queue", target.table),
        columns=sql.SQL(", ").join(map(sql.Identifier, _list_columns(target))),
        key=sql.SQL(", ").join(map(sql.Identifier, key)),
        assignments=sql.SQL(", ").join(
            sql.SQL("{} = {}").format(sql.Identifier(name), new) for name, (_, new) in pairs.items()
        ),
        old=sql.SQL(", ").join(old for old, _ in pairs.values()),
        new=sql.SQL(", ").join(new for _, new in pairs.values()),
    )


def _remove(connection: psycopg.Connection[Any], target: WindowTable, names: Iterable[str], *, incoming: bool) -> int:
    """Deletes the pieces' windows from the target. If `incoming` is set, the windows in the table incoming stay."""
    if not target.queue_ids:
        return 0
    kept = sql.SQL(" and not exists (select from incoming i where {})").format(
        sql.SQL(" and ").join(sql.SQL("i.{0} = t.{0}").format(sql.Identifier(name)) for name in KEYS[target.table])
    )
    statement = sql.SQL(
        "delete from {table} t using unnest(%s::int[], %s::timestamptz[]) s (queue_id, since)"
        " where t.window_seconds = %s and t.starts_at >= %s and t.starts_at < %s and t.zone = %s"
        " and t.queue_id = s.queue_id and t.starts_at >= s.since{kept}"
    ).format(table=sql.Identifier("queue", target.table), kept=kept if incoming else sql.SQL(""))
    since = [to_datetime(us) for us in target.since_us]
    removed = 0
    for piece in join_pieces(target.expected[name] for name in names):
        zone = target.zone if piece.window_seconds == 86400 else ""
        bounds = (piece.window_seconds, piece.low, piece.high, zone)
        removed += connection.execute(statement, (target.queue_ids, since, *bounds)).rowcount
    return removed


def join_pieces(pieces_: Iterable[CopyPiece]) -> list[CopyPiece]:
    """Merges pieces into as few pieces as possible, with the same windows."""
    found: list[CopyPiece] = []
    for piece in sorted(pieces_, key=lambda piece: (piece.window_seconds, piece.low)):
        last = found[-1] if found else None
        if last and (last.window_seconds, last.high) == (piece.window_seconds, piece.low):
            found[-1] = CopyPiece(piece.window_seconds, last.low, piece.high)
        else:
            found.append(piece)
    return found


def write_open(rows: Iterator[Row], address: str) -> None:
    """Adds lines of queue.metrics_open. The lines take effect when the run succeeds."""
    with open_connection(address) as connection:
        for _, together in groupby(enumerate(rows), lambda pair: pair[0] // _OPEN_ROWS):
            with connection.transaction(), connection.cursor() as cursor:
                _begin(connection)
                with cursor.copy(
                    "copy queue.metrics_open (zone, queue_id, minute_at, run_id, counts) from stdin"
                ) as copy:
                    copy.write("".join(f"{row['line']}\n" for _, row in together))


def _begin(connection: psycopg.Connection[Any]) -> None:
    for statement in (*TRANSACTION_SETTINGS, *_JOIN_BY_HASH):
        connection.execute(statement.encode())
