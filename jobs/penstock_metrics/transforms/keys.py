"""Encodes (queue, group, measure, window) as one integer, which is fast to sort and compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock_metrics.span import DaySpan

from .columns import WHOLE_QUEUE
from .sketch import Ints

MEASURES: Final = ("wait", "processing", "lag", "fire", "delivery")
DAY_SECONDS: Final = 86400
LENGTHS: Final = (60, 3600, DAY_SECONDS)


@dataclass(frozen=True, slots=True)
class Windows:
    """Numbers those windows of a span and a length that have begun, in the order of time."""

    seconds: int
    edges: Ints

    @classmethod
    def of(cls, span: DaySpan, seconds: int) -> Windows:
        low, high = span.bounds(seconds)
        edges = np.asarray(span.days if seconds == DAY_SECONDS else range(low, high + 1, seconds * 1_000_000))
        begun = int(np.searchsorted(edges[:-1], span.now_us, "right"))
        return cls(seconds, edges[: begun + 1].astype(np.int64))

    def number(self, at: Ints) -> Ints:
        """Returns the number of the window that contains each time, or -1."""
        found = np.searchsorted(self.edges, at, "right") - 1
        return np.where(found < len(self.edges) - 1, found, -1)

    @property
    def count(self) -> int:
        return len(self.edges) - 1


@dataclass(frozen=True, slots=True)
class GroupNumbers:
    """Numbers the queues and groups of some rows. Group 0 is the whole queue."""

    queue_ids: Ints
    group_ids: pa.StringArray
    queue: Ints
    group: Ints

    @classmethod
    def of(cls, rows: pa.Table) -> GroupNumbers:
        queues = pc.dictionary_encode(_build_column(rows, "queue_id"))
        first = pa.array([WHOLE_QUEUE], pa.string())
        groups = pc.dictionary_encode(pa.concat_arrays([first, _build_column(rows, "group_id")]))
        return cls(
            to_integers(queues.dictionary),
            groups.dictionary,
            to_integers(queues.indices),
            to_integers(groups.indices)[1:],
        )


@dataclass(frozen=True, slots=True)
class Coding:
    """Encodes keys as ((queue * groups + group) * measures + measure) * windows + window."""

    numbers: GroupNumbers
    windows: Windows

    def encode(self, queue: Ints, group: Ints, measure: Ints, window: Ints) -> Ints:
        pair = queue * len(self.numbers.group_ids) + group
        return (pair * len(MEASURES) + measure) * self.windows.count + window

    def columns(self, codes: Ints) -> dict[str, pa.Array]:
        """Returns the key of metrics_latency for each code."""
        rest, window = np.divmod(codes, self.windows.count)
        pair, measure = np.divmod(rest, len(MEASURES))
        queue, group = np.divmod(pair, len(self.numbers.group_ids))
        return {
            "window_seconds": pa.array(np.full(len(codes), self.windows.seconds), pa.int32()),
            "queue_id": pa.array(self.numbers.queue_ids[queue], pa.int32()),
            "group_id": self.numbers.group_ids.take(pa.array(group)),
            "measure": pa.array(measure, pa.int8()),
            "starts_us": pa.array(self.windows.edges[window]),
            "ends_us": pa.array(self.windows.edges[window + 1]),
        }


def to_integers(column: pa.Array) -> Ints:
    """Returns a column without nulls as an array of integers."""
    return column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)  # type: ignore[no-any-return]


def read_column(rows: pa.Table, name: str) -> Ints:
    return to_integers(_build_column(rows, name))


def join_batches(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Returns all batches as one table."""
    return pa.Table.from_batches(batches).select(schema.names).cast(schema) if batches else schema.empty_table()


def _build_column(rows: pa.Table, name: str) -> pa.Array:
    chunks = rows[name].chunks
    return pa.concat_arrays(chunks) if chunks else pa.array([], rows.schema.field(name).type)
