"""Inserts notices and deliveries as a publish does."""

import json
import uuid
from typing import Any, NamedTuple

import psycopg

from tests.support.sql.calls import ACCOUNT, REGION, Connection

TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:news"


class Row(NamedTuple):
    """Contains the columns of queue.outgoing_delivery that tests read."""

    state: str
    attempts: int
    last_status: int | None
    last_error: str | None


def publish(  # noqa: PLR0913 - a row has many columns
    db: Connection,
    *endpoints: str,
    kind: str = "Notification",
    raw: bool = False,
    policy: dict[str, Any] | None = None,
    dead_letters: str | None = None,
    copies: int = 1,
    text: str = "hello",
    attributes: dict[str, Any] | None = None,
) -> uuid.UUID:
    """Publishes one notice to all endpoints, with `copies` deliveries each. Returns the notice's message id."""
    message_id = uuid.uuid4()
    sns = kind != "event"
    with db.transaction():
        row = db.execute(
            "insert into queue.notice (kind, topic_arn, message_id, raw, head, tail, attributes)"
            " values (%s, %s, %s, %s, %s, %s, %s) returning notice_id",
            (kind, TOPIC if sns else None, message_id, text, '{"arn":"', f'","Message":"{text}"}}',
             None if attributes is None else json.dumps(attributes)),
        ).fetchone()  # fmt: skip
        assert row is not None
        db.execute(
            "insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw,"
            " subscription_policy, dead_letter_arn)"
            " select %s, %s, case when %s then %s || ':' || s.id end, s.endpoint, %s, %s, %s"
            " from (select u.endpoint, (select gen_random_uuid() where u.endpoint is not null) as id"
            "       from unnest(%s::text[]) u(endpoint)) s, generate_series(1, %s)",
            (row[0], ACCOUNT, sns, TOPIC, raw, None if policy is None else json.dumps(policy), dead_letters,
             list(endpoints), copies),
        )  # fmt: skip
    return message_id


def deliveries(db: Connection) -> list[Row]:
    rows = db.execute(
        "select state, attempts, last_status, last_error from queue.outgoing_delivery order by delivery_id"
    )
    return [Row(*row) for row in rows]


def pass_time(db: Connection, seconds: float) -> None:
    """Simulates the passing of time by moving the due times of all deliveries back."""
    by = (f"{seconds} seconds",)
    db.execute("update queue.outgoing_delivery set due_at = due_at - %s::interval", by)
    db.execute(
        "update queue.delivery_endpoint set next_at = next_at - %(by)s::interval,"
        " paced_at = paced_at - %(by)s::interval,"
        " paused_until = paused_until - %(by)s::interval",
        {"by": by[0]},
    )


def due_in_seconds(db: Connection) -> list[float]:
    """Returns the seconds until each delivery is due, in the order of ids."""
    query = (
        "select extract(epoch from due_at - clock_timestamp())::float from queue.outgoing_delivery order by delivery_id"
    )
    return [row[0] for row in db.execute(query)]


def number(db: psycopg.Connection[Any], query: str) -> int:
    row = db.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])
