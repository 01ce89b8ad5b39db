"""One state of the database, for readers that come one after the other.

The live tables are read in one transaction's snapshot, which several readers share (pg_export_snapshot) and which ends
with them. The history needs none: its rows are only ever added and say which transaction added them, so whether one
belongs to the snapshot can be told at any later time. Therefore nothing is held while the millions are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from jobs.queue_metrics.span import micros

from .address import TRANSACTION_SETTINGS, open_connection


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`text`: of pg_current_snapshot. Below `below` all transactions are over, none from `above` on had begun."""

    text: str
    below: int
    above: int
    at: datetime
    exported: str

    @property
    def now_us(self) -> int:
        return micros(self.at)

    @property
    def visibility_condition(self) -> str:
        """A condition on rows with a column `transaction`."""
        whole = f"transaction < '{self.below}'::xid8"
        visible = f"pg_visible_in_snapshot(transaction, '{self.text}'::pg_snapshot)"
        # Numbers of another cluster, which a dump brought: a transaction that began later here records after it.
        restored = f"transaction >= '{self.above}'::xid8 and recorded_at < '{self.at.isoformat()}'"
        return f"({whole} or {visible} or ({restored}))"


@contextmanager
def shared_snapshot(address: str) -> Iterator[Snapshot]:
    """A snapshot that readers may import until the end of the block, which has to come within 30 s."""
    with open_connection(address) as connection, connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        for statement in TRANSACTION_SETTINGS:
            connection.execute(statement.encode())
        row = connection.execute(
            "select s::text, pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint, now(),"
            " pg_export_snapshot()"
            " from pg_current_snapshot() s"
        ).fetchone()
        assert row is not None
        yield Snapshot(*row)
