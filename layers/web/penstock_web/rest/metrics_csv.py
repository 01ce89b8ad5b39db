"""Writes metrics as CSV."""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO

import msgspec
from msgspec import Struct

from penstock.management.metrics.types import ForecastPoint, Latency, Now, Outlook, QueueVerdict, Warnings

_NESTED: dict[str, type[Struct]] = {
    **dict.fromkeys(("wait", "processing", "lag"), Latency),
    "now": Now,
    "verdict": QueueVerdict,
    "forecast": ForecastPoint,
    "outlook": Outlook,
    "warnings": Warnings,
}


def as_csv(kind: type[Struct], documents: Iterable[Struct]) -> str:
    """Returns the documents as CSV (RFC 4180) with a header. A null becomes an empty cell. Only the last point of a
    forecast appears in the CSV."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(_list_columns(kind))
    writer.writerows(_list_cells(document) for document in documents)
    return text.getvalue()


def _list_columns(kind: type[Struct]) -> Iterator[str]:
    for name in kind.__struct_fields__:
        if name in _NESTED:
            yield from (f"{name}_{part}" for part in _NESTED[name].__struct_fields__)
        else:
            yield name


def _list_cells(document: Struct) -> Iterator[str]:
    for name in document.__struct_fields__:
        value = getattr(document, name)
        if name not in _NESTED:
            yield _format_cell(value)
            continue
        if isinstance(value, list):
            value = value[-1] if value else None
        for part in _NESTED[name].__struct_fields__:
            yield "" if value is None else _format_cell(getattr(value, part))


def _format_cell(value: object) -> str:
    """Formats a value as JSON does."""
    return "" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode().strip('"')
