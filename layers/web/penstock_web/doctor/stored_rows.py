"""Checks the stored rows for damage and for subscriptions that policies do not allow, and raises ids after a
restore."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.access.deliveries import allows_delivery
from penstock.postgres.database import Database
from penstock.postgres.statements.installation import CHECK_SERVER, FIND_PROBLEMS, JUMP_IDS
from penstock.postgres.statements.subscriptions import (
    DROP_SUBSCRIPTION,
    FOREIGN_SUBSCRIPTIONS,
    REFUSE_DEAD_LETTER_QUEUE,
)

from .finding import Finding

CALL_SECONDS: Final = 600.0
"""The check reads every FIFO group, which may take this long."""
_QUEUES_PER_JUMP: Final = 100


def find_damage(database: Database) -> Iterator[Finding]:
    """Yields rows that contradict each other. Raises AwsError."""
    for row in database.call(FIND_PROBLEMS, ([],)):
        if row.subject != "roles":  # See grants.
            yield Finding(row.subject, row.problem)


def find_refused_subscriptions(database: Database, *, fix: bool) -> Iterator[Finding]:
    """Yields old subscriptions that deliver to queues whose policies do not allow it."""
    for row in database.call(FOREIGN_SUBSCRIPTIONS, ()):
        if allows_delivery(row.policy, row.queue_arn, row.topic_arn, row.owner):
            continue
        kind = "dead letters" if row.is_dead_letter_queue else "messages"
        problem = f"sends {kind} to the queue {row.queue_arn}, whose policy does not allow it"
        if fix and row.is_dead_letter_queue:
            database.call(REFUSE_DEAD_LETTER_QUEUE, (row.arn,))
        elif fix:
            database.call(DROP_SUBSCRIPTION, (row.arn, False, None))
        yield Finding(
            row.arn,
            f"{problem}: ended" if fix else problem,
            "",
            ""
            if fix
            else "`penstock doctor --fix` ends it; or let the queue's policy allow it to sns.amazonaws.com",
        )


def jump_ids(database: Database) -> None:
    """Raises the ids as after a change of the server, which a restore into the same cluster hides. Raises AwsError."""
    database.call(CHECK_SERVER, (True,))
    while any(row.changed for row in database.call(JUMP_IDS, (_QUEUES_PER_JUMP,))):
        pass
