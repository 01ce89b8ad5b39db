"""Writes and reads schedules for tests with the SQL functions that both APIs call.

Schedules have the REST API's format.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, LiteralString, TypeVar

import httpx
import psycopg

from penstock.postgres import binary_array
from penstock.postgres.statement import Row as AnyRow
from penstock.postgres.statement import Statement
from penstock.postgres.statements.schedules import LIST_SCHEDULE_RUNS, PUT_SCHEDULE, READ_SCHEDULE

ACCOUNT, REGION, GROUP = "000000000000", "us-east-1", "default"
Connection = psycopg.Connection[Any]
Row = dict[str, Any]
Hour = Callable[..., datetime]
RowT = TypeVar("RowT", bound=AnyRow)

HOURLY: Row = {
    "api": "rest",
    "expression_kind": "cron",
    "expression": "0 * * * *",
    "canonical": "0 * * * *",
    "timezone": "UTC",
    "target": {"queue": "jobs", "message": {"do": "it"}},
}


def call(db: Connection, statement: Statement[RowT], *arguments: Any) -> list[RowT]:
    typed = zip(statement.types, arguments, strict=True)
    values = [
        binary_array.encode(kind, value)
        if kind.endswith("[]")
        else json.dumps(value)
        if kind == "jsonb" and value is not None
        else value
        for kind, value in typed
    ]
    with psycopg.RawCursor(db) as cursor:
        return statement.build_rows(cursor.execute(statement.text, values).fetchall())


def value(db: Connection, query: LiteralString, *arguments: Any) -> Any:
    row = db.execute(query, arguments).fetchone()
    return row[0] if row else None


def now(db: Connection) -> datetime:
    found: datetime = value(db, "select clock_timestamp()")
    return found.astimezone(UTC)


def put(
    db: Connection, name: str, next_fire_at: datetime | None, mode: str = "create", group: str = GROUP, **fields: Any
) -> tuple[Any, bool | None, str | None]:
    """Writes a schedule. Returns the row (None after an error), whether the schedule is new, and the error.

    Without other `fields`, the schedule is hourly, at the minute of `next_fire_at`.
    """
    minute = 0 if next_fire_at is None else next_fire_at.minute
    given = fields if mode == "patch" else HOURLY | {"canonical": f"{minute} * * * *"} | fields
    (row,) = call(db, PUT_SCHEDULE, ACCOUNT, REGION, group, name, mode, given, next_fire_at)
    return row.schedule, row.created, row.error


def read(db: Connection, name: str, group: str = GROUP) -> Row | None:
    """Returns a schedule's values by column, with times as datetimes, or None if the schedule does not exist."""
    (row,) = call(db, READ_SCHEDULE, ACCOUNT, REGION, group, name)
    return row.schedule and {key: as_time(key, found) for key, found in row.schedule.items()}


def as_time(key: str, found: Any) -> Any:
    """Converts the values of columns whose names end in _at."""
    return datetime.fromisoformat(found).astimezone(UTC) if key.endswith("_at") and found else found


def received(db: Connection, queue: str) -> list[tuple[Any, Row]]:
    """Receives all messages in a queue. Returns their bodies and headers in the order of arrival."""
    found = []
    while rows := db.execute(
        "select enqueued_at, msg_id, message, headers from queue.receive(%s, 1000, 100)", (queue,)
    ).fetchall():
        found += rows
    return [(row[2], row[3]) for row in sorted(found, key=lambda row: row[:2])]


def scheduled_for(db: Connection, queue: str) -> list[datetime]:
    """Returns the due times of a queue's messages in the order of arrival."""
    return [datetime.fromisoformat(headers["_schedule"]["scheduled_for"]) for _, headers in received(db, queue)]


def runs(db: Connection, name: str) -> list[tuple[datetime, bool, int, bool, str | None]]:
    """Returns a schedule's runs, the oldest first: due time, out of band, attempts, fired, error."""
    rows = call(db, LIST_SCHEDULE_RUNS, ACCOUNT, REGION, GROUP, name, None, 1000)
    return [(row.scheduled_for, row.out_of_band, row.attempts, row.fired_at is not None, row.error) for row in rows][
        ::-1
    ]


def pass_time(db: Connection, seconds: float) -> None:
    """Simulates the passing of time by moving all due times back. The occurrences stay unchanged."""
    by = (f"{seconds} seconds",)
    db.execute("update queue.schedule set due_at = due_at - %s::interval", by)
    db.execute(
        "update queue.schedule_retry set due_at = due_at - %(by)s::interval,"
        " expires_at = expires_at - %(by)s::interval",
        {"by": by[0]},
    )


SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").fullmatch
MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch
TARGET = {"queue": "orders", "message": {"do": "it"}}
NEW = {"name": "nightly", "cron": "0 3 * * *", "target": TARGET}


def create(http: httpx.Client, **changes: Any) -> dict[str, Any]:
    response = http.post("/v1/schedules", json={**NEW, **changes})
    assert response.status_code == 201, response.text
    return dict(response.json())


def refused(response: httpx.Response) -> tuple[int, str]:
    problem = response.json()["error"]
    assert problem["message"]
    return response.status_code, problem["code"]


def names(http: httpx.Client, **query: str) -> list[str]:
    return [schedule["name"] for schedule in http.get("/v1/schedules", params=query).json()["schedules"]]


def moments(texts: list[str]) -> list[datetime]:
    assert all(SECONDS(text) for text in texts)
    return [datetime.fromisoformat(text) for text in texts]
