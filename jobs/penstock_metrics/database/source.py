"""Reads rows of PostgreSQL as Arrow batches, as a Python data source of Spark over ADBC.

The reader fetches a whole piece before it returns the first batch, so the transaction does not wait for Spark. The
source does not implement pushFilters, because Spark 4.3.0 with pushFilters returns wrong results if a query uses a
DataFrame twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from adbc_driver_postgresql import dbapi
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

NAME: Final = "penstock"
_TIME: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": _TIME,
    "array<int>": pa.list_(pa.int32()),
    "array<bigint>": pa.list_(pa.int64()),
    "array<timestamp>": pa.list_(_TIME),
}


class QueryPartition(InputPartition):
    """The query of a partition."""

    def __init__(self, query: str) -> None:
        self.query = query


class PenstockSource(DataSource):
    """A data source with the options url (a DSN), columns (DDL), queries and before.

    `queries` and `before` are lists in JSON. Each transaction first executes the statements of `before`. Spark hides
    the value of an option named url.
    """

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return str(self.options["columns"])

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        return PieceReader(dict(self.options))


class PieceReader(DataSourceReader):
    """Reads each query as one partition."""

    def __init__(self, options: dict[str, str]) -> None:
        self._address = options["url"]
        self._columns = options["columns"]
        self._queries = json.loads(options["queries"])
        self._before = json.loads(options["before"])

    def partitions(self) -> Sequence[InputPartition]:
        return [QueryPartition(query) for query in self._queries]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, QueryPartition)
        yield from read_table(self._address, self._before, partition.query, self._columns).to_batches()


def read_table(address: str, before: Sequence[str], query: str, columns: str) -> pa.Table:
    """Returns the result of a query with exactly the given columns."""
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        for statement in before:
            cursor.execute(statement)
        cursor.execute(query)
        table = cursor.fetch_arrow_table()
        connection.rollback()
    return table.cast(build_arrow_schema(columns))


def build_arrow_schema(columns: str) -> pa.Schema:
    """Returns the schema of the text `name type, name type`."""
    pairs = (column.split() for column in columns.split(","))
    return pa.schema([(name, _TYPES[kind]) for name, kind in pairs])
