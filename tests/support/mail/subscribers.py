"""Readers of e-mail in the database, and messages for them, as Subscribe and Publish write them."""

from __future__ import annotations

import json
import uuid
from typing import Any

from tests.support.sql.calls import ACCOUNT, REGION, Connection

LINK = "https://queues.example.com/?Action=Unsubscribe&SubscriptionArn="


def make_topic(db: Connection, account: str = ACCOUNT, **attributes: str) -> str:
    """A topic's ARN."""
    row = db.execute(
        "select arn from queue.create_topic(%s, %s, %s, %s, '{}')",
        (account, REGION, f"news-{uuid.uuid4().hex}", json.dumps(attributes)),
    ).fetchone()
    assert row is not None
    return str(row[0])


def ask(db: Connection, topic: str, address: str, protocol: str = "email") -> str:
    """Subscribes an address, which has to confirm; the subscription's ARN."""
    token = uuid.uuid4().hex * 5
    confirmation = {
        "Type": "SubscriptionConfirmation", "MessageId": str(uuid.uuid4()), "Token": token, "TopicArn": topic,
        "SubscribeURL": f"https://queues.example.com/?Action=ConfirmSubscription&TopicArn={topic}&Token={token}",
    }  # fmt: skip
    row = db.execute(
        "select arn from queue.add_subscription(%s, gen_random_uuid(), %s, %s, %s, '{}', null, %s, %s, 0, 0, '{}',"
        " null)",
        (topic, topic.split(":")[4], protocol, address, token, json.dumps(confirmation)),
    ).fetchone()
    assert row is not None
    return str(row[0])


def subscribe(
    db: Connection, topic: str, address: str, protocol: str = "email", dead_letters: str | None = None
) -> str:
    """Subscribes an address that has confirmed; the subscription's ARN."""
    policy = json.dumps({"RedrivePolicy": json.dumps({"deadLetterTargetArn": dead_letters})})
    row = db.execute(
        "select arn from queue.add_subscription(%s, gen_random_uuid(), %s, %s, %s, %s, null, null, null, 0, 0, '{}',"
        " null)",
        (topic, topic.split(":")[4], protocol, address, policy if dead_letters else "{}"),
    ).fetchone()
    assert row is not None
    return str(row[0])


def publish(
    db: Connection,
    subscription: str,
    text: str,
    subject: str | None = None,
    attributes: dict[str, Any] | None = None,
    link: str | None = LINK,
) -> uuid.UUID:
    """One message for one subscription; its id."""
    message_id = uuid.uuid4()
    db.execute(
        "insert into queue.outgoing (account_id, region, protocol, kind, destination, message_id, topic_arn,"
        " subscription_arn, subject, body, attributes, unsubscribe_url, dead_letter_arn, envelope)"
        " select t.account_id, t.region, s.protocol, 'Notification', s.endpoint, %s, t.arn, s.arn, %s, %s, %s,"
        " %s || s.arn, s.dead_letter_arn, %s"
        " from queue.subscription s join queue.topic t using (topic_id) where s.arn = %s",
        (
            message_id,
            subject,
            text,
            None if attributes is None else json.dumps(attributes),
            link,
            json.dumps({"Message": text}),
            subscription,
        ),
    )
    return message_id


def states(db: Connection) -> list[tuple[str, str | None]]:
    """State and error of each outgoing message, oldest first."""
    return db.execute("select state, error from queue.outgoing order by outgoing_id").fetchall()


def pass_hours(db: Connection, hours: float) -> None:
    """Confirmations were, and are due, that much earlier."""
    by = (f"{hours} hours",)
    db.execute("update queue.confirmation_mail set due_at = due_at - %s::interval", by)
    db.execute("update queue.outgoing_delivery set due_at = due_at - %s::interval", by)
    db.execute("update queue.subscription set token_expires_at = token_expires_at - %s::interval", by)
