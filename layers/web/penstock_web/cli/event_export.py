"""Writes the stored events of a bus to a Parquet file."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import msgspec

from penstock.events.delivery.event import ContentType
from penstock.management.buses.types import EventPage, StoredEvent
from penstock_web.local_error import LocalError

from .client import RestClient

if TYPE_CHECKING:
    import pyarrow as pa

ROWS: Final = 10_000
ROW_BYTES: Final = 32 << 20
"""A row group of the file ends after this number of events, or of bytes."""
NO_PYARROW: Final = "Parquet files need pyarrow: `pip install 'penstock-queue[metrics]'`"


def export_events(client: RestClient, path: str, wanted: Mapping[str, str | None], output: Path) -> int:
    """Writes the events that GET `path` returns, the oldest first. Returns their number. Replaces the file when
    all events are written. Raises LocalError."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise LocalError(NO_PYARROW) from None
    unfinished, number = output.with_name(f".{output.name}.unfinished"), 0
    schema = _build_schema(pa)
    try:
        with parquet.ParquetWriter(unfinished, schema) as writer:
            for group in _group_rows(_read_events(client, path, wanted)):
                writer.write_table(pa.Table.from_pylist(group, schema))
                number += len(group)
        unfinished.replace(output)
    except OSError as error:
        raise LocalError(f"{output} cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return number


def _build_schema(arrow: ModuleType) -> pa.Schema:
    text = arrow.string()
    return arrow.schema([
        ("id", text), ("sequence_number", text), ("published_at", arrow.timestamp("ms", "UTC")), ("content_type", text),
        ("account", text), ("group_id", text), ("deduplication_id", text), ("source", text), ("detail_type", text),
        ("metadata", arrow.map_(text, text)), ("data", arrow.binary()),
    ])  # fmt: skip


def _read_events(client: RestClient, path: str, wanted: Mapping[str, str | None]) -> Iterator[StoredEvent]:
    parameters = {name: value for name, value in wanted.items() if value is not None}
    while True:
        page = client.call_as(EventPage, "GET", f"{path}?{urlencode(parameters)}")
        yield from page.events
        if page.next is None:
            return
        parameters["next"] = page.next


def _group_rows(events: Iterator[StoredEvent]) -> Iterator[list[dict[str, object]]]:
    rows: list[dict[str, object]] = []
    size = 0
    for event in events:
        rows.append(_build_row(event))
        size += event.size_bytes
        if len(rows) == ROWS or size >= ROW_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _build_row(event: StoredEvent) -> dict[str, object]:
    """Returns the columns of an event. `data` has the bytes that the publisher sent."""
    is_binary = event.content_type == ContentType.OCTET_STREAM.text
    row: dict[str, object] = {name: getattr(event, name) for name in event.__struct_fields__}
    return row | {
        "published_at": datetime.fromisoformat(event.published_at),
        "metadata": list(event.metadata.items()),
        "data": b64decode(msgspec.json.decode(event.data, type=str)) if is_binary else bytes(event.data),
    }
