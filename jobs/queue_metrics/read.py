"""Pieces of views as DataFrames: over Arrow, or JDBC for who has the driver's jar."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from .address import SESSION, jdbc_address
from .source import NAME, PenstockSource
from .tables import Table

_READ_ONLY = "set transaction isolation level repeatable read, read only"


@dataclass(frozen=True, slots=True)
class Database:
    """What is read, and how. `jdbc`: by the driver of Java instead of Arrow."""

    session: SparkSession
    address: str
    jdbc: bool = False

    def read(self, table: Table, pieces: Sequence[str], exported: str | None = None) -> DataFrame:
        """Rows of `table`, a partition for each condition. `exported`: a snapshot that is held elsewhere.

        Loaded anew by each call: Spark keeps the list of partitions of a DataFrame.
        """
        imported = [f"set transaction snapshot '{exported}'"] if exported else []
        before = [_READ_ONLY, *imported, *SESSION]
        return (self._by_jdbc if self.jdbc else self._by_arrow)(table, pieces, before)

    def _by_arrow(self, table: Table, pieces: Sequence[str], before: Sequence[str]) -> DataFrame:
        self.session.dataSource.register(PenstockSource)
        queries = [
            f"select {table.select} from {table.name} where {table.where} and {piece}" for piece in pieces
        ]
        options = {
            "address": self.address,
            "columns": table.columns,
            "queries": json.dumps(queries),
            "before": json.dumps(before),
        }
        return self.session.read.format(NAME).options(**options).load()

    def _by_jdbc(self, table: Table, pieces: Sequence[str], before: Sequence[str]) -> DataFrame:
        url, properties = jdbc_address(self.address)
        queries = [
            f"select {table.select} from {table.name} where {table.where} and {piece}" for piece in pieces
        ]
        more = {
            "driver": "org.postgresql.Driver",
            "fetchsize": "20000",
            "pushDownPredicate": "false",
            "sessionInitStatement": "; ".join(before),
        }
        reader = self.session.read.format("jdbc").options(url=url, **properties, **more)
        frames = [reader.option("dbtable", f"({query}) as piece").load() for query in queries]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.union(frame)
        return whole
