"""A streaming data source of Spark over the history: the times of rows that were recorded since the last batch.

An offset is the number of a transaction below which all have ended (pg_snapshot_xmin). A row that was recorded early
and committed late has a number at or above the offsets of its time, so it is in a later batch: no row is missed, none
comes twice. The offset also has the time, so that there is a batch each interval: windows change also while no message
ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from .address import TRANSACTION_SETTINGS, limited_address, open_connection
from .runs import LATE, changes_of
from .source import Piece, read_table

NAME: Final = "penstock_changes"
COLUMNS: Final = "changed_at timestamp"
Offset = dict[str, Any]


class ChangesSource(DataSource):
    """Options: url (DSN), start (an offset as JSON)."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        return ChangesReader(self.options["url"], json.loads(self.options["start"]))


class ChangesReader(DataSourceStreamReader):
    """Reads a batch as one partition: for each row recorded since the last batch, the first time that it concerns."""

    def __init__(self, address: str, start: Offset) -> None:
        self._address = address
        self._start = start

    def initialOffset(self) -> Offset:  # noqa: N802
        return self._start

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: ARG002, N802
        return newest_offset(self._address)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        since = datetime.fromisoformat(start["at"]) - LATE
        return [Piece(changes_of(since, start["below"], end["below"]))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, Piece)
        yield from read_table(
            limited_address(self._address), TRANSACTION_SETTINGS, partition.query, COLUMNS
        ).to_batches()


def newest_offset(address: str) -> Offset:
    """The present end of the history: all transactions below it have ended."""
    with open_connection(address) as connection:
        row = connection.execute(
            "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint, clock_timestamp()"
        ).fetchone()
    assert row is not None
    return {"below": row[0], "at": row[1].isoformat()}
