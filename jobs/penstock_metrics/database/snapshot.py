"""Shares one snapshot of the database among several readers.

The readers of the live tables share an open snapshot (pg_export_snapshot). The history needs no open snapshot, because
transactions only add rows to the history, and each row has its transaction's number. A later reader can therefore
decide whether the snapshot sees a row. No transaction is open while the job reads millions of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from penstock_metrics.span import to_micros

from .address import TRANSACTION_SETTINGS, open_connection


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot. `text` is the result of pg_current_snapshot.

    All transactions with numbers below `below` have ended, and no transaction with the number `above` or higher has
    begun.
    """

    text: str
    below: int
    above: int
    at: datetime
    exported: str

    @property
    def now_us(self) -> int:
        return to_micros(self.at)

    @property
    def visibility_condition(self) -> str:
        """Returns a condition on rows with a column `transaction`."""
        whole = f"transaction < '{self.below}'::xid8"
        visible = f"pg_visible_in_snapshot(transaction, '{self.text}'::pg_snapshot)"
        # If the transaction's number is newer than the snapshot but recorded_at is older, the row came from a dump of
        # another cluster.
        restored = f"transaction >= '{self.above}'::xid8 and recorded_at < '{self.at.isoformat()}'"
        return f"({whole} or {visible} or ({restored}))"


@contextmanager
def share_snapshot(address: str) -> Iterator[Snapshot]:
    """Yields a snapshot that readers can import until the end of the block. The block must end within 30 s."""
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
