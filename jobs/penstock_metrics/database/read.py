"""Reads pieces of views as DataFrames, over Arrow or with the JDBC driver."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from .address import TRANSACTION_SETTINGS, add_limits, build_jdbc_address
from .source import NAME, PenstockSource
from .tables import LIVE, Table

_READ_ONLY = "set transaction isolation level repeatable read, read only"


@dataclass(slots=True)
class SourceDatabase:
    """Reads tables of a database as DataFrames, over Arrow or, if `jdbc` is set, with the JDBC driver."""

    session: SparkSession
    address: str
    jdbc: bool = False
    started: bool = False

    def __post_init__(self) -> None:
        self.session.dataSource.register(PenstockSource)

    def start(self) -> None:
        """Starts Spark's workers. The first start takes seconds, so the caller should have no open snapshot."""
        if not self.started:
            self.read({LIVE: ["false"]}).count()
        self.started = True

    def read(self, wanted: Mapping[Table, Sequence[str]], exported: str | None = None) -> DataFrame:
        """Returns the rows of tables with the same columns. Each condition on a table becomes one partition.

        `exported` is the snapshot of another connection. Spark keeps a list of partitions, so each call creates a new
        DataFrame.
        """
        imported = [f"set transaction snapshot '{exported}'"] if exported else []
        before = [_READ_ONLY, *imported, *TRANSACTION_SETTINGS]
        queries = [table.query(piece) for table, pieces in wanted.items() for piece in pieces]
        columns = next(iter(wanted)).columns
        return self._by_jdbc(queries, before) if self.jdbc else self._by_arrow(columns, queries, before)

    def _by_arrow(self, columns: str, queries: Sequence[str], before: Sequence[str]) -> DataFrame:
        options = {
            "url": add_limits(self.address),
            "columns": columns,
            "queries": json.dumps(queries),
            "before": json.dumps(before),
        }
        return self.session.read.format(NAME).options(**options).load()

    def _by_jdbc(self, queries: Sequence[str], before: Sequence[str]) -> DataFrame:
        url, properties = build_jdbc_address(self.address)
        more = {
            "driver": "org.postgresql.Driver",
            "fetchsize": "20000",
            "pushDownPredicate": "false",
            "sessionInitStatement": "; ".join(before),
        }
        reader = self.session.read.format("jdbc").options(url=url, **properties, **more)
        return reduce(DataFrame.union, [reader.option("dbtable", f"({query}) as piece").load() for query in queries])
