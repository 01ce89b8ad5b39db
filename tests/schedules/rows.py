"""Schedules as tests write and read them: through the SQL functions that the doors call."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg

from penstock import pgarray, statements
from penstock.statements import Statement

ACCOUNT, REGION, GROUP = "000000000000", "us-east-1", "default"
Connection = psycopg.Connection[Any]
Row = dict[str, Any]

HOURLY: Row = {
    "door": "native",
    "form": "cron",
    "expression": "0 * * * *",
    "canonical": "0 * * * *",
    "timezone": "UTC",
    "target": {"queue": "jobs", "message": {"do": "it"}},
}


def call(db: Connection, statement: Statement, *arguments: Any) -> list[tuple[Any, ...]]:
    """The rows of one call."""
    typed = zip(statement.types, arguments, strict=True)
    values = [
        pgarray.encode(kind, value)
        if kind.endswith("[]")
        else json.dumps(value)
        if kind == "jsonb"
        else value
        for kind, value in typed
    ]
    with psycopg.RawCursor(db) as cursor:
        return cursor.execute(statement.text, values).fetchall()


def value(db: Connection, query: LiteralString, *arguments: Any) -> Any:
    """The one value of a query."""
    row = db.execute(query, arguments).fetchone()
    return row[0] if row else None


def now(db: Connection) -> datetime:
    """The database's time."""
    found: datetime = value(db, "select clock_timestamp()")
    return found.astimezone(UTC)


def put(
    db: Connection,
    name: str,
    next_fire_at: datetime | None,
    mode: str = "create",
    group: str = GROUP,
    **fields: Any,
) -> tuple[Row, bool, str | None]:
    """Writes a schedule, hourly where `fields` say nothing else: its row, whether it was created, the error."""
    given = fields if mode == "patch" else HOURLY | fields
    ((row, created, error),) = call(
        db, statements.PUT_SCHEDULE, ACCOUNT, REGION, group, name, mode, given, next_fire_at
    )
    return row, created, error


def read(db: Connection, name: str, group: str = GROUP) -> Row | None:
    """A schedule by column, its times as datetimes; None when there is none."""
    ((_, row),) = call(db, statements.READ_SCHEDULE, ACCOUNT, REGION, group, name)
    return None if row is None else {key: as_time(key, found) for key, found in row.items()}


def as_time(key: str, found: Any) -> Any:
    """Times of JSON by their columns' names."""
    return datetime.fromisoformat(found).astimezone(UTC) if key.endswith("_at") and found else found


def hour(db: Connection, hours: int = 0) -> datetime:
    """The full hour, so many hours from now."""
    return now(db).replace(minute=0, second=0, microsecond=0) + timedelta(hours=hours)
