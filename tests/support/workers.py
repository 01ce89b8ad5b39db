"""Helps the tests of penstock-worker."""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from penstock_worker import Worker

Start = Callable[[Worker[..., object]], None]


def in_flight(db: psycopg.Connection, queue: str) -> list[tuple[int, int]]:
    """Returns the receives of each message in flight, and the time at which it becomes visible in milliseconds."""
    arn = f"arn:aws:sqs:us-east-1:000000000000:{queue}"
    return db.execute(
        "select receive_count, visible_at_ms from queue.peek_messages(%s, 'in_flight', 0, 10)", [arn]
    ).fetchall()
