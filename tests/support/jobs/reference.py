"""Runs reference.sql: the tables of metrics as plain SQL computes them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

Connection = psycopg.Connection[Any]
_SCRIPT = Path(__file__).with_name("reference.sql")
# The service's role avoids what a computation over millions of rows needs.
_PLANNER = (
    *(f"set local enable_{name} = on" for name in ("seqscan", "bitmapscan", "hashjoin", "mergejoin")),
    "set local plan_cache_mode = auto",
    "set local jit = off",
    "set local work_mem = '256MB'",
    "set local temp_buffers = '64MB'",
)


def compute(connection: Connection, from_at: datetime, to_at: datetime, timezone: str = "UTC") -> None:
    """Fill oracle_window and oracle_latency for the windows in [from_at, to_at), whole days of the zone.

    Inside one transaction of the caller, repeatable read where others write meanwhile; a second call needs another one
    (`rollback` removes the tables).
    """
    for statement in _PLANNER:
        connection.execute(statement.encode())
    for name, value in (
        ("from_at", from_at.isoformat()),
        ("to_at", to_at.isoformat()),
        ("timezone", timezone),
    ):
        connection.execute("select set_config(%s, %s, true)", (f"oracle.{name}", value))
    connection.execute(_SCRIPT.read_bytes())
